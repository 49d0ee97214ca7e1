// Part of storage-conformance.ts: the events of a watch, the version from which it starts, and its end.
import { isExpired, isStatusError } from '@kapstan/api';
import { settle, type TestPod } from '@kapstan/api/testing';
import { expect, it } from 'vitest';
import { keyOf, root, type StorageBench, type WatchCall } from './storage-fixture.ts';
import type { StorageRecorder } from './storage-recorder.ts';

export function watchConformance(bench: StorageBench): void {
  filteredWatches(bench);
  startingVersions(bench);
  semanticsMatrix(bench);
  streamedLists(bench);
  orderOfEvents(bench);
  endings(bench);
}

function filteredWatches(bench: StorageBench): void {
  it('turns changes into ADDED, MODIFIED and DELETED as the selector sees them', async () => {
    const watch = bench.watch({ labels: 'app=web', resourceVersion: String(await bench.caughtUp()) });
    const web = { labels: { app: 'web' } };
    await bench.create('a');
    const enters = await bench.update('a', web);
    const stays = await bench.update('a', { ...web, node: 'n1' });
    const leaves = await bench.update('a', { node: 'n1' });
    await bench.update('a', { node: 'n2' });
    const back = await bench.update('a', web);
    const gone = await bench.remove('a');
    expect(await watch.received(5)).toEqual([
      `ADDED a@${enters.revision}`,
      `MODIFIED a@${stays.revision}`,
      `DELETED a@${leaves.revision}`,
      `ADDED a@${back.revision}`,
      `DELETED a@${gone.revision}`,
    ]);
    const left = watch.events[2];
    // The event has the last state that matched, at the version of the change that made it not match.
    expect(left?.type !== 'BOOKMARK' && left?.stored.object.metadata?.labels).toEqual({ app: 'web' });
  });

  it('watches one key and nothing beside it', async () => {
    const watch = bench.watch({ recursive: false }, keyOf('a'));
    await bench.createAll('a', 'aa', 'b', 'other/a');
    const updated = await bench.update('a', { node: 'n1' });
    await bench.remove('aa');
    const removed = await bench.remove('a');
    const seen = (await watch.received(3)).slice(1);
    expect(seen).toEqual([`MODIFIED a@${updated.revision}`, `DELETED a@${removed.revision}`]);
    expect(watch.events).toHaveLength(3);
  });

  it.each([
    [{}, `${root}/ns`, ['ns/a', 'ns/b']],
    [{ fields: 'metadata.name=a' }, root, ['ns/a', 'ns2/a']],
    [{ fields: 'metadata.namespace=ns2' }, root, ['ns2/a', 'ns2/c']],
    [{ fields: 'metadata.namespace=ns2,metadata.name=c' }, root, ['ns2/c']],
    [{ fields: 'metadata.name=a' }, `${root}/ns`, ['ns/a']],
    [{ fields: 'metadata.namespace=ns2' }, `${root}/ns`, []],
    [{ fields: 'spec.nodeName=n1' }, root, ['ns/a', 'ns2/c']],
    [{ fields: 'spec.nodeName=n1' }, `${root}/ns2`, ['ns2/c']],
    [{ fields: 'spec.nodeName=n1,metadata.name=a' }, root, ['ns/a']],
    [{ fields: 'spec.nodeName!=n1' }, root, ['ns/b', 'ns2/a']],
  ])('watches with %j under %s', async (selection, key, expected) => {
    const watch = bench.watch(selection, key);
    const everyone = bench.watch();
    await settle();
    await bench.create('ns/a', { node: 'n1' });
    await bench.create('ns/b');
    await bench.create('ns2/a', { node: 'n2' });
    await bench.create('ns2/c', { node: 'n1' });
    // Two watches of one store over a network may receive a change at different times.
    await everyone.received(4);
    await watch.received(expected.length);
    await settle();
    const seen = watch.events.map((event) =>
      event.type === 'BOOKMARK' ? '' : event.stored.key.slice(root.length + 1),
    );
    expect(seen).toEqual(expected);
  });

  it('tells a watch by node when an object moves away and comes back', async () => {
    await bench.create('a', { node: 'n1' });
    const watch = bench.watch({ fields: 'spec.nodeName=n1' });
    await watch.received(1);
    const away = await bench.update('a', { node: 'n2' });
    await bench.update('a', { node: 'n3' });
    const back = await bench.update('a', { node: 'n1' });
    expect((await watch.received(3)).slice(1)).toEqual([`DELETED a@${away.revision}`, `ADDED a@${back.revision}`]);
  });
}

function startingVersions(bench: StorageBench): void {
  it('shows what exists first when no version is asked, also what was compacted', async () => {
    const a = await bench.create('a');
    const b = await bench.update('a', { node: 'n1' });
    await bench.engine.compact(b.revision);
    await bench.caughtUp();
    for (const resourceVersion of ['', '0']) {
      const watch = bench.watch({ resourceVersion });
      expect(await watch.received(1)).toEqual([`ADDED a@${b.revision}`]);
    }
    expect(a.revision).toBeLessThan(b.revision);
  });

  it('shows only what happens after the asked version', async () => {
    const a = await bench.create('a');
    const b = await bench.create('b');
    const removed = await bench.remove('a');
    await bench.caughtUp();
    const watch = bench.watch({ resourceVersion: String(a.revision) });
    const c = await bench.create('c');
    expect(await watch.received(3)).toEqual([
      `ADDED b@${b.revision}`,
      `DELETED a@${removed.revision}`,
      `ADDED c@${c.revision}`,
    ]);
  });

  it('refuses a version that is no number before the stream begins', () => {
    expect(() => bench.watch({ resourceVersion: 'abc' })).toThrow(
      'resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax',
    );
  });

  it('waits in silence for a version of the future', async () => {
    await bench.create('a');
    const current = await bench.caughtUp();
    const watch = bench.watch({ resourceVersion: String(current + 1) });
    await bench.create('b');
    const c = await bench.create('c');
    expect(await watch.received(1)).toEqual([`ADDED c@${c.revision}`]);
  });
}

/**
 * Waits until a watch "from now" has read the present version. A read that begins later ends later, in a remote store
 * too.
 */
async function startsFromNow(bench: StorageBench): Promise<void> {
  await settle();
  for (let round = 0; round < 3; round += 1) await bench.caughtUp();
}

/** Expects the error of a cache that cannot find out when it has everything. The client then lists instead. */
export async function expectNoStreamedList(watch: StorageRecorder<TestPod>): Promise<void> {
  const error = await watch.ended();
  if (!isStatusError(error)) return expect.fail(`ended with ${error}`);
  const { code, reason, message, details } = error.status;
  expect({ code, reason, message, details }).toEqual({
    code: 500,
    reason: 'InternalError',
    message:
      'a watch stream was requested by the client but the required storage feature RequestWatchProgress is disabled',
    details: undefined,
  });
  expect(watch.events).toEqual([]);
}

/**
 * Tests the first events of a watch, by version, initial events and bookmarks. Source: RunWatchSemantics of the Go
 * library.
 */
function semanticsMatrix(bench: StorageBench): void {
  const cases: [WatchCall['sendInitialEvents'], boolean, string, string][] = [];
  for (const bookmarks of [true, false]) {
    for (const version of ['', '0', 'first', 'current']) {
      cases.push([true, bookmarks, version, bookmarks ? 'state+end' : 'state']);
      cases.push([false, bookmarks, version, version === 'first' ? 'state' : 'nothing']);
    }
    for (const version of ['', '0']) cases.push([undefined, bookmarks, version, 'state']);
  }
  it.each(cases)('sendInitialEvents %s, bookmarks %s, version %j: %s, then the changes', async (...row) => {
    const [sendInitialEvents, bookmarks, version, expected] = row;
    const before = String(await bench.engine.currentRevision());
    const [a, b, c] = await bench.createAll('a', 'b', 'c');
    const current = await bench.caughtUp();
    const resourceVersion = { first: before, current: String(current) }[version] ?? version;
    const watch = bench.watch({ bookmarks, resourceVersion, sendInitialEvents });
    const state =
      expected === 'nothing' ? [] : [a, b, c].map((item) => `ADDED ${item?.object.metadata?.name}@${item?.revision}`);
    const end = expected === 'state+end' ? [`END@${current}`] : [];
    if (expected === 'state+end' && bench.isCacheWithoutProgress) return expectNoStreamedList(watch);
    await watch.received(state.length + end.length);
    if (expected === 'nothing') await startsFromNow(bench);
    const d = await bench.create('d');
    const e = await bench.create('e');
    const after = [`ADDED d@${d.revision}`, `ADDED e@${e.revision}`];
    expect(await watch.received(state.length + end.length + 2)).toEqual([...state, ...end, ...after]);
  });
}

function streamedLists(bench: StorageBench): void {
  const streamed = { sendInitialEvents: true, bookmarks: true } as const;

  it('ends the initial events of one namespace with the version of the whole store', async () => {
    const a = await bench.create('a');
    const other = await bench.create('other/b');
    const watch = bench.watch(streamed, `${root}/default`);
    if (bench.isCacheWithoutProgress) return expectNoStreamedList(watch);
    expect(await watch.received(2)).toEqual([`ADDED a@${a.revision}`, `END@${other.revision}`]);
  });

  it('ends the initial events of an empty collection at once', async () => {
    const watch = bench.watch(streamed);
    if (bench.isCacheWithoutProgress) return expectNoStreamedList(watch);
    expect(await watch.received(1)).toEqual([`END@${await bench.engine.currentRevision()}`]);
  });

  it('sends one object by name', async () => {
    const [a] = await bench.createAll('a', 'b');
    const watch = bench.watch({ ...streamed, fields: 'metadata.name=a' });
    if (bench.isCacheWithoutProgress) return expectNoStreamedList(watch);
    expect((await watch.received(2))[0]).toBe(`ADDED a@${a?.revision}`);
  });

  it('streams 2,000 objects while they change, without a gap or a double', async () => {
    const names = Array.from({ length: 2_000 }, (_, i) => `p${i}`);
    await Promise.all(names.map((name) => bench.create(name)));
    const watch = bench.watch(streamed);
    if (bench.isCacheWithoutProgress) return expectNoStreamedList(watch);
    const updates = names.slice(0, 50).map((name) => bench.update(name, { node: 'n1' }));
    const removals = names.slice(50, 60).map((name) => bench.remove(name));
    await Promise.all([...updates, ...removals]);
    const state = new Map<string, number>();
    const revision = await bench.caughtUp();
    const last = await bench.create('last');
    await watch.until(() => watch.changes.at(-1) === `ADDED last@${last.revision}`);
    for (const event of watch.events) {
      if (event.type === 'BOOKMARK') continue;
      const { key } = event.stored;
      expect(state.has(key), `${event.type} ${key}`).toBe(event.type !== 'ADDED');
      if (event.type === 'DELETED') state.delete(key);
      else state.set(key, event.stored.revision);
    }
    const list = await bench.list({ resourceVersion: String(revision) });
    expect([...state].sort()).toEqual(list.items.map((item) => [item.key, item.revision] as [string, number]).sort());
  });

  it('refuses a streamed list of the future', async () => {
    const current = await bench.caughtUp();
    const watch = bench.watch({ ...streamed, resourceVersion: String(current + 10) });
    if (bench.isCacheWithoutProgress) return expectNoStreamedList(watch);
    const [error] = await Promise.all([watch.ended(), bench.fixture.clock.advance(3_000)]);
    expect(error?.message).toBe(`Timeout: Too large resource version: ${current + 10}, current: ${current}`);
    expect(watch.events).toEqual([]);
  });
}

function orderOfEvents(bench: StorageBench): void {
  it('I1, I3: every watch sees every change once, in rising order, from whatever version it starts', async () => {
    await bench.create('start');
    const first = await bench.caughtUp();
    const watches = [bench.watch({ resourceVersion: String(first) })];
    const writes = Array.from({ length: 30 }, (_, i) => bench.create(`p${i}`));
    watches.push(bench.watch({ resourceVersion: String(first) }));
    const created = await Promise.all(writes);
    await bench.caughtUp();
    watches.push(bench.watch({ resourceVersion: String(first) }));
    const expected = created.map((item) => item.revision).sort((a, b) => a - b);
    for (const watch of watches) {
      await watch.received(30);
      expect(watch.events.map((event) => (event.type === 'BOOKMARK' ? 0 : event.stored.revision))).toEqual(expected);
    }
  });

  it('I4: a sink that writes, reads, watches and closes is never called within itself', async () => {
    const watch = bench.watch();
    const work: Promise<unknown>[] = [];
    watch.onEach = (event) => {
      if (event.type !== 'ADDED' || event.stored.key.includes('echo')) return;
      const name = event.stored.object.metadata?.name ?? '';
      work.push(bench.create(`echo-${name}`), bench.list(), bench.watch().received(1));
    };
    await bench.createAll('a', 'b', 'c');
    await watch.received(6);
    await Promise.all(work);
  });

  it('I6: all watchers get the same frozen object', async () => {
    const watches = [bench.watch(), bench.watch({ labels: 'app=web' })];
    await bench.create('a', { labels: { app: 'web' } });
    for (const watch of watches) await watch.received(1);
    const [one, other] = watches.map((watch) => watch.events[0]);
    if (one?.type === 'BOOKMARK' || other?.type === 'BOOKMARK' || one === undefined || other === undefined)
      return expect.fail();
    if (bench.fixture.isCached) expect(one.stored).toBe(other.stored);
    expect(() => Object.assign(one.stored.object.metadata ?? {}, { name: 'changed' })).toThrow(TypeError);
  });
}

function endings(bench: StorageBench): void {
  it('delivers nothing after close, and closing twice is nothing', async () => {
    const closed = bench.watch();
    const open = bench.watch();
    await bench.create('a');
    await closed.received(1);
    closed.close();
    closed.close();
    await bench.create('b');
    await open.received(2);
    expect(closed.events).toHaveLength(1);
    expect(closed.isEnded).toBe(false);
  });

  it('leaves the neighbours alone when a sink closes its watch or throws', async () => {
    const closing = bench.watch();
    const other = bench.watch();
    closing.onEach = () => closing.close();
    await bench.createAll('a', 'b');
    expect(await other.received(2)).toHaveLength(2);
    // A watch on another connection may lag behind this one.
    await closing.received(1);
    expect(closing.events).toHaveLength(1);
  });

  it('says 410 once, and nothing after it, for a version that is gone', async () => {
    const a = await bench.create('a');
    for (let i = 0; i < 150; i++) await bench.update('a', { labels: { i: String(i) } });
    await bench.caughtUp();
    await bench.engine.compact(await bench.engine.currentRevision());
    // A cache forgets by age, so it may still have events that the engine has dropped.
    if (bench.fixture.isCached) return;
    const watch = bench.watch({ resourceVersion: String(a.revision) });
    const error = await watch.ended();
    expect(isExpired(error)).toBe(true);
    expect(error?.message).toBe('The resourceVersion for the provided watch is too old.');
    await bench.create('b');
    await settle();
    expect(watch.events).toEqual([]);
  });
}
