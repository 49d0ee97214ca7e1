// The start of a watch. Covers TestGetWatchCacheResourceVersion, TestGetBookmarkAfterResourceVersionLockedFunc and
// TestWaitUntilWatchCacheFreshAndForceAllEvents of the Go library.
import { isStatusError, isTooLargeResourceVersion, type Revision, silentLogger } from '@kapstan/api';
import { pod, type TestPod, VirtualClock } from '@kapstan/api/testing';
import { type StorageEvent, Stored } from '@kapstan/storage';
import { podAttributes, predicate } from '@kapstan/storage/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { CacheWatcher } from './cache-watcher.ts';
import { Freshness } from './freshness.ts';
import { WatchCache } from './watch-cache.ts';
import { type WatchStartCall, watchStart } from './watch-start.ts';

const at = (value: number): Revision => value as Revision;

function stored(name: string, revision: number): Stored<TestPod> {
  const object = pod({ name, resourceVersion: String(revision) });
  return new Stored<TestPod>(`/p/default/${name}`, at(revision), object as Stored<TestPod>['object']);
}

describe('the start of a watch', () => {
  let clock: VirtualClock;
  let cache: WatchCache<TestPod>;
  let freshness: Freshness;
  let progressRequests: boolean;
  /** Number of questions to the storage below. */
  let asked: number;
  /** The revision that the cache learns when it requests progress. */
  let progressTo: number;
  beforeEach(() => {
    clock = new VirtualClock();
    cache = new WatchCache<TestPod>({
      clock,
      getAttributes: podAttributes,
      indexedFields: [],
      history: {},
      freeze: false,
      logger: silentLogger,
    });
    cache.replace([cache.listed(stored('a', 80))], at(90));
    cache.apply({ type: 'ADDED', stored: stored('b', 100) });
    progressRequests = true;
    asked = 0;
    progressTo = 200;
    // The storage is ahead; the cache learns this as soon as it asks.
    const requestProgress = (): void => {
      cache.progress(at(progressTo));
      freshness.advanced();
    };
    freshness = new Freshness({ clock, current: () => cache.revision, requestProgress });
  });

  function begin(version: string, send: boolean | undefined, bookmarks: boolean | 'marked' = false) {
    const options: WatchStartCall<TestPod>['options'] = {
      resourceVersion: version,
      predicate: predicate({ bookmarks: bookmarks === true }),
      recursive: true,
      marksInitialEventsEnd: bookmarks === 'marked',
      sendInitialEvents: send,
    };
    const storage = {
      supportsProgressRequests: progressRequests,
      currentResourceVersion: async () => {
        asked++;
        return at(200);
      },
    };
    const call = { key: '/p/', options, asked: at(Number(version)) };
    return watchStart({ cache, freshness, storage }, call).then((take) => take());
  }

  const cases: [string, boolean | undefined, number, number, number][] = [
    // version, sendInitialEvents → objects sent first, version from which events follow, questions to the storage
    ['', undefined, 2, 100, 0],
    ['0', undefined, 2, 100, 0],
    ['95', undefined, 0, 95, 0],
    ['', true, 2, 200, 1],
    ['0', true, 2, 100, 0],
    ['95', true, 2, 100, 0],
    ['', false, 0, 200, 1],
    ['0', false, 0, 100, 0],
    ['95', false, 0, 95, 0],
  ];
  it.each(cases)('from %j with sendInitialEvents %s: %i objects, then what comes after %i', async (...row) => {
    const [version, send, objects, revision, questions] = row;
    const start = await begin(version, send);
    expect([start.initial.length, start.revision, asked]).toEqual([objects, revision, questions]);
  });

  it.each(cases)(
    'from %j with sendInitialEvents %s ends its state with a bookmark only if it is a streamed list',
    async (version, send) => {
      expect((await begin(version, send, true)).endsWithBookmark).toBe(send === true);
      expect((await begin(version, send, false)).endsWithBookmark).toBe(false);
      expect((await begin(version, send, 'marked')).endsWithBookmark).toBe(send === true);
    },
  );

  it.each([
    ['', 210, 'of the cache, once that has what the storage has now'],
    ['0', 100, 'of the cache, however old that is'],
    ['95', 100, 'of the cache, which is not the asked one'],
    ['150', 210, 'of the cache, once that has reached the asked one'],
  ])('from %j ends a streamed list with a bookmark at %i: the revision %s', async (version, revision) => {
    progressTo = 210;
    const start = await begin(version, true, true);
    const events: StorageEvent<TestPod>[] = [];
    const watcher = new CacheWatcher<TestPod>({
      key: '/p/',
      isRecursive: true,
      predicate: predicate({ bookmarks: true }),
      sink: { onEvent: (event) => events.push(event), onEnd: () => undefined },
      logger: silentLogger,
      onClosed: () => undefined,
    });
    watcher.begin(start);
    watcher.catchUp(cache.ring, { limit: 10, until: cache.ring.end });
    expect(events.map(({ type }) => type)).toEqual(['ADDED', 'ADDED', 'BOOKMARK']);
    expect(events.at(-1)).toEqual({ type: 'BOOKMARK', revision, initialEventsEnd: true });
  });

  it('takes all objects in the order of their keys, whatever the order in which they came', async () => {
    cache.replace([cache.listed(stored('d', 80)), cache.listed(stored('a', 85))], at(90));
    for (const [name, revision] of [
      ['c', 91],
      ['b', 92],
      ['d', 93],
    ] as const)
      cache.apply({ type: 'ADDED', stored: stored(name, revision) });
    const { initial } = await begin('0', undefined);
    expect(initial.map((entry) => `${entry.key}@${entry.stored.revision}`)).toEqual([
      '/p/default/a@85',
      '/p/default/b@92',
      '/p/default/c@91',
      '/p/default/d@93',
    ]);
  });

  it('waits for the version that a streamed list asks for, and takes the state of then', async () => {
    const start = await begin('150', true, true);
    expect([start.revision, start.initial.map(({ stored: { key } }) => key)]).toEqual([
      200,
      ['/p/default/a', '/p/default/b'],
    ]);
  });

  it('refuses a streamed list of a version that does not come within 3 s', async () => {
    const refused = begin('300', true, true).catch((error: unknown) => error);
    await clock.advance(3_000);
    expect(isTooLargeResourceVersion(await refused)).toBe(true);
  });

  it('does not wait for a future version when no streamed list is requested', async () => {
    expect(await begin('300', undefined)).toMatchObject({ initial: [], revision: 300 });
    expect(freshness.waiting).toBe(0);
  });

  it('refuses a streamed list with bookmarks where progress cannot be asked for, and no other', async () => {
    progressRequests = false;
    const refusal = await begin('0', true, true).catch((error: unknown) => error);
    expect(isStatusError(refusal) && refusal.status).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message:
        'a watch stream was requested by the client but the required storage feature RequestWatchProgress is disabled',
      reason: 'InternalError',
      code: 500,
    });
    expect((await begin('0', true, false)).initial).toHaveLength(2);
    expect(await begin('0', true, 'marked')).toMatchObject({ initial: [{}, {}], endsWithBookmark: true });
    expect((await begin('0', undefined, true)).initial).toHaveLength(2);
  });
});
