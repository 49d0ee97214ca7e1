import { getEventListeners } from 'node:events';
import { silentLogger } from '@kapstan/api';
import { expired } from '@kapstan/api/errors';
import { FakeListerWatcher, LeakCheck, pod, settle, type TestPod, VirtualClock } from '@kapstan/api/testing';
import { NEVER, Subject } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ObjectChange } from './handlers/object-change.ts';
import { retryWatch } from './retry-watch.ts';
import { until, untilWithSync } from './until.ts';

let clock: VirtualClock;
let source: FakeListerWatcher<TestPod>;
let events: Subject<string>;
let leaks: LeakCheck;

beforeEach(() => {
  clock = new VirtualClock();
  leaks = new LeakCheck({ clock });
  source = new FakeListerWatcher<TestPod>({ startVersion: 10 });
  events = new Subject();
});
afterEach(async () => {
  expect([source.openWatches, events.observed]).toEqual([0, false]);
  await leaks.assertNone();
});

const is = (wanted: string) => (event: string) => event === wanted;

describe('until', () => {
  it('gives the event that meets its condition, and lets go of the stream', async () => {
    const met = until(events, [is('b')]);
    events.next('a');
    events.next('b');
    events.next('c');
    expect(await met).toBe('b');
  });

  it('wants several conditions one after the other, the next one of the same event first', async () => {
    const asked: string[] = [];
    const noted = (name: string, wanted: string) => (event: string) => {
      asked.push(`${name}?${event}`);
      return event >= wanted;
    };
    const met = until(events, [noted('first', 'b'), noted('second', 'b'), noted('third', 'c')]);
    for (const event of ['a', 'b', 'c']) events.next(event);
    expect(await met).toBe('c');
    expect(asked).toEqual(['first?a', 'first?b', 'second?b', 'third?b', 'third?c']);
  });

  it('is over at once without conditions', async () => {
    expect(await until(events, [])).toBeUndefined();
  });

  it('says that the time is over, with the last event, where a condition is never met', async () => {
    const met = until(events, [is('a'), is('b'), is('never')], { timeoutMs: 5000, clock });
    const failure = expect(met).rejects.toMatchObject({
      name: 'UntilInterruptedError',
      message: 'timed out waiting for the condition',
      lastEvent: 'b',
      cause: expect.objectContaining({ message: 'timed out after 5000 ms' }),
    });
    events.next('a');
    events.next('b');
    await clock.advance(4999);
    expect(events.observed).toBe(true);
    await clock.advance(1);
    await failure;
  });

  it('has no limit by default', async () => {
    const met = until(events, [is('b')], { clock });
    events.next('a');
    await clock.advance(86_400_000);
    events.next('b');
    expect(await met).toBe('b');
  });

  it('ends with its signal, and does not begin where that has aborted', async () => {
    const abort = new AbortController();
    const met = until(events, [is('b')], { signal: abort.signal });
    events.next('a');
    abort.abort('enough');
    await expect(met).rejects.toMatchObject({ lastEvent: 'a', cause: 'enough' });
    const late = until(events, [is('b')], { signal: abort.signal });
    expect(events.observed).toBe(false);
    await expect(late).rejects.toMatchObject({ lastEvent: undefined, cause: 'enough' });
  });

  it('passes on what a condition throws and what the stream errors with', async () => {
    const thrown = until(events, [
      () => {
        throw new Error('from a condition');
      },
    ]);
    events.next('a');
    await expect(thrown).rejects.toThrow('from a condition');
    const failed = until(events, [is('b')]);
    events.error(expired('too old'));
    await expect(failed).rejects.toMatchObject({ code: 410 });
  });

  it('says that the stream has ended before', async () => {
    const met = until(events, [is('b')]);
    events.next('a');
    events.complete();
    await expect(met).rejects.toMatchObject({ message: 'watch closed before Until timeout', lastEvent: 'a' });
  });

  it('waits over a watch that loses its connections', async () => {
    const met = until(retryWatch(source, { resourceVersion: '10', clock }), [({ type }) => type === 'DELETED']);
    source.add(pod({ name: 'a' }));
    source.resetWatches(new Error('ECONNRESET'));
    source.delete({ name: 'a' });
    await clock.advance(1000);
    expect(await met).toMatchObject({ type: 'DELETED', object: { metadata: { name: 'a', resourceVersion: '12' } } });
  });
});

describe('untilWithSync', () => {
  const named = (name: string) => (change: ObjectChange<TestPod>) => change.key === `default/${name}`;
  const informer = { random: () => 0, useWatchList: false, logger: silentLogger };

  it('is told what is there already, then what happens, and closes its informer', async () => {
    source.add(pod({ name: 'a' }));
    const met = untilWithSync(source, [named('a'), (change) => change.type === 'deleted'], { clock, informer });
    await settle();
    source.modify(pod({ name: 'a' }));
    source.delete({ name: 'a' });
    expect(await met).toMatchObject({ type: 'deleted', key: 'default/a' });
    expect(clock.pendingTimers).toBe(0);
  });

  it('does not wait for the cache where nothing is asked of it', async () => {
    source.list = () => new Promise(() => undefined);
    const met = untilWithSync(source, [named('a')], { clock, informer, timeoutMs: 1000 });
    const failure = expect(met).rejects.toThrow('timed out waiting for the condition');
    await clock.advance(1000);
    await failure;
  });

  it('says that the cache did not sync, where it is to be asked', async () => {
    source.list = () => new Promise(() => undefined);
    const met = untilWithSync(source, [named('a')], { precondition: () => true, clock, informer, timeoutMs: 1000 });
    const failure = expect(met).rejects.toThrow('UntilWithSync: unable to sync caches: Error: timed out after 1000 ms');
    await clock.advance(1000);
    await failure;
  });

  it('waits for nothing where the precondition holds, and for the conditions where it does not', async () => {
    source.add(pod({ name: 'a' }));
    const sizes: number[] = [];
    const asking = (answer: boolean) => ({
      clock,
      informer,
      precondition: (indexer: { readonly size: number }) => {
        sizes.push(indexer.size);
        return answer;
      },
    });
    expect(await untilWithSync(source, [() => false], asking(true))).toBeUndefined();
    expect(await untilWithSync(source, [named('a')], asking(false))).toMatchObject({
      type: 'added',
      isInInitialList: true,
    });
    expect(sizes).toEqual([1, 1]);
  });

  it('ends at once where the signal has aborted', async () => {
    const signal = AbortSignal.abort('enough');
    await expect(untilWithSync(source, [named('a')], { signal, clock, informer })).rejects.toMatchObject({
      cause: 'enough',
    });
    await settle();
    expect(clock.pendingTimers).toBe(0);
  });

  it('waits at a signal with one listener, however many wait, and leaves none', async () => {
    const controller = new AbortController();
    const { signal } = controller;
    const waits = Array.from({ length: 12 }, () =>
      until(NEVER, [() => true], { signal, clock }).catch(({ cause }) => cause),
    );
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    controller.abort('enough');
    expect(new Set(await Promise.all(waits))).toEqual(new Set(['enough']));
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });
});
