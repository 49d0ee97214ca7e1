import { describe, expect, it } from 'vitest';
import type { FlowTarget } from './flow-schema.ts';
import { WatchTracker } from './watch-tracker.ts';
import { type ObjectStats, WorkEstimator } from './work-estimator.ts';

type ResourceTarget = Extract<FlowTarget, { type: 'resource' }>;
const target = (change: Partial<ResourceTarget> = {}): ResourceTarget => ({
  type: 'resource',
  verb: 'list',
  path: '',
  group: 'g',
  version: 'v1',
  namespace: '',
  resource: 'widgets',
  subresource: '',
  name: '',
  ...change,
});

function estimatorOf(stats: ObjectStats | 'stale' | undefined, watches = new WatchTracker(new Map())): WorkEstimator {
  return new WorkEstimator({ statsOf: () => stats, watches, withoutEvents: new Set(['widgets/token']) });
}
const seatsOf = (
  stats: ObjectStats | 'stale' | undefined,
  query: string,
  change: Partial<ResourceTarget> = {},
): number => estimatorOf(stats).estimate(target(change), new URLSearchParams(query), undefined).initialSeats;
const stats = (objectCount: number, averageObjectBytes: number): ObjectStats => ({ objectCount, averageObjectBytes });

describe('the width of a list', () => {
  it.each<readonly [of: string, stats: ObjectStats | 'stale' | undefined, query: string, seats: number]>([
    ['few objects', stats(10, 1000), '', 1],
    ['a list from the cache', stats(400, 1000), '', 4],
    ['a large one from the cache, which is streamed', stats(1_000_000, 1000), 'resourceVersion=0', 10],
    ['a page at a version, from the store', stats(5000, 10_000), 'resourceVersion=7&limit=500', 50],
    ['a page that continues', stats(5000, 10_000), 'continue=x&limit=500', 50],
    ['an exact version', stats(5000, 10_000), 'resourceVersion=7&resourceVersionMatch=Exact', 100],
    ['not older than a version', stats(5000, 10_000), 'resourceVersion=7&resourceVersionMatch=NotOlderThan', 10],
    ['a page of a selection, from the store', stats(1000, 10_000), 'continue=x&limit=5&labelSelector=a', 50],
    ['a page of a consistent list', stats(5000, 1000), 'limit=500', 5],
    ['a resource that was never counted', undefined, '', 1],
    ['objects that cannot be counted', 'stale', 'continue=x', 100],
    ['objects of unknown size', stats(3, 0), 'continue=x', 45],
    ['a limit that is no number', stats(1, 1), 'limit=many', 100],
    ['a time that is no number', stats(1, 1), 'timeoutSeconds=x', 100],
  ])('is estimated for %s', (_, known, query, seats) => {
    expect(seatsOf(known, query)).toBe(seats);
  });

  it('of one object by name is that of a GET', () => {
    expect(seatsOf(stats(1_000_000, 1000), 'continue=x', { name: 'a' })).toBe(1);
  });

  it('is bounded by what the level gives one request', () => {
    const estimate = estimatorOf(stats(1_000_000, 1000)).estimate(target(), new URLSearchParams(), 7);
    expect(estimate.initialSeats).toBe(7);
  });

  it.each([
    ['a watch from a version', 'resourceVersion=7', 1],
    ['a watch from now', '', 10],
    ['a watch from any version', 'resourceVersion=0', 10],
    ['a watch that sends the state', 'resourceVersion=7&sendInitialEvents=true', 10],
    ['one that says it does not', 'resourceVersion=7&sendInitialEvents=false', 1],
  ])('is estimated for %s', (_, query, seats) => {
    expect(seatsOf(stats(1_000_000, 1000), query, { verb: 'watch' })).toBe(seats);
  });
});

describe('the width of a write', () => {
  const watched = (count: number, change: Partial<ResourceTarget> = {}): WatchTracker => {
    const watches = new WatchTracker(new Map());
    for (let i = 0; i < count; i++) watches.register(target({ verb: 'watch', ...change }), () => undefined);
    return watches;
  };
  const write = (watches: WatchTracker, change: Partial<ResourceTarget> = {}, widest?: number) =>
    estimatorOf(undefined, watches).estimate(target({ verb: 'update', ...change }), new URLSearchParams(), widest);

  it.each([
    [0, 0, 0],
    [9, 0, 0],
    [10, 1, 5],
    [11, 2, 5],
    [100, 10, 5],
    [1000, 10, 50],
  ])('with %i watches: %i seats for %i ms after it', (count, finalSeats, lingerMs) => {
    const estimate = write(watched(count));
    expect(estimate).toEqual({ initialSeats: 1, finalSeats, lingerMs, watchCount: count });
  });

  it('keeps its work where the level gives one request less', () => {
    expect(write(watched(100), {}, 2)).toMatchObject({ finalSeats: 2, lingerMs: 25 });
  });

  it.each([
    ['all of the resource', {}, true],
    ['its namespace', { namespace: 'n' }, true],
    ['another namespace', { namespace: 'm' }, false],
    ['its name', { namespace: 'n', name: 'a' }, true],
    ['another name', { namespace: 'n', name: 'b' }, false],
    ['another resource', { resource: 'others' }, false],
  ])('counts watches of %s', (_, watch, isCounted) => {
    expect(write(watched(10, watch), { namespace: 'n', name: 'a' }).finalSeats).toBe(isCounted ? 1 : 0);
  });

  it('of a subresource without events, of reads and of other verbs is one seat', () => {
    const watches = watched(100);
    const others = [
      { subresource: 'token', verb: 'create' },
      { verb: 'get' },
      { verb: 'deletecollection' },
      { verb: '' },
    ];
    expect(others.map((change) => write(watches, change).finalSeats)).toEqual([0, 0, 0, 0]);
    const path = { type: 'path', verb: 'delete', path: '/x' } as const;
    expect(estimatorOf(undefined, watches).estimate(path, new URLSearchParams(), 9).finalSeats).toBe(0);
  });

  it('does not count watches of one value of an indexed field, and forgets those that end', () => {
    const watches = new WatchTracker(new Map([['widgets', 'spec.owner']]));
    const watch = target({ verb: 'watch' });
    const forget = Array.from({ length: 10 }, (_, i) =>
      watches.register(watch, (field) => (field === 'spec.owner' && i > 0 ? 'me' : undefined)),
    );
    expect(watches.interestedIn(target())).toBe(1);
    for (const end of forget) end();
    expect(watches.interestedIn(target())).toBe(0);
  });
});
