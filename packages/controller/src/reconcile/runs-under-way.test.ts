import { getEventListeners } from 'node:events';
import { type LogFields, silentLogger } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import { describe, expect, it } from 'vitest';
import { RunsUnderWay } from './runs-under-way.ts';

function fake(options: { readonly timeoutMs?: number; readonly slowAfterMs?: number }) {
  const clock = new VirtualClock();
  const warnings: [number, string, LogFields | undefined][] = [];
  const log = {
    ...silentLogger,
    warn: (message: string, fields?: LogFields) => void warnings.push([clock.monotonicNow(), message, fields]),
  };
  const runs = new RunsUnderWay({ clock, log, timeoutMs: 0, slowAfterMs: 0, ...options });
  return { clock, warnings, runs, outer: new AbortController() };
}

describe('RunsUnderWay', () => {
  it('names what is under way, the longest one first', () => {
    const { runs, outer } = fake({});
    const ends = ['a', 'b', 'c'].map((key) => runs.begin(key, outer.signal).end);
    ends[1]?.();
    expect(runs.keys).toEqual(['a', 'c']);
    for (const end of ends) end();
    expect(runs.keys).toEqual([]);
  });

  it('warns of a run that does not end, each time that it has taken twice as long, until it ends', async () => {
    const { runs, clock, outer, warnings } = fake({ slowAfterMs: 1000 });
    const { end } = runs.begin('a', outer.signal);
    await clock.advance(7999);
    const text = 'a reconcile has not ended; it blocks its worker';
    expect(warnings).toEqual([1000, 2000, 4000].map((runningMs) => [runningMs, text, { key: 'a', runningMs }]));
    end();
    await clock.advance(100_000);
    expect([warnings.length, clock.pendingTimers]).toEqual([3, 0]);
  });

  it('aborts the signal of a run at its time limit, and says so', async () => {
    const { runs, clock, outer, warnings } = fake({ timeoutMs: 2000 });
    const { signal } = runs.begin('a', outer.signal);
    await clock.advance(1999);
    expect([signal.aborted, warnings]).toEqual([false, []]);
    await clock.advance(1);
    expect(signal.reason).toEqual(new Error('the reconcile took longer than 2000 ms'));
    expect(warnings).toEqual([
      [2000, 'a reconcile took longer than its timeoutMs; its signal is aborted', { key: 'a', timeoutMs: 2000 }],
    ]);
  });

  it('aborts the signal of a run with that of its loop, before or while it runs', () => {
    const { runs, outer } = fake({ timeoutMs: 2000 });
    const { signal } = runs.begin('a', outer.signal);
    outer.abort(new Error('over'));
    expect(signal.reason).toEqual(new Error('over'));
    expect(runs.begin('b', outer.signal).signal.reason).toEqual(new Error('over'));
  });

  it('leaves nothing at the signal of its loop, which lives longer', () => {
    const { runs, outer, clock } = fake({ timeoutMs: 2000, slowAfterMs: 1000 });
    for (let times = 0; times < 100; times++) runs.begin('a', outer.signal).end();
    expect([getEventListeners(outer.signal, 'abort').length, clock.pendingTimers]).toEqual([0, 0]);
  });
});
