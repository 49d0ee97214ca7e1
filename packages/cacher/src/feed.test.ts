// Tests how the cache lists and watches its storage. Covers lister_watcher_test and TestReflectorForWatchCache of the
// Go library.
import { type Revision, silentLogger } from '@kapstan/api';
import { formatRevision } from '@kapstan/api/internal';
import { pod, settle, type TestPod, VirtualClock } from '@kapstan/api/testing';
import {
  type Storage,
  StorageError,
  type StorageListOptions,
  type StorageWatchOptions,
  type StorageWatchSink,
  Stored,
} from '@kapstan/storage';
import { beforeEach, describe, expect, it } from 'vitest';
import { Feed } from './feed.ts';

const at = (value: number): Revision => value as Revision;

function stored(name: string, revision: number): Stored<TestPod> {
  const object = pod({ name, resourceVersion: String(revision) });
  return new Stored<TestPod>(`/p/${name}`, at(revision), object as Stored<TestPod>['object']);
}

interface Page {
  readonly items: readonly Stored<TestPod>[];
  readonly continue: string;
}

describe('Feed', () => {
  let clock: VirtualClock;
  let lists: StorageListOptions<TestPod>[];
  let watches: {
    readonly options: StorageWatchOptions<TestPod>;
    readonly sink: StorageWatchSink<TestPod>;
    isClosed: boolean;
  }[];
  let pages: (Page | Error)[];
  let revision: number;
  let progressRequests: number;
  let supportsProgressRequests: boolean;
  let told: string[];
  let failsOnListed: boolean;
  let feed: Feed<TestPod>;

  function open(options: { readonly supportsProgressRequests?: boolean } = {}): void {
    clock = new VirtualClock();
    lists = [];
    watches = [];
    pages = [{ items: [], continue: '' }];
    revision = 10;
    progressRequests = 0;
    supportsProgressRequests = options.supportsProgressRequests ?? true;
    told = [];
    failsOnListed = false;
    const storage: Pick<Storage<TestPod>, 'getList' | 'watch' | 'requestWatchProgress' | 'supportsProgressRequests'> = {
      get supportsProgressRequests() {
        return supportsProgressRequests;
      },
      getList: async (_key, call) => {
        lists.push(call);
        const page = pages.shift() ?? { items: [], continue: '' };
        if (page instanceof Error) throw page;
        return { ...page, resourceVersion: formatRevision(at(revision)) };
      },
      watch: (_key, call, sink) => {
        const watch = { options: call, sink, isClosed: false };
        watches.push(watch);
        return {
          close: () => {
            watch.isClosed = true;
          },
        };
      },
      requestWatchProgress: async () => {
        progressRequests++;
      },
    };
    feed = new Feed<TestPod>(
      { storage: storage as Storage<TestPod>, prefix: '/p/', clock, random: () => 0, logger: silentLogger },
      {
        onListed: (stored) => {
          if (failsOnListed) throw new Error('attributes of this object cannot be had');
          return { key: stored.key, stored, attributes: { labels: {}, fields: {} } };
        },
        onReplace: (items, listed) => told.push(`replace ${items.length}@${listed}`),
        onChange: (event) => told.push(`${event.type} ${event.stored.revision}`),
        onProgress: (reached) => told.push(`progress ${reached}`),
        onLost: () => told.push('lost'),
        onError: () => undefined,
      },
    );
  }
  beforeEach(() => open());

  const emit = (type: 'ADDED' | 'DELETED', at_: number): void =>
    watches.at(-1)?.sink.onEvent({ type, stored: stored('a', at_) });
  const fail = (error?: Error): void => watches.at(-1)?.sink.onEnd(error);

  it('lists everything at the newest version in pages of 10,000, then watches from that version', async () => {
    pages = [
      { items: [stored('a', 3)], continue: 'next' },
      { items: [stored('b', 4), stored('c', 5)], continue: '' },
    ];
    feed.start();
    await settle();
    expect(
      lists.map(({ resourceVersion, predicate }) => [resourceVersion, predicate.limit, predicate.continue]),
    ).toEqual([
      [undefined, 10_000, ''],
      [undefined, 10_000, 'next'],
    ]);
    expect(
      lists.every(({ recursive, predicate }) => recursive && predicate.labels.isEmpty && predicate.fields.isEmpty),
    ).toBe(true);
    expect(told).toEqual(['replace 3@10']);
    expect(watches.map(({ options }) => options)).toMatchObject([
      { resourceVersion: '10', progressNotify: true, recursive: true },
    ]);
    feed.close();
  });

  it('lists again after a pause when its sink fails on an object', async () => {
    pages = [
      { items: [stored('a', 3), stored('b', 4)], continue: '' },
      { items: [stored('a', 3)], continue: '' },
    ];
    failsOnListed = true;
    feed.start();
    await settle();
    expect([lists.length, told]).toEqual([1, []]);
    failsOnListed = false;
    await clock.advance(60_000);
    await settle();
    expect([lists.length, told]).toEqual([2, ['replace 1@10']]);
    feed.close();
  });

  it('delivers each change once, in order, and reports the progress of the storage', async () => {
    feed.start();
    await settle();
    emit('ADDED', 11);
    emit('DELETED', 12);
    watches[0]?.sink.onEvent({ type: 'BOOKMARK', revision: at(20), initialEventsEnd: false });
    expect(told).toEqual(['replace 0@10', 'ADDED 11', 'DELETED 12', 'progress 20']);
    feed.close();
  });

  it('watches again from what it heard last when the storage cannot be reached, without a new list', async () => {
    feed.start();
    await settle();
    emit('ADDED', 11);
    watches[0]?.sink.onEvent({ type: 'BOOKMARK', revision: at(20), initialEventsEnd: false });
    fail(new StorageError({ code: 'Unreachable' }));
    await clock.advance(1_000);
    expect([lists.length, watches.length, watches[1]?.options.resourceVersion]).toEqual([1, 2, '20']);
    expect(told).not.toContain('lost');
    feed.close();
  });

  it('lists anew at the newest version, whatever it heard last, when its version is compacted', async () => {
    feed.start();
    await settle();
    emit('ADDED', 11);
    revision = 50;
    fail(new StorageError({ code: 'Compacted', revision: 40 }));
    await clock.advance(200);
    expect(told).toEqual(['replace 0@10', 'ADDED 11', 'lost', 'replace 0@50']);
    expect([lists[1]?.resourceVersion, watches[1]?.options.resourceVersion]).toEqual([undefined, '50']);
    feed.close();
  });

  it('counts lists that fail and tries again, later and later, from the first page', async () => {
    pages = [
      new StorageError({ code: 'Unreachable' }),
      { items: [stored('a', 1)], continue: 'next' },
      new StorageError({ code: 'Unreachable' }),
    ];
    feed.start();
    await clock.advance(60_000);
    expect(feed.listErrors).toBe(2);
    expect(lists.slice(0, 4).map(({ predicate }) => predicate.continue)).toEqual(['', '', 'next', '']);
    expect([told, feed.initializations.counts().count]).toEqual([['replace 0@10'], 1]);
    feed.close();
  });

  it('asks a quiet storage for progress each 30 s, so that it is not taken for a dead one', async () => {
    feed.start();
    await settle();
    await clock.advance(65_000);
    expect(progressRequests).toBe(2);
    feed.close();
  });

  it('opens a silent watch anew where progress can be asked for, and only there', async () => {
    feed.start();
    await settle();
    await clock.advance(3_600_000);
    expect(watches.length).toBeGreaterThan(1);
    expect(lists).toHaveLength(1);
    feed.close();
    open({ supportsProgressRequests: false });
    feed.start();
    await settle();
    await clock.advance(3_600_000);
    expect([watches.length, progressRequests]).toEqual([1, 0]);
    feed.close();
  });

  it('asks for progress, and minds silence, as soon as the storage has learned that it can be asked', async () => {
    open({ supportsProgressRequests: false });
    feed.start();
    await settle();
    await clock.advance(70_000);
    supportsProgressRequests = true;
    await clock.advance(20_000);
    expect(progressRequests).toBe(1);
    // The silence before the first request counts for nothing.
    await clock.advance(89_000);
    expect(watches).toHaveLength(1);
    await clock.advance(92_000);
    expect([watches.length > 1, lists.length]).toEqual([true, 1]);
    feed.close();
    expect(clock.pendingTimers).toBe(0);
  });

  it('I9: closes its watch and leaves no timer', async () => {
    feed.start();
    await settle();
    feed.close();
    feed.close();
    expect([watches.every(({ isClosed }) => isClosed), clock.pendingTimers]).toEqual([true, 0]);
  });
});
