// Covers TestConditionalProgressRequester and the waits of watch_cache_test of the Go library.
import { isTooLargeResourceVersion, type Revision, retryAfterSeconds } from '@kapstan/api';
import { settle, VirtualClock } from '@kapstan/api/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { Freshness } from './freshness.ts';

const at = (value: number): Revision => value as Revision;

describe('Freshness', () => {
  let clock: VirtualClock;
  let current: Revision;
  let requests: number;
  let freshness: Freshness;
  beforeEach(() => {
    clock = new VirtualClock();
    current = at(10);
    requests = 0;
    freshness = new Freshness({ clock, current: () => current, requestProgress: () => requests++ });
  });

  it('does not wait for 0 nor for what is reached', async () => {
    await freshness.wait(at(0));
    await freshness.wait(at(10));
    expect([requests, clock.pendingTimers]).toEqual([0, 0]);
  });

  it('resolves those whose revision is reached, and no others', async () => {
    const done: number[] = [];
    for (const revision of [11, 12]) void freshness.wait(at(revision)).then(() => done.push(revision));
    current = at(11);
    freshness.advanced();
    await settle();
    expect(done).toEqual([11]);
    current = at(13);
    freshness.advanced();
    await settle();
    expect(done).toEqual([11, 12]);
    expect([freshness.waiting, clock.pendingTimers]).toEqual([0, 0]);
  });

  it('refuses after 3 s with 504 and asks to come back in 1 s', async () => {
    const refused = freshness.wait(at(11)).catch((error: unknown) => error);
    await clock.advance(2_999);
    expect(freshness.waiting).toBe(1);
    await clock.advance(1);
    const error = await refused;
    expect(isTooLargeResourceVersion(error)).toBe(true);
    expect((error as Error).message).toBe('Timeout: Too large resource version: 11, current: 10');
    expect(retryAfterSeconds(error)).toBe(1);
    expect(clock.pendingTimers).toBe(0);
  });

  it('asks for progress at once and each 100 ms, only while someone waits', async () => {
    const waits = [freshness.wait(at(11)), freshness.wait(at(11))];
    expect(requests).toBe(1);
    await clock.advance(250);
    expect(requests).toBe(3);
    current = at(11);
    freshness.advanced();
    await Promise.all(waits);
    await clock.advance(1_000);
    expect(requests).toBe(3);
  });

  it('I9: fails all who wait when it is closed', async () => {
    const refused = freshness.wait(at(11)).catch((error: Error) => error.message);
    freshness.close(new Error('over'));
    expect(await refused).toBe('over');
    expect([freshness.waiting, clock.pendingTimers]).toEqual([0, 0]);
  });

  it('I9: fails waits that begin after it was closed, without a timer, unless the revision is reached already', async () => {
    freshness.close(new Error('over'));
    await expect(freshness.wait(at(11))).rejects.toThrow('over');
    await expect(freshness.wait(at(10))).resolves.toBeUndefined();
    expect([freshness.waiting, clock.pendingTimers, requests]).toEqual([0, 0, 0]);
  });

  it('asks again for those who come later, and stops when the last one leaves by timeout', async () => {
    const first = freshness.wait(at(11)).catch(() => 'late');
    await clock.advance(2_000);
    expect(requests).toBe(21);
    const second = freshness.wait(at(12)).catch(() => 'late');
    await clock.advance(1_000);
    expect(await first).toBe('late');
    const sofar = requests;
    await clock.advance(1_000);
    expect(requests).toBe(sofar + 10);
    await clock.advance(1_000);
    expect([await second, freshness.waiting, clock.pendingTimers]).toEqual(['late', 0, 0]);
    const after = requests;
    await clock.advance(10_000);
    expect(requests).toBe(after);
    void freshness.wait(at(11)).catch(() => 'closed');
    expect(requests).toBe(after + 1);
    freshness.close(new Error('over'));
  });

  it('records the waiting times of readers that had to wait', async () => {
    await freshness.wait(at(10));
    const waiting = freshness.wait(at(11));
    await clock.advance(500);
    current = at(11);
    freshness.advanced();
    await waiting;
    expect(freshness.waits.counts()).toMatchObject({ count: 1, sum: 0.5 });
  });
});
