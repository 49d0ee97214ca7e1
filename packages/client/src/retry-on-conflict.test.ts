import { newBadRequest, newConflict } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import { describe, expect, it } from 'vitest';
import { retryOnConflict } from './retry-on-conflict.ts';

const conflict = (attempt: number) => newConflict({ group: '', resource: 'pods' }, 'a', `attempt ${attempt}`);

describe('retryOnConflict', () => {
  it('runs again after a conflict, a little later each time, until it succeeds', async () => {
    const clock = new VirtualClock();
    const times: number[] = [];
    const attempt = async (): Promise<string> => {
      times.push(clock.monotonicNow());
      if (times.length < 4) throw conflict(times.length);
      return 'done';
    };
    const result = retryOnConflict(attempt, { clock, factor: 5, jitter: 0 });
    await clock.advance(1000);
    expect(await result).toBe('done');
    expect(times).toEqual([0, 10, 60, 310]);
  });

  it('gives the last conflict after five attempts', async () => {
    const clock = new VirtualClock();
    let attempts = 0;
    const result = retryOnConflict(() => Promise.reject(conflict(++attempts)), { clock }).catch(
      (error: Error) => error.message,
    );
    await clock.advance(1000);
    expect(await result).toContain('attempt 5');
  });

  it('passes any other error on at once', async () => {
    const error = newBadRequest('no');
    await expect(retryOnConflict(() => Promise.reject(error))).rejects.toBe(error);
  });

  it('stops waiting when its signal aborts', async () => {
    const controller = new AbortController();
    const clock = new VirtualClock();
    const result = retryOnConflict(() => Promise.reject(conflict(1)), { clock, signal: controller.signal }).catch(
      (error: unknown) => error,
    );
    await clock.advance(0);
    const reason = new Error('stop');
    controller.abort(reason);
    expect([await result, clock.pendingTimers]).toEqual([reason, 0]);
  });
});
