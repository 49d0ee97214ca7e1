import { badRequest, conflict } from '@kapstan/api/errors';
import { VirtualClock } from '@kapstan/api/testing';
import { describe, expect, it } from 'vitest';
import { retryOnConflict } from './retry-on-conflict.ts';

const conflictError = (attempt: number) => conflict({ group: '', resource: 'pods' }, 'a', `attempt ${attempt}`);

describe('retryOnConflict', () => {
  it('runs again after a conflict, a little later each time, until it succeeds', async () => {
    const clock = new VirtualClock();
    const times: number[] = [];
    const attempt = async (): Promise<string> => {
      times.push(clock.monotonicNow());
      if (times.length < 4) throw conflictError(times.length);
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
    const result = retryOnConflict(() => Promise.reject(conflictError(++attempts)), { clock }).catch(
      (error: Error) => error.message,
    );
    await clock.advance(1000);
    expect(await result).toContain('attempt 5');
  });

  it.each<[string, object, string]>([
    [
      'steps without end',
      { steps: Number.POSITIVE_INFINITY },
      'steps must be a whole number of at least 1, not Infinity',
    ],
    ['steps in words', { steps: '5' }, 'steps must be a whole number of at least 1, not 5'],
    ['a wait that is none', { initialMs: Number.NaN }, 'initialMs must be a number of at least 0, not NaN'],
    ['a signal', { signal: {} }, 'signal takes an AbortSignal'],
  ])('attempts nothing for wrong options: %s', async (_, options, message) => {
    let attempts = 0;
    const result = retryOnConflict(() => Promise.reject(conflictError(++attempts)), options as never);
    await expect(result).rejects.toThrow(message);
    await expect(retryOnConflict(undefined as never)).rejects.toThrow(
      new TypeError('the attempt of retryOnConflict() must be a function, not undefined'),
    );
    expect(attempts).toBe(0);
  });

  it('passes any other error on at once', async () => {
    const error = badRequest('no');
    await expect(retryOnConflict(() => Promise.reject(error))).rejects.toBe(error);
  });

  it('stops waiting when its signal aborts', async () => {
    const controller = new AbortController();
    const clock = new VirtualClock();
    const result = retryOnConflict(() => Promise.reject(conflictError(1)), { clock, signal: controller.signal }).catch(
      (error: unknown) => error,
    );
    await clock.advance(0);
    const reason = new Error('stop');
    controller.abort(reason);
    expect([await result, clock.pendingTimers]).toEqual([reason, 0]);
  });
});
