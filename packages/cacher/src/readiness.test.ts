// Covers ready_test and util_test of the Go library.
import { isTooManyRequests, retryAfterSeconds } from '@kapstan/api';
import { settle, VirtualClock } from '@kapstan/api/testing';
import { isStorageError } from '@kapstan/storage';
import { describe, expect, it } from 'vitest';
import { Readiness, retryAfterUnreadySeconds } from './readiness.ts';

describe('Readiness', () => {
  it.each([
    [0, 1],
    [10, 1],
    [14, 2],
    [20, 3],
    [30, 6],
    [40, 11],
    [540, 30],
  ])('asks to come back: unready for %i s → %i s', (seconds, expected) => {
    expect(retryAfterUnreadySeconds(seconds * 1_000)).toBe(expected);
  });

  it('refuses with 429, the last error and the time since it became unready', async () => {
    const clock = new VirtualClock();
    const readiness = new Readiness(clock);
    expect(readiness.refusal().message).toBe('storage is (re)initializing');
    readiness.noteError(new Error('no leader'));
    await clock.advance(30_000);
    const refusal = readiness.refusal();
    expect(isTooManyRequests(refusal)).toBe(true);
    expect([refusal.message, retryAfterSeconds(refusal)]).toEqual(['storage is (re)initializing: no leader', 6]);
    readiness.setReady();
    readiness.setPending();
    expect(retryAfterSeconds(readiness.refusal())).toBe(1);
  });

  it('counts generations and wakes those who wait', async () => {
    const readiness = new Readiness(new VirtualClock());
    let woken = 0;
    void readiness.wait().then(() => woken++);
    await settle();
    expect([woken, readiness.isReady]).toEqual([0, false]);
    readiness.setReady();
    readiness.setReady();
    await settle();
    expect([woken, readiness.generation]).toEqual([1, 1]);
    readiness.setPending();
    readiness.setReady();
    expect(readiness.generation).toBe(2);
    await readiness.wait();
  });

  it('ends for good when it is stopped', async () => {
    const readiness = new Readiness(new VirtualClock());
    const waiting = readiness.wait().catch((error: unknown) => error);
    readiness.stop();
    for (const change of ['setReady', 'setPending', 'setReady'] as const) readiness[change]();
    expect([readiness.isReady, readiness.state]).toEqual([false, 'stopped']);
    expect(isStorageError(await waiting, 'Closed')).toBe(true);
    await expect(readiness.wait()).rejects.toThrow('apiserver cacher is stopped');
    expect(isStorageError(readiness.refusal(), 'Closed')).toBe(true);
  });

  it('lets go of a waiter that aborts', async () => {
    const readiness = new Readiness(new VirtualClock());
    const abort = new AbortController();
    const waiting = readiness.wait(abort.signal);
    abort.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    await expect(readiness.wait(AbortSignal.abort(new Error('late')))).rejects.toThrow('late');
  });

  it('counts no change when it is set to what it is already, and is read without waiting', () => {
    const readiness = new Readiness(new VirtualClock());
    expect([readiness.state, readiness.isReady]).toEqual(['pending', false]);
    readiness.setPending();
    readiness.setReady();
    readiness.setReady();
    expect([readiness.state, readiness.isReady, readiness.generation]).toEqual(['ready', true, 1]);
    readiness.setPending();
    readiness.setPending();
    readiness.stop();
    readiness.stop();
    readiness.setPending();
    expect([readiness.state, readiness.isReady, readiness.generation]).toEqual(['stopped', false, 1]);
  });

  it('lets those wait on who come while it lists anew, until it is ready again', async () => {
    const readiness = new Readiness(new VirtualClock());
    readiness.setReady();
    readiness.setPending();
    let woken = 0;
    const waits = Array.from({ length: 10 }, () => readiness.wait().then(() => woken++));
    await settle();
    expect(woken).toBe(0);
    readiness.setReady();
    await Promise.all(waits);
    expect(woken).toBe(10);
  });

  it('measures how long it has been unready from the last change, not from an error', async () => {
    const clock = new VirtualClock();
    const readiness = new Readiness(clock);
    readiness.setReady();
    await clock.advance(540_000);
    readiness.setPending();
    await clock.advance(20_000);
    readiness.noteError(new Error('still'));
    readiness.setPending();
    expect(retryAfterSeconds(readiness.refusal())).toBe(3);
  });

  it('forgets the last error when it is ready', () => {
    const readiness = new Readiness(new VirtualClock());
    readiness.noteError(new Error('no leader'));
    readiness.noteError(undefined);
    expect((readiness.lastError as Error).message).toBe('no leader');
    readiness.setReady();
    readiness.setPending();
    expect([readiness.lastError, readiness.refusal().message]).toEqual([undefined, 'storage is (re)initializing']);
  });
});
