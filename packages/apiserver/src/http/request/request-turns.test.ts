import { systemClock } from '@kapstan/api';
import { describe, expect, it } from 'vitest';
import { RequestTurns } from './request-turns.ts';

/** Works of so many milliseconds each, that are all there in one turn: which were done in each turn. */
function worksByTurn(works: readonly number[]): Promise<number[][]> {
  let nowMs = 0;
  const turns = new RequestTurns({ ...systemClock, monotonicNow: () => nowMs });
  const done: number[] = [];
  const byTurn: number[][] = [];
  // Each from a callback of its own, as from a socket.
  for (const [index, tookMs] of works.entries())
    setImmediate(async () => {
      await turns.room();
      nowMs += tookMs;
      done.push(index);
    });
  return new Promise((resolve) => {
    const endTurn = (): void => {
      byTurn.push(done.splice(0));
      if (byTurn.flat().length === works.length) resolve(byTurn);
      else setImmediate(endTurn);
    };
    setImmediate(endTurn);
  });
}

describe('RequestTurns', () => {
  it('lets works of 20 ms into a turn, and the others in their order into the next ones', async () => {
    expect(await worksByTurn([8, 8, 8, 8, 8, 8, 8])).toEqual([[0, 1, 2], [3, 4, 5], [6]]);
  });

  it('holds up nobody while a turn has room, and a long work alone only those behind it', async () => {
    expect(await worksByTurn([1, 2, 3])).toEqual([[0, 1, 2]]);
    expect(await worksByTurn([1, 500, 1, 1])).toEqual([
      [0, 1],
      [2, 3],
    ]);
  });
});
