import { settle } from '@kapstan/api/testing';
import { describe, expect, it } from 'vitest';
import { TurnQueue } from './turn-queue.ts';

/** Returns a step that takes this many turns and logs each. */
const counting = (name: string, turns: number, log: string[]) => {
  let left = turns;
  return () => {
    log.push(name);
    left -= 1;
    return left === 0;
  };
};

describe('TurnQueue', () => {
  it('lets tasks take turns, one step a turn of the event loop', async () => {
    const queue = new TurnQueue();
    const log: string[] = [];
    const tasks = [
      queue.run(counting('a', 3, log)),
      queue.run(counting('b', 1, log)),
      queue.run(counting('c', 2, log)),
    ];
    expect(log).toEqual([]);
    const turns = (async () => {
      for (let turn = 0; turn < 6; turn += 1) {
        await new Promise((resolve) => setImmediate(resolve));
        log.push('|');
      }
    })();
    await Promise.all([...tasks, turns]);
    expect(log.join('').replace(/\|+$/, '')).toBe('a|b|c|a|c|a');
  });

  it('rejects the task whose step throws and goes on with the others', async () => {
    const queue = new TurnQueue();
    const failing = queue.run(() => {
      throw new Error('step failed');
    });
    const log: string[] = [];
    const other = queue.run(counting('x', 2, log));
    await expect(failing).rejects.toThrow('step failed');
    await other;
    expect(log).toEqual(['x', 'x']);
  });

  it('gives up present and future work when stopped', async () => {
    const queue = new TurnQueue();
    const log: string[] = [];
    const waiting = queue.run(counting('x', 9, log));
    queue.stop(new Error('stopped'));
    await expect(waiting).rejects.toThrow('stopped');
    await expect(queue.run(() => true)).rejects.toThrow('stopped');
    await settle();
    expect(log).toEqual([]);
  });
});
