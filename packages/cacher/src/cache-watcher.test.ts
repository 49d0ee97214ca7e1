// Tests how one watcher turns objects and events into watch events. Covers cache_watcher_test,
// watch_cache_interval_test and caching_object_test of the Go library, except for the parts about channels.
import { type Revision, silentLogger } from '@kapstan/api';
import { pod, type TestPod } from '@kapstan/api/testing';
import { type Encoding, jsonEncoding, type StorageEvent, Stored } from '@kapstan/storage';
import { podAttributes, predicate } from '@kapstan/storage/testing';
import { describe, expect, it } from 'vitest';
import { type CacheEntry, CacheEvent } from './cache-entry.ts';
import { CacheWatcher } from './cache-watcher.ts';
import { HistoryRing } from './history-ring.ts';

const at = (value: number): Revision => value as Revision;

function entry(name: string, revision: number, labels: Record<string, string> = {}): CacheEntry<TestPod> {
  const object = pod({ name, labels, resourceVersion: String(revision) }) as Stored<TestPod>['object'];
  const stored = new Stored<TestPod>(`/p/default/${name}`, at(revision), object);
  return { key: stored.key, stored, attributes: podAttributes(object) };
}

interface Change {
  readonly previous?: CacheEntry<TestPod>;
  readonly current?: CacheEntry<TestPod>;
}

function eventOf(revision: number, { previous, current }: Change): CacheEvent<TestPod> {
  const key = (current ?? previous)?.key ?? '';
  return new CacheEvent<TestPod>({
    key,
    revision: at(revision),
    timeMs: 0,
    previous,
    current,
  });
}

function textOf(event: StorageEvent<TestPod>): string {
  if (event.type === 'BOOKMARK') return `${event.initialEventsEnd ? 'END' : 'BOOKMARK'}@${event.revision}`;
  const { metadata } = event.stored.object;
  return `${event.type} ${metadata?.name}@${metadata?.resourceVersion}`;
}

function open(selection: Parameters<typeof predicate>[0] = {}, scope: { readonly key?: string } = {}) {
  const seen: string[] = [];
  const events: StorageEvent<TestPod>[] = [];
  const ends: (string | undefined)[] = [];
  const closings: (string | undefined)[] = [];
  const key = scope.key ?? '/p/';
  const watcher = new CacheWatcher<TestPod>({
    key,
    isRecursive: key.endsWith('/'),
    predicate: predicate(selection),
    sink: {
      onEvent: (event) => {
        events.push(event);
        seen.push(textOf(event));
      },
      onEnd: (error) => ends.push(error?.message),
    },
    logger: silentLogger,
    onClosed: (_closed, reason) => closings.push(reason),
  });
  return { watcher, seen, events, ends, closings };
}

const fromStart = { initial: [], revision: at(0), position: 0, endsWithBookmark: false };

describe('what a CacheWatcher makes of a change', () => {
  const web = { app: 'web' };
  const cases: [string, Change, string[]][] = [
    ['created, selected', { current: entry('a', 5, web) }, ['ADDED a@5']],
    ['created, not selected', { current: entry('a', 5) }, []],
    [
      'changed, selected before and after',
      { previous: entry('a', 3, web), current: entry('a', 5, web) },
      ['MODIFIED a@5'],
    ],
    ['changed into the selection', { previous: entry('a', 3), current: entry('a', 5, web) }, ['ADDED a@5']],
    ['changed out of the selection', { previous: entry('a', 3, web), current: entry('a', 5) }, ['DELETED a@5']],
    ['changed, selected neither before nor after', { previous: entry('a', 3), current: entry('a', 5) }, []],
    ['deleted, selected', { previous: entry('a', 3, web) }, ['DELETED a@5']],
    ['deleted, not selected', { previous: entry('a', 3) }, []],
  ];
  it.each(cases)('%s', (_what, change, expected) => {
    const { watcher, seen } = open({ labels: 'app=web' });
    watcher.begin(fromStart);
    watcher.offer(eventOf(5, change));
    expect(seen).toEqual(expected);
  });

  it('shows an object that left the selection as it was, at the revision of the change', () => {
    const { watcher, events } = open({ labels: 'app=web' });
    const previous = entry('a', 3, { app: 'web', v: 'old' });
    watcher.offer(eventOf(5, { previous, current: entry('a', 5, { v: 'new' }) }));
    const [event] = events;
    if (event?.type !== 'DELETED') return expect.fail('no DELETED');
    expect(event.stored.object.metadata).toMatchObject({ labels: { v: 'old' }, resourceVersion: '5' });
    expect(previous.stored.object.metadata?.resourceVersion).toBe('3');
  });

  it('makes one event for all that see a change alike, and another for who sees it otherwise', () => {
    const change = eventOf(5, { previous: entry('a', 3), current: entry('a', 5, web) });
    const [all, others, selecting] = [open(), open(), open({ labels: 'app=web' })];
    for (const { watcher } of [all, selecting, others]) watcher.offer(change);
    expect([all.seen, selecting.seen, others.seen]).toEqual([['MODIFIED a@5'], ['ADDED a@5'], ['MODIFIED a@5']]);
    const again = open();
    again.watcher.offer(change);
    expect(again.events[0]).toBe(others.events[0]);
  });

  it('selects everything alike, without asking for attributes', () => {
    const { watcher, seen } = open();
    const bare = { ...entry('a', 5), attributes: undefined as never };
    watcher.offer(eventOf(5, { current: bare }));
    expect(seen).toEqual(['ADDED a@5']);
  });

  it.each([
    ['/p/default/', ['ADDED a@1', 'ADDED ab@2']],
    ['/p/def/', []],
    ['/p/default/a', ['ADDED a@1']],
    ['/p/other/', []],
  ])('catches up with what lies under %s and nothing beside it', (key, expected) => {
    const ring = new HistoryRing<TestPod>();
    ring.push(eventOf(1, { current: entry('a', 1) }));
    ring.push(eventOf(2, { current: entry('ab', 2) }));
    const { watcher, seen } = open({}, { key });
    watcher.begin(fromStart);
    watcher.catchUp(ring, { limit: 10, until: ring.end });
    expect(seen).toEqual(expected);
  });
});

describe('a CacheWatcher that catches up', () => {
  function ringOf(count: number): HistoryRing<TestPod> {
    const ring = new HistoryRing<TestPod>({ minCapacity: 10, maxCapacity: 1_000 });
    for (let i = 1; i <= count; i++) ring.push(eventOf(i, { current: entry(`p${i}`, i) }));
    return ring;
  }

  it('examines no more than its limit, and returns how much it examined', () => {
    const ring = ringOf(7);
    const { watcher, seen } = open();
    watcher.begin({ ...fromStart, initial: [entry('x', 1), entry('y', 1)] });
    const slices = [3, 3, 3, 3].map((limit) => [watcher.catchUp(ring, { limit, until: ring.end }), watcher.isLive]);
    expect(slices).toEqual([
      [3, false],
      [3, false],
      [3, true],
      [0, true],
    ]);
    expect(seen).toHaveLength(9);
  });

  it.each([
    [99, [99], [0]],
    [100, [100], [0]],
    [101, [100], [1]],
  ])('with %i events waiting takes %j in a slice of at most 100, and %j in the next', (count, first, second) => {
    const ring = ringOf(count);
    const { watcher } = open();
    watcher.begin(fromStart);
    const slice = (): number => watcher.catchUp(ring, { limit: 100, until: ring.end });
    expect([[slice()], [slice()], watcher.isLive]).toEqual([first, second, true]);
  });

  it('is live at once when there is nothing to catch up with', () => {
    const { watcher, seen } = open();
    watcher.begin(fromStart);
    expect([watcher.catchUp(ringOf(0), { limit: 10, until: 0 }), watcher.isLive, seen]).toEqual([0, true, []]);
  });

  it('sends its state in the order of the keys, ends it with the bookmark, then only newer events', () => {
    const ring = ringOf(12);
    const { watcher, seen } = open({ bookmarks: true });
    watcher.begin({ initial: [entry('a', 9), entry('b', 4)], revision: at(10), position: 8, endsWithBookmark: true });
    watcher.catchUp(ring, { limit: 100, until: ring.end });
    expect(seen).toEqual(['ADDED a@9', 'ADDED b@4', 'END@10', 'ADDED p11@11', 'ADDED p12@12']);
  });

  it('does not notice that the ring grows while it reads', () => {
    const ring = ringOf(10);
    const { watcher, seen } = open();
    watcher.begin(fromStart);
    watcher.catchUp(ring, { limit: 4, until: ring.end });
    for (let i = 11; i <= 25; i++) ring.push(eventOf(i, { current: entry(`p${i}`, i) }));
    expect(ring.capacity).toBe(40);
    watcher.catchUp(ring, { limit: 100, until: ring.end });
    expect(seen).toEqual(Array.from({ length: 25 }, (_, i) => `ADDED p${i + 1}@${i + 1}`));
  });

  it('knows that the ring moved past it', () => {
    const ring = new HistoryRing<TestPod>({ minCapacity: 5, maxCapacity: 5 });
    const { watcher } = open();
    watcher.begin(fromStart);
    for (let i = 1; i <= 5; i++) ring.push(eventOf(i, { current: entry(`p${i}`, i) }));
    expect(watcher.isOverrun(ring)).toBe(false);
    ring.push(eventOf(6, { current: entry('p6', 6) }));
    expect(watcher.isOverrun(ring)).toBe(true);
  });

  it('stops in the middle of its state when its sink closes it', () => {
    const { watcher, seen, closings, ends } = open();
    watcher.begin({ ...fromStart, initial: [entry('a', 1), entry('b', 1), entry('c', 1)], endsWithBookmark: true });
    watcher.catchUp(ringOf(3), { limit: 2, until: 3 });
    watcher.close();
    watcher.close();
    expect(watcher.catchUp(ringOf(3), { limit: 9, until: 3 })).toBe(0);
    watcher.offer(eventOf(9, { current: entry('z', 9) }));
    watcher.bookmark(at(9));
    expect([seen.length, closings, ends, watcher.isLive]).toEqual([2, [undefined], [], false]);
  });

  it('ends once, for one reason, and notifies its sink last', () => {
    const { watcher, seen, closings, ends } = open();
    watcher.begin(fromStart);
    watcher.end('overrun');
    watcher.end('relist', new Error('later'));
    watcher.close();
    watcher.offer(eventOf(9, { current: entry('z', 9) }));
    expect([closings, ends, seen]).toEqual([['overrun'], [undefined], []]);
  });
});

describe('bookmarks of a CacheWatcher', () => {
  it('never go back, nor does an event after them', () => {
    const { watcher, seen } = open({ bookmarks: true });
    watcher.begin({ ...fromStart, revision: at(10) });
    watcher.bookmark(at(9));
    watcher.bookmark(at(12));
    watcher.bookmark(at(11));
    watcher.offer(eventOf(12, { current: entry('a', 12) }));
    watcher.offer(eventOf(13, { current: entry('b', 13) }));
    expect(seen).toEqual(['BOOKMARK@12', 'ADDED b@13']);
  });
});

describe('objects that watchers share', () => {
  function counting(name: string) {
    const encoding = {
      name,
      calls: 0,
      encode: (stored: Stored<TestPod>) => {
        encoding.calls++;
        return jsonEncoding.encode(stored as never);
      },
    };
    return encoding satisfies Encoding<TestPod>;
  }

  function seenByThree(event: CacheEvent<TestPod>): Stored<TestPod>[] {
    return Array.from({ length: 3 }, () => {
      const { watcher, events } = open();
      watcher.offer(event);
      const [first] = events;
      if (first === undefined || first.type === 'BOOKMARK') throw new Error('nothing was sent');
      return first.stored;
    });
  }

  it('are encoded once for all of them, and once for each encoding', () => {
    const json = counting('json');
    const table = counting('table');
    const bytes = seenByThree(eventOf(5, { current: entry('a', 5) })).map((stored) => [
      stored.encoded(json),
      stored.encoded(table),
    ]);
    expect([json.calls, table.calls]).toEqual([1, 1]);
    expect(new Set(bytes.map(([first]) => first)).size).toBe(1);
  });

  it('show a deletion with its own revision in the shared bytes, and leave the last state as it was', () => {
    const previous = entry('a', 3);
    const json = counting('json');
    previous.stored.encoded(json);
    const [one, other] = seenByThree(eventOf(5, { previous }));
    const texts = [one, other].map((stored) => Buffer.from(stored?.encoded(json) ?? []).toString());
    expect(JSON.parse(texts[0] ?? '').metadata.resourceVersion).toBe('5');
    expect([one === other, texts[0] === texts[1], json.calls]).toEqual([true, true, 2]);
    expect(JSON.parse(Buffer.from(previous.stored.encoded(json)).toString()).metadata.resourceVersion).toBe('3');
  });

  it('are what the cache holds, not copies', () => {
    const current = entry('a', 5);
    expect(seenByThree(eventOf(5, { current })).every((stored) => stored === current.stored)).toBe(true);
  });
});

describe('the beginning of a CacheWatcher', () => {
  it.each<[string, (watcher: CacheWatcher<TestPod>) => void]>([
    ['its start is taken', (watcher) => watcher.begin(fromStart)],
    ['it is closed', (watcher) => watcher.close()],
    ['it ends', (watcher) => watcher.end('refused', new Error('no'))],
  ])('is told once %s', async (_what, act) => {
    const { watcher } = open();
    let hasBegun = false;
    const begun = watcher.begun.then(() => {
      hasBegun = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(hasBegun).toBe(false);
    act(watcher);
    await begun;
    expect(hasBegun).toBe(true);
  });
});
