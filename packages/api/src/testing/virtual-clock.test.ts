import { describe, expect, it } from 'vitest';
import { delay } from '../time/clock.ts';
import { settle, VirtualClock } from './virtual-clock.ts';

describe('VirtualClock', () => {
  it('runs timers in the order of their due times and shows each its own time', async () => {
    const clock = new VirtualClock();
    const seen: [string, number][] = [];
    for (const [name, ms] of [
      ['c', 30],
      ['a', 10],
      ['b', 10],
    ] as const) {
      clock.setTimer(() => seen.push([name, clock.monotonicNow()]), ms);
    }
    await clock.advance(100);
    expect(seen).toEqual([
      ['a', 10],
      ['b', 10],
      ['c', 30],
    ]);
    expect(clock.monotonicNow()).toBe(100);
  });

  it('lets promise chains settle between two timers and runs the timers that they set', async () => {
    const clock = new VirtualClock();
    const times: number[] = [];
    const loop = async (): Promise<void> => {
      for (let i = 0; i < 3; i++) {
        await delay(clock, 10);
        times.push(clock.monotonicNow());
      }
    };
    const done = loop();
    await clock.advance(25);
    expect(times).toEqual([10, 20]);
    await clock.advance(5);
    await done;
    expect(times).toEqual([10, 20, 30]);
    expect(clock.pendingTimers).toBe(0);
  });

  it('does not run a cancelled timer and counts those that are left', async () => {
    const clock = new VirtualClock();
    let ran = 0;
    const cancel = clock.setTimer(() => ran++, 10);
    clock.setBackgroundTimer(() => ran++, 20);
    expect([clock.pendingTimers, clock.msToNextTimer]).toEqual([2, 10]);
    cancel();
    cancel();
    expect([clock.pendingTimers, clock.msToNextTimer]).toEqual([1, 20]);
    await clock.advance(15);
    expect(ran).toBe(0);
    await clock.advance(5);
    expect(ran).toBe(1);
  });

  it('jumps the wall clock without touching timers or the monotonic clock', async () => {
    const clock = new VirtualClock({ startMs: 1000 });
    let ran = false;
    clock.setTimer(() => (ran = true), 50);
    clock.jumpWallClock(-400);
    expect([clock.now(), clock.monotonicNow()]).toEqual([600, 0]);
    await clock.advance(49);
    expect(ran).toBe(false);
    expect(clock.now()).toBe(649);
  });

  it('settles without moving time', async () => {
    const clock = new VirtualClock();
    let steps = 0;
    void Promise.resolve()
      .then(() => steps++)
      .then(() => setImmediate(() => steps++));
    await settle();
    expect([steps, clock.monotonicNow()]).toEqual([2, 0]);
  });

  it('rejects advance with what a timer throws', async () => {
    const clock = new VirtualClock();
    clock.setTimer(() => {
      throw new Error('boom');
    }, 1);
    await expect(clock.advance(2)).rejects.toThrow('boom');
  });
});
