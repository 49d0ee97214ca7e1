import { type TestPod, VirtualClock } from '@kapstan/api/testing';
import { describe, expect, it } from 'vitest';
import { HandlerRegistry } from './handler-registry.ts';

const minute = 60_000;

function registry(resyncCheckMs: number) {
  const warnings: string[] = [];
  const handlers = new HandlerRegistry<TestPod>({
    resyncCheckMs,
    clock: new VirtualClock(),
    warn: (text) => void warnings.push(text),
    gate: { hold: () => false, deliver: () => undefined },
    onError: (error) => {
      throw error;
    },
  });
  const add = (resyncMs: number, isStarted = false) => handlers.add({}, { resyncMs, isStarted }).resync;
  return { handlers, add, warnings };
}

describe('HandlerRegistry: resync periods', () => {
  it('takes the pace of the fastest handler before the start, and slows none of the others down', () => {
    const { handlers, add, warnings } = registry(12 * 60 * minute);
    const schedules = [12 * 60 * minute, 0, minute, 55_000, 5000].map((period) => {
      const schedule = add(period);
      return [schedule, handlers.resyncCheckMs] as const;
    });
    expect(schedules.map(([, checkMs]) => checkMs)).toEqual([12 * 60 * minute, 12 * 60 * minute, minute, 55_000, 5000]);
    expect(schedules.map(([{ periodMs }]) => periodMs)).toEqual([12 * 60 * minute, 0, minute, 55_000, 5000]);
    expect(warnings).toEqual([]);
  });

  it.each([
    ['below a second', 10_000, 500, false, 1000, ['a resync period of 500 ms is too short; using 1000 ms']],
    [
      'faster than an informer that has started',
      10_000,
      3000,
      true,
      10_000,
      ['a resync period of 3000 ms is too short; using 10000 ms'],
    ],
    ['slower than that', 10_000, 30_000, true, 30_000, []],
    [
      'at an informer without resyncs',
      0,
      3000,
      false,
      0,
      ['a resync period of 3000 ms has no effect: the informer does not resync because its own period is 0'],
    ],
    ['of none there', 0, 0, false, 0, []],
  ])('gives a handler %s what it can, and says so', (_what, checkMs, askedMs, isStarted, periodMs, told) => {
    const { add, warnings } = registry(checkMs);
    expect(add(askedMs, isStarted).periodMs).toBe(periodMs);
    expect(warnings).toEqual(told);
  });
});
