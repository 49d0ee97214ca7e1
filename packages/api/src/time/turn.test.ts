import { describe, expect, it } from 'vitest';
import { systemClock } from './clock.ts';
import { onNextTurn, sliceMs, TurnShare, TurnSlice } from './turn.ts';

/**
 * Runs works of these durations in milliseconds, which all arrive in one turn, and returns which were done in each
 * turn.
 */
function worksByTurn(works: readonly number[]): Promise<number[][]> {
  let nowMs = 0;
  const turns = new TurnShare({ ...systemClock, monotonicNow: () => nowMs }, 20);
  const done: number[] = [];
  const byTurn: number[][] = [];
  // Each one arrives in its own callback, as from a socket.
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

describe('TurnSlice', () => {
  let nowMs = 0;
  let looks = 0;
  const monotonicNow = (): number => {
    looks++;
    return nowMs;
  };
  const clock = { ...systemClock, monotonicNow };

  it('ends once its time is over, and looks at the clock after every sixteenth item only', async () => {
    const slice = new TurnSlice({ clock });
    nowMs += sliceMs;
    looks = 0;
    const ends = Array.from({ length: 16 }, () => slice.endsHere());
    expect(ends.indexOf(true)).toBe(15);
    expect(looks).toBe(1);
    let isNextTurn = false;
    onNextTurn(() => {
      isNextTurn = true;
    });
    await slice.nextTurn();
    expect(isNextTurn).toBe(true);
    expect(Array.from({ length: 32 }, () => slice.endsHere())).not.toContain(true);
  });

  it('looks after each item where items are long', () => {
    const slice = new TurnSlice({ clock, itemsPerLook: 1 });
    expect(slice.endsHere()).toBe(false);
    nowMs += sliceMs;
    expect(slice.endsHere()).toBe(true);
    slice.begin();
    expect(slice.endsHere()).toBe(false);
  });
});

describe('TurnShare', () => {
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
