// A turn's budget delays events and loses none. Covers TestTimeBudget,
// TestDispatchEventWillNotBeBlockedByTimedOutWatcher and TestForgetWatcher of the Go library.
import { type Clock, everyField, type LogFields, type Revision, silentLogger, systemClock } from '@kapstan/api';
import { turnMs } from '@kapstan/api/internal';
import { pod, settle, type TestPod } from '@kapstan/api/testing';
import { Stored } from '@kapstan/storage';
import { podAttributes, predicate } from '@kapstan/storage/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { CacheEvent } from './cache-entry.ts';
import { CacheWatcher } from './cache-watcher.ts';
import { Dispatcher } from './dispatcher.ts';
import { HistoryRing } from './history-ring.ts';

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const upTo = (last: number): number[] => Array.from({ length: last }, (_, i) => i + 1);

/** A clock that advances when the simulated work says so. */
class WorkClock implements Clock {
  nowMs = 0;
  readonly now = (): number => this.nowMs;
  readonly monotonicNow = (): number => this.nowMs;
  readonly setTimer = systemClock.setTimer;
  readonly setBackgroundTimer = systemClock.setBackgroundTimer;
}

describe('the budget of a Dispatcher', () => {
  let clock: WorkClock;
  let ring: HistoryRing<TestPod>;
  let dispatcher: Dispatcher<TestPod>;
  let revision: number;
  let logged: unknown[];

  function open(options: { readonly capacity?: number } = {}): void {
    clock = new WorkClock();
    const bound =
      options.capacity === undefined ? {} : { minCapacity: options.capacity, maxCapacity: options.capacity };
    ring = new HistoryRing<TestPod>(bound);
    logged = [];
    const logger = {
      ...silentLogger,
      info: (message: string, fields?: LogFields) => logged.push({ message, ...fields }),
    };
    dispatcher = new Dispatcher<TestPod>({ ring, indexedFields: [], clock, logger });
    revision = 0;
  }
  beforeEach(() => open());

  function write(count: number): void {
    for (let i = 0; i < count; i++) {
      const object = pod({ name: `p${++revision}`, resourceVersion: String(revision) }) as Stored<TestPod>['object'];
      const stored = new Stored<TestPod>(`/p/default/p${revision}`, revision as Revision, object);
      const current = { key: stored.key, stored, attributes: podAttributes(object) };
      ring.push(new CacheEvent({ key: stored.key, revision: revision as Revision, timeMs: clock.nowMs, current }));
      dispatcher.dispatch();
    }
  }

  /** Starts a watch. `costMs` is the sink's time per event, `position` its start in the ring. */
  function watch(costMs = 0, position = ring.end) {
    const seen: number[] = [];
    const probe = { seen, end: undefined as string | undefined };
    const watcher: CacheWatcher<TestPod> = new CacheWatcher<TestPod>({
      key: '/p/',
      isRecursive: true,
      predicate: { ...predicate(), fields: everyField },
      sink: {
        onEvent: (event) => {
          if (event.type !== 'BOOKMARK') seen.push(event.stored.revision);
          clock.nowMs += costMs;
        },
        onEnd: (error) => {
          probe.end = error?.message ?? 'in peace';
        },
      },
      logger: silentLogger,
      onClosed: (closed, reason) => dispatcher.remove(closed, reason),
    });
    dispatcher.register(watcher);
    watcher.begin({ initial: [], revision: 0 as Revision, position, endsWithBookmark: false });
    dispatcher.start(watcher);
    return { ...probe, watcher, probe };
  }

  it('delivers at once what a turn has time for, and the rest in the turns that follow', async () => {
    const { seen } = watch(1);
    await nextTurn();
    write(25);
    expect([seen, dispatcher.backlog]).toEqual([upTo(turnMs), 25 - turnMs]);
    // A bookmark at this point would overtake the waiting events.
    expect(dispatcher.reached(25 as Revision)).toBe(0);
    await nextTurn();
    expect([seen, dispatcher.backlog]).toEqual([upTo(2 * turnMs), 25 - 2 * turnMs]);
    await nextTurn();
    await nextTurn();
    expect([seen, dispatcher.backlog, dispatcher.reached(25 as Revision)]).toEqual([upTo(25), 0, 25]);
    await settle();
    write(1);
    expect(seen).toEqual(upTo(26));
  });

  it('loses no healthy watcher in a burst on a fresh cache, however slow one of them is', async () => {
    const healthy = Array.from({ length: 5 }, () => watch());
    watch(0.5);
    await nextTurn();
    write(5_000);
    expect(ring.capacity).toBeGreaterThanOrEqual(5_000);
    while (dispatcher.backlog > 0) await nextTurn();
    expect(healthy.map(({ seen }) => seen.length)).toEqual([5_000, 5_000, 5_000, 5_000, 5_000]);
    expect(healthy[0]?.seen).toEqual(upTo(5_000));
    expect([dispatcher.watcherCount, dispatcher.counters.ended.overrun]).toEqual([6, 0]);
  });

  it('goes over the budget rather than let the ring drop what nobody got yet', async () => {
    open({ capacity: 20 });
    const { seen } = watch(1);
    await nextTurn();
    write(40);
    expect(seen.length).toBeGreaterThanOrEqual(20);
    while (dispatcher.backlog > 0) await nextTurn();
    expect(seen).toEqual(upTo(40));
    expect(dispatcher.counters.ended.overrun).toBe(0);
  });

  it('ends live watchers silently, and counts them, when the ring has dropped events that they need', async () => {
    open({ capacity: 20 });
    const { seen, watcher, probe } = watch();
    await nextTurn();
    let isFirst = true;
    const nested = watch();
    await nextTurn();
    const original = watcher.offer.bind(watcher);
    watcher.offer = (event) => {
      original(event);
      // While this sink runs, more events arrive than the ring holds.
      if (isFirst) {
        isFirst = false;
        write(30);
      }
    };
    write(1);
    expect([seen, nested.seen]).toEqual([[1], [1]]);
    expect([probe.end, nested.probe.end, dispatcher.counters.ended.overrun, dispatcher.backlog]).toEqual([
      'in peace',
      'in peace',
      2,
      0,
    ]);
  });

  it('neither repeats nor skips an event for one that joins while a burst waits', async () => {
    const first = watch(1);
    await nextTurn();
    write(25);
    const second = watch();
    const joinedAt = revision;
    write(5);
    while (dispatcher.backlog > 0 || dispatcher.catchingUpCount > 0) await nextTurn();
    expect(first.seen).toEqual(upTo(30));
    expect(second.seen.filter((each) => each > joinedAt)).toEqual([26, 27, 28, 29, 30]);
    expect(new Set(second.seen).size).toBe(second.seen.length);
  });

  it('I5: many watchers that catch up share a turn: none does more than its part', async () => {
    write(1_000);
    const probes = Array.from({ length: 20 }, () => watch(0.01, 0));
    const delivered = (): number => probes.reduce((sum, { seen }) => sum + seen.length, 0);
    let most = 0;
    for (let before = 0; dispatcher.catchingUpCount > 0; before = delivered()) {
      await nextTurn();
      most = Math.max(most, delivered() - before);
      expect(
        Math.max(...probes.map(({ seen }) => seen.length)) - Math.min(...probes.map(({ seen }) => seen.length)),
      ).toBeLessThanOrEqual(200);
    }
    // 10 ms at 0.01 ms per event, and the slice that was begun.
    expect(most).toBeLessThanOrEqual(1_100);
    expect(probes.map(({ seen }) => seen.length)).toEqual(probes.map(() => 1_000));
  });

  it('ends a reader that the ring moves past in the middle, after what it saw', async () => {
    open({ capacity: 1_000 });
    write(1_000);
    const { seen, probe } = watch(0.1, 0);
    await nextTurn();
    const count = seen.length;
    write(1_000);
    await settle();
    expect([count > 0, count < 1_000, seen]).toEqual([true, true, upTo(count)]);
    expect([probe.end, dispatcher.counters.ended.overrun, dispatcher.watcherCount]).toEqual(['in peace', 1, 0]);
  });

  it('lets a crowd that joins under a stream of events catch up', async () => {
    write(50);
    const crowd = Array.from({ length: 300 }, () => watch(0.001, 0));
    for (let turn = 0; turn < 60; turn++) {
      write(16);
      await nextTurn();
    }
    expect(dispatcher.catchingUpCount).toBe(0);
    expect(crowd.every(({ seen }) => seen.length === revision)).toBe(true);
  });

  it.each([
    [5, []],
    [5.5, [{ message: 'a watch took long to catch up', key: '/p/', tookMs: 550 }]],
  ])('tells of a watch that takes more than 500 ms to catch up (%s ms an event)', async (costMs, expected) => {
    write(100);
    watch(costMs, 0);
    while (dispatcher.catchingUpCount > 0) await nextTurn();
    expect(logged).toEqual(expected);
  });

  it('sets one immediate a turn and no timer, however many events come', async () => {
    const { seen } = watch();
    await settle();
    const pending = (): number =>
      process.getActiveResourcesInfo().filter((name) => name === 'Immediate' || name === 'Timeout').length;
    const before = pending();
    write(1_000);
    expect([seen.length, pending() - before]).toEqual([1_000, 1]);
  });

  it('shows by scope how many watchers there are, and how far the slowest is behind', async () => {
    watch(1);
    await nextTurn();
    write(25);
    watch();
    expect(dispatcher.scopes()).toEqual([{ scope: '/p/', watchers: 2, catchingUp: 1, behind: 25 - turnMs }]);
  });

  it('forgets a watcher in every place when its client closes it, and does not count it', async () => {
    const live = watch();
    const neighbour = watch();
    await nextTurn();
    const late = watch();
    live.watcher.close();
    late.watcher.close();
    let asked = 0;
    for (const { watcher } of [live, late]) {
      watcher.offer = () => void asked++;
      watcher.catchUp = () => asked++;
    }
    write(1);
    await nextTurn();
    expect([asked, live.seen, late.seen, neighbour.seen]).toEqual([0, [], [], [1]]);
    expect([dispatcher.watcherCount, dispatcher.catchingUpCount]).toEqual([1, 0]);
    expect(Object.values(dispatcher.counters.ended)).toEqual([0, 0, 0, 0, 0]);
    expect(live.probe.end).toBeUndefined();
  });
});
