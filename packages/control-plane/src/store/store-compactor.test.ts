import { silentLogger, toRevision } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import { MemoryEngine } from '@kapstan/storage';
import { expect, it } from 'vitest';
import { startStoreCompactor } from './store-compactor.ts';

it('keeps history for one to two intervals and stops when it is ended', async () => {
  const clock = new VirtualClock();
  const engine = new MemoryEngine();
  const write = async (key: string): Promise<number> => {
    const change = { type: 'put', value: new Uint8Array([1]) } as const;
    return (await engine.commit({ key, expectedRevision: toRevision(0), change })).revision;
  };
  const stop = startStoreCompactor({ engine, intervalMs: 300_000, clock, logger: silentLogger });
  const first = await write('/a');
  await clock.advance(300_000);
  expect(engine.compactRevision(), 'the first round only notes').toBe(0);
  await write('/b');
  await clock.advance(300_000);
  expect(engine.compactRevision()).toBe(first);
  stop();
  await write('/c');
  await clock.advance(900_000);
  expect(engine.compactRevision()).toBe(first);
  expect(clock.pendingTimers, 'I9').toBe(0);
});
