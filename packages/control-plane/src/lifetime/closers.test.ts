import { type LogFields, silentLogger } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import { describe, expect, it } from 'vitest';
import { Closers } from './closers.ts';

function closers() {
  const clock = new VirtualClock();
  const told: (LogFields | undefined)[] = [];
  const logger = { ...silentLogger, info: (_message: string, fields?: LogFields) => void told.push(fields) };
  return { clock, told, parts: new Closers({ clock, logger }) };
}

describe('the parts of a control plane', () => {
  it('are closed one after another, the last one first', async () => {
    const { parts } = closers();
    const order: string[] = [];
    parts.add('store', () => order.push('store'));
    parts.add('requests', async () => {
      await Promise.resolve();
      order.push('requests');
    });
    await parts.closeAll();
    await parts.closeAll();
    expect(order).toEqual(['requests', 'store']);
  });

  it('are all closed when some fail, and every error is passed on', async () => {
    const { parts } = closers();
    const order: string[] = [];
    parts.add('store', () => order.push('store'));
    parts.add('loops', () => Promise.reject(new Error('loops')));
    parts.add('requests', () => {
      throw new Error('requests');
    });
    await expect(parts.closeAll()).rejects.toMatchObject({ errors: [new Error('requests'), new Error('loops')] });
    expect(order).toEqual(['store']);
  });

  it('are named in the log when they take more than five seconds', async () => {
    const { parts, clock, told } = closers();
    let finish: () => void = () => undefined;
    parts.add('store', () => undefined);
    parts.add('requests', () => new Promise<void>((resolve) => (finish = resolve)));
    const closed = parts.closeAll();
    await clock.advance(4_999);
    expect(told).toEqual([]);
    await clock.advance(1);
    expect(told).toEqual([{ part: 'requests' }]);
    finish();
    await closed;
    await clock.advance(60_000);
    expect(told).toHaveLength(1);
  });
});
