import { type Revision, silentLogger } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import type { StorageEvent } from '@kapstan/storage';
import { predicate } from '@kapstan/storage/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { Bookmarks, nextBookmarkMs } from './bookmarks.ts';
import { CacheWatcher } from './cache-watcher.ts';
import { HistoryRing } from './history-ring.ts';

describe('nextBookmarkMs', () => {
  it.each([
    ['each minute without a deadline', 1_000, undefined, 61_000],
    ['each minute before a far deadline', 1_000, 1_000_000, 61_000],
    ['2 s before a near deadline', 1_000, 31_000, 29_000],
    ['never, when the deadline is nearer than 2 s', 1_000, 2_500, undefined],
    ['never, after the deadline', 5_000, 4_000, undefined],
  ])('%s', (_name, nowMs, deadlineMs, expected) => {
    expect(nextBookmarkMs(nowMs, deadlineMs)).toBe(expected);
  });
});

describe('Bookmarks', () => {
  let clock: VirtualClock;
  let revision: Revision;
  let bookmarks: Bookmarks<never>;
  beforeEach(() => {
    clock = new VirtualClock();
    revision = 7 as Revision;
    bookmarks = new Bookmarks<never>({ clock, revision: () => revision });
  });

  function watcher(options: { readonly isLive?: boolean; readonly after?: number } = {}) {
    const events: StorageEvent<never>[] = [];
    const ring = new HistoryRing<never>();
    const each = new CacheWatcher<never>({
      key: '/p/',
      isRecursive: true,
      predicate: predicate({ bookmarks: true }) as never,
      sink: { onEvent: (event) => events.push(event), onEnd: () => undefined },
      logger: silentLogger,
      onClosed: (closed) => bookmarks.remove(closed),
    });
    each.begin({ initial: [], revision: (options.after ?? 0) as Revision, position: 0, endsWithBookmark: false });
    if (options.isLive !== false) each.catchUp(ring, { limit: 1, until: ring.end });
    return { each, events, ring };
  }

  it('sends the version of the cache once a minute, with one timer for all', async () => {
    const watchers = [watcher(), watcher()];
    for (const { each } of watchers) bookmarks.add(each, undefined);
    expect(clock.pendingTimers).toBe(1);
    await clock.advance(60_000);
    revision = 9 as Revision;
    await clock.advance(60_000);
    for (const { events } of watchers) {
      expect(events).toEqual([
        { type: 'BOOKMARK', revision: 7, initialEventsEnd: false },
        { type: 'BOOKMARK', revision: 9, initialEventsEnd: false },
      ]);
    }
  });

  it('sends one just before the deadline, and none after it', async () => {
    const { each, events } = watcher();
    bookmarks.add(each, 10_000);
    await clock.advance(10_000);
    expect(events).toHaveLength(1);
    await clock.advance(100_000);
    expect([events.length, bookmarks.scheduled, clock.pendingTimers]).toEqual([1, 0, 0]);
  });

  it('leaves out the one before the deadline when the watch knows its version already', async () => {
    const told = watcher({ after: 7 });
    const news = watcher({ after: 6 });
    bookmarks.add(told.each, 10_000);
    bookmarks.add(news.each, 10_000);
    await clock.advance(10_000);
    expect([told.events.length, news.events.length]).toEqual([0, 1]);
  });

  it('waits for a watcher that is not live: a bookmark must not overtake an event', async () => {
    const { each, events, ring } = watcher({ isLive: false });
    bookmarks.add(each, undefined);
    await clock.advance(61_000);
    expect(events).toEqual([]);
    each.catchUp(ring, { limit: 1, until: ring.end });
    await clock.advance(1_000);
    expect(events).toHaveLength(1);
  });

  it('sends none before the first list, nor one older than the version that the watch began with', async () => {
    const early = watcher();
    const ahead = watcher({ after: 100 });
    revision = 0 as Revision;
    bookmarks.add(early.each, undefined);
    bookmarks.add(ahead.each, undefined);
    await clock.advance(60_000);
    expect(early.events).toEqual([]);
    revision = 50 as Revision;
    await clock.advance(120_000);
    expect([early.events.length > 0, ahead.events.length]).toEqual([true, 0]);
  });

  it('I9: leaves no timer when the last watcher closes', async () => {
    const { each } = watcher();
    bookmarks.add(each, undefined);
    each.close();
    expect([bookmarks.scheduled, clock.pendingTimers]).toEqual([0, 0]);
  });
});
