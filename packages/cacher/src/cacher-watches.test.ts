// Tests watches over the whole Cacher. Covers the watches of cacher_whitebox_test of the Go library.
import { isExpired, isTooManyRequests } from '@kapstan/api';
import { settle, VirtualClock } from '@kapstan/api/testing';
import { StorageError } from '@kapstan/storage';
import { keyOf, podOf } from '@kapstan/storage/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { openCacherBench } from './testing/cacher-bench.ts';

const { bench, parts } = openCacherBench();
const endings = ['expired', 'open', 'open'] as const;

describe('a watch on a Cacher that has heard of no event', () => {
  beforeEach(async () => {
    for (const name of ['a', 'b', 'c']) await parts().store.create(keyOf(name), podOf(name));
    await parts().start();
  });

  it.each([-1, 0, 1])('at the version of its list %i', async (offset) => {
    const listed = parts().cacher.inspect().revision;
    const watch = bench.watch({ resourceVersion: String(listed + offset) });
    await settle();
    const state = watch.isEnded ? (isExpired(watch.error) ? 'expired' : 'ended') : 'open';
    expect(state).toBe(endings[offset + 1]);
    if (state === 'expired') expect(watch.error?.message).toBe(`too old resource version: ${listed - 1} (${listed})`);
  });
});

describe('a watch on a Cacher', () => {
  beforeEach(() => parts().start());

  it('shows as its first event one that is newer than the version that it asked for', async () => {
    const created = await bench.createAll('a', 'b', 'c', 'd');
    await bench.update('a', { node: 'n1' });
    await bench.caughtUp();
    for (const { revision } of created) {
      const watch = bench.watch({ resourceVersion: String(revision) });
      await watch.received(1);
      const [first] = watch.events;
      expect(first?.type === 'BOOKMARK' ? 0 : first?.stored.revision).toBe(revision + 1);
    }
  });

  it('never goes back in time, wherever it begins and while others write', async () => {
    const watches = [bench.watch({ resourceVersion: '0' })];
    for (let round = 0; round < 20; round++) {
      const { revision } = await bench.create(`p${round}`);
      if (round > 0) await bench.update(`p${round - 1}`, { node: `n${round}` });
      watches.push(bench.watch({ resourceVersion: String(revision), bookmarks: true }));
      watches.push(bench.watch({ resourceVersion: String(revision), bookmarks: true, sendInitialEvents: true }));
    }
    const last = await bench.create('last');
    for (const watch of watches) await watch.until(() => watch.changes.at(-1) === `ADDED last@${last.revision}`);
    // The recorder notes each step back in time; the bench verifies that there was none.
    for (const watch of watches) expect(watch.violations).toEqual([]);
  });

  it('never asks the storage, but for the newest revision of a streamed list', async () => {
    await bench.createAll('a', 'b');
    const revision = await bench.caughtUp();
    const asked: string[] = [];
    parts().engine.beforeOperation = (operation) => void asked.push(operation);
    await bench.watch().received(2);
    await bench.watch({ resourceVersion: '0' }).received(2);
    bench.watch({ resourceVersion: String(revision) });
    await bench.watch({ sendInitialEvents: true, bookmarks: true }).received(3);
    expect(asked).toEqual([]);
  });

  it('ends when the cache lists anew, and its client finds every change by resuming or by listing', async () => {
    const { store } = parts();
    await bench.create('a');
    const watch = bench.watch({ resourceVersion: '0' });
    await watch.received(1);
    const seen = String(watch.changes.at(-1)?.split('@')[1]);
    const relisting = parts().relist();
    await store.create(keyOf('b'), podOf('b'));
    await store.delete(keyOf('a'));
    await relisting;
    expect(await watch.ended()).toBeUndefined();
    const resumed = bench.watch({ resourceVersion: seen });
    expect(isExpired(await resumed.ended())).toBe(true);
    expect(await bench.names({ resourceVersion: '0' })).toEqual(['b']);
  });

  it('leaves no schedule, timer, scope or entry behind, however many there were', async () => {
    const { cacher, clock } = parts();
    const timers = clock.pendingTimers;
    for (let round = 0; round < 5; round++) {
      const watches = Array.from({ length: 50 }, (_, i) =>
        bench.watch({
          resourceVersion: '0',
          bookmarks: true,
          deadlineMs: clock.monotonicNow() + 1_000 * (i + 3),
          ...(i % 2 === 0 ? { fields: `spec.nodeName=n${i}` } : {}),
        }),
      );
      await settle();
      expect(cacher.inspect().bookmarked).toBe(50);
      for (const watch of watches) watch.close();
      const { watchers, watchersByScope, bookmarked } = cacher.inspect();
      expect([watchers, watchersByScope, bookmarked, clock.pendingTimers]).toEqual([0, [], 0, timers]);
    }
  });

  it('ends its state with a bookmark at the version of the cache, and goes on from there', async () => {
    await bench.createAll('a', 'b');
    const watch = bench.watch({ sendInitialEvents: true, bookmarks: true, resourceVersion: '0' });
    await watch.received(3);
    const c = await bench.create('c');
    await watch.received(4);
    const revision = c.revision - 1;
    expect(watch.changes.slice(2)).toEqual([`END@${revision}`, `ADDED c@${c.revision}`]);
    const marks = watch.events.filter((event) => event.type === 'BOOKMARK');
    expect(marks).toEqual([{ type: 'BOOKMARK', revision, initialEventsEnd: true }]);
  });

  it('gets a bookmark each minute while it lasts, and only if it allows them', async () => {
    const { clock } = parts();
    await bench.create('a');
    const from = String(await bench.caughtUp());
    const watches = [bench.watch({ bookmarks: true, resourceVersion: from }), bench.watch({ resourceVersion: from })];
    await settle();
    await clock.advance(5 * 60_000 + 1_000);
    expect(watches.map((watch) => watch.bookmarks)).toEqual([Array(5).fill(Number(from)), []]);
  });

  it('hears by bookmark of versions that other resources made', async () => {
    const { clock, engine } = parts();
    const watch = bench.watch({ bookmarks: true, resourceVersion: String(await bench.caughtUp()) });
    await settle();
    for (let i = 0; i < 5; i++) {
      const change = { type: 'put', value: new Uint8Array(1) } as const;
      await engine.commit({ key: `/registry/secrets/${i}`, expectedRevision: 0 as never, change });
    }
    await clock.advance(61_000);
    expect(watch.bookmarks).toEqual([await engine.currentRevision()]);
  });

  // Recorded from a kube-apiserver 1.36.3 with timeoutSeconds=5.
  it.each([
    ['no', 'past events', { labels: '', isLive: false }],
    ['no', 'past events that it does not select', { labels: 'x=y', isLive: false }],
    ['one', 'a live event', { labels: '', isLive: true }],
  ] as const)('gets %s last bookmark before its deadline after %s', async (count, _what, { labels, isLive }) => {
    const { clock } = parts();
    await bench.create('a');
    const resourceVersion = String(await bench.caughtUp());
    if (!isLive) await bench.createAll('b', 'c');
    await bench.caughtUp();
    const deadlineMs = clock.monotonicNow() + 5_000;
    const watch = bench.watch({ bookmarks: true, resourceVersion, labels, deadlineMs });
    await settle();
    if (isLive) await bench.create('b');
    const revision = await bench.caughtUp();
    await settle();
    await clock.advance(5_000);
    expect(watch.bookmarks).toEqual(count === 'one' ? [revision] : []);
  });

  it('may close itself and its neighbours while bookmarks go out', async () => {
    const { clock, cacher } = parts();
    const from = String(await bench.caughtUp());
    const watches = Array.from({ length: 10 }, () => bench.watch({ bookmarks: true, resourceVersion: from }));
    for (const [i, watch] of watches.entries()) {
      watch.onEach = () => {
        watches[(i + 1) % 10]?.close();
      };
    }
    await settle();
    await clock.advance(61_000);
    expect(cacher.inspect().watchers).toBe(5);
    expect(watches.filter((watch) => watch.bookmarks.length === 1)).toHaveLength(5);
  });

  it('hears of a change at once, whatever a watcher whose client is slow does', async () => {
    const slow = bench.watch();
    const quick = bench.watch();
    await settle();
    // A slow sink closes its own watch, as HTTP does when unsent bytes pile up.
    slow.onEach = () => slow.close();
    await bench.createAll('a', 'b', 'c');
    expect(await quick.received(3)).toHaveLength(3);
    expect(slow.events).toHaveLength(1);
  });
});

describe('a watch on a Cacher that cannot start', () => {
  it('is refused at once with 429 and the reason, and does not hang', async () => {
    const { cacher, engine, clock } = parts();
    engine.beforeOperation = (operation) => {
      if (operation === 'range') throw new StorageError({ code: 'Unreachable', message: 'always failing' });
    };
    cacher.start();
    await clock.advance(5_000);
    let refused: unknown;
    try {
      bench.watch();
    } catch (error) {
      refused = error;
    }
    expect(isTooManyRequests(refused)).toBe(true);
    expect((refused as Error).message).toMatch(/^storage is \(re\)initializing: .*always failing/);
    expect(clock).toBeInstanceOf(VirtualClock);
  });
});
