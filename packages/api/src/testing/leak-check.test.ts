import { createServer } from 'node:net';
import { expect, it } from 'vitest';
import { LeakCheck } from './leak-check.ts';
import { VirtualClock } from './virtual-clock.ts';

it('names a socket that was left open, and is content when it is closed', async () => {
  const check = new LeakCheck();
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  await expect(check.assertNone()).rejects.toThrow('left open: 1 × TCPServerWrap');
  await new Promise((resolve) => server.close(resolve));
  await check.assertNone();
});

it('counts the timers of a virtual clock', async () => {
  const clock = new VirtualClock();
  const check = new LeakCheck({ clock });
  const cancel = clock.setTimer(() => undefined, 10);
  await expect(check.assertNone()).rejects.toThrow('1 × timer of the virtual clock');
  cancel();
  await check.assertNone();
});
