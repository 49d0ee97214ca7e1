// Several clients read and write one key; the tests check the order in which they wait. They hold the engine's commits;
// time is virtual.
import { conflict } from '@kapstan/api/errors';
import { settle, type TestPod, VirtualClock } from '@kapstan/api/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { MemoryEngine } from './memory-engine.ts';
import { ObjectStore } from './object-store.ts';
import type { Stored } from './stored.ts';
import { keyOf, podOf, podStoreOptions, predicate, root } from './testing/storage-fixture.ts';

const key = keyOf('a');
let clock: VirtualClock;
let engine: MemoryEngine;
let store: ObjectStore<TestPod>;
/** Lets the held commits continue, in order. With an argument, the first one fails with it. */
let held: ((error?: Error) => void)[];
let first: Stored<TestPod>;

beforeEach(async () => {
  clock = new VirtualClock();
  engine = new MemoryEngine({ clock });
  store = new ObjectStore<TestPod>({ ...podStoreOptions(engine), clock, queuesReaders: true });
  first = await store.create(key, podOf('a'));
  await store.create(keyOf('b'), podOf('b'));
  held = [];
});

function holdCommits(): void {
  engine.beforeOperation = (operation) => {
    if (operation !== 'commit') return undefined;
    return new Promise((resolve, reject) => held.push((error) => (error === undefined ? resolve() : reject(error))));
  };
}

async function letGo(error?: Error): Promise<void> {
  held.shift()?.(error);
  await settle();
}

/** Sends a PUT with the version that its client read; it conflicts with any other version. */
function put(read: Stored<TestPod> | undefined, label: string, signal?: AbortSignal): Promise<Stored<TestPod>> {
  const update = (_existing: TestPod | undefined, { revision }: { readonly revision: number }) => {
    if (revision !== read?.revision)
      throw conflict({ group: '', resource: 'pods' }, 'a', 'the object has been modified');
    return { object: podOf('a', { labels: { label } }) };
  };
  const hint = read === undefined ? {} : { cachedExisting: read };
  return store.guaranteedUpdate(key, update, { ...hint, ...(signal && { signal }) });
}

/** Records the outcome of a promise. */
function watched<T>(promise: Promise<T>): { value?: T; error?: unknown; readonly isDone: boolean } {
  const outcome: { value?: T; error?: unknown; isDone: boolean } = { isDone: false };
  promise.then(
    (value) => Object.assign(outcome, { value, isDone: true }),
    (error: unknown) => Object.assign(outcome, { error, isDone: true }),
  );
  return outcome;
}

const labelOf = (read: { value?: Stored<TestPod> | undefined }): unknown => read.value?.object.metadata?.labels?.label;

/** Causes a conflict, so that readers take turns from now on. Resolves to the state after it. */
async function conflictError(): Promise<Stored<TestPod>> {
  const winner = await put(first, 'winner');
  await expect(put(first, 'loser')).rejects.toThrow('the object has been modified');
  return winner;
}

describe('a commit under way', () => {
  it('holds back a read of its key until it is durable, and the read finds the new state', async () => {
    holdCommits();
    const write = watched(put(first, 'new'));
    await settle();
    const read = watched(store.get(key));
    await settle();
    expect([write.isDone, read.isDone]).toEqual([false, false]);
    await letGo();
    expect(labelOf(read)).toBe('new');
    expect(read.value?.revision).toBe(write.value?.revision);
  });

  it('holds back neither reads of other keys nor reads of any version, nor lists', async () => {
    holdCommits();
    void put(first, 'new');
    await settle();
    expect((await store.get(keyOf('b')))?.key).toBe(keyOf('b'));
    for (const resourceVersion of ['0', String(first.revision)])
      expect((await store.get(key, { resourceVersion }))?.revision).toBe(first.revision);
    expect((await store.getList(root, { recursive: true, predicate: predicate() })).items).toHaveLength(2);
    await letGo();
  });

  it('that fails lets the read find the true state', async () => {
    holdCommits();
    const write = watched(put(first, 'new'));
    await settle();
    const read = watched(store.get(key));
    await letGo(new Error('the disk is full'));
    expect(write.error).toMatchObject({ message: 'the disk is full' });
    expect(read.value?.revision).toBe(first.revision);
  });

  it('that creates or deletes the key holds reads back, too', async () => {
    holdCommits();
    void store.delete(key);
    await settle();
    void store.create(keyOf('c'), podOf('c'));
    await settle();
    const [deleted, created] = [watched(store.get(key)), watched(store.get(keyOf('c')))];
    await settle();
    expect([deleted.isDone, created.isDone]).toEqual([false, false]);
    await letGo();
    expect(deleted).toMatchObject({ isDone: true, value: undefined });
    expect(created.isDone).toBe(false);
    await letGo();
    expect(created.value?.key).toBe(keyOf('c'));
  });

  it('holds a read back for a second at most', async () => {
    holdCommits();
    void put(first, 'new');
    await settle();
    const read = watched(store.get(key));
    await clock.advance(999);
    expect(read.isDone).toBe(false);
    await clock.advance(1);
    expect(read.value?.revision).toBe(first.revision);
    expect((await store.get(key))?.revision).toBe(first.revision);
    await letGo();
    expect(labelOf({ value: await store.get(key) })).toBe('new');
  });

  it('lets a read go whose client has gone', async () => {
    holdCommits();
    void put(first, 'new');
    await settle();
    const stop = new AbortController();
    const read = watched(store.get(key, { signal: stop.signal }));
    await settle();
    stop.abort(new Error('the client is gone'));
    await settle();
    expect(read.isDone).toBe(true);
    await letGo();
  });

  it('is not waited for any more when the store is closed', async () => {
    holdCommits();
    void put(first, 'new');
    await settle();
    const read = watched(store.get(key));
    await store.close();
    await settle();
    expect(read.isDone).toBe(true);
    expect(clock.pendingTimers).toBe(0);
    await letGo();
  });
});

describe('after a conflict', () => {
  it('the readers of the key are let through one by one, in the order in which they came', async () => {
    const present = await conflictError();
    const [one, two, three] = [watched(store.get(key)), watched(store.get(key)), watched(store.get(key))];
    await settle();
    expect([one.isDone, two.isDone, three.isDone]).toEqual([true, false, false]);
    await put(present, 'one');
    await settle();
    expect([labelOf(two), three.isDone]).toEqual(['one', false]);
    await put(two.value, 'two');
    await settle();
    expect(labelOf(three)).toBe('two');
  });

  it('a loser that reads while the winner goes on is next, however long it paused', async () => {
    const present = await conflictError();
    const winner = await store.get(key);
    expect(winner?.revision).toBe(present.revision);
    const loser = watched(store.get(key));
    await put(winner, 'again');
    await settle();
    const winnerAgain = watched(store.get(key));
    await settle();
    expect([labelOf(loser), winnerAgain.isDone]).toEqual(['again', false]);
    await put(loser.value, 'at last');
    await settle();
    expect(labelOf(winnerAgain)).toBe('at last');
  });

  it('a reader that does not write within 25 ms ends the turns of all', async () => {
    await conflictError();
    await store.get(key);
    const waiting = [watched(store.get(key)), watched(store.get(key))];
    await clock.advance(24);
    expect(waiting.map(({ isDone }) => isDone)).toEqual([false, false]);
    await clock.advance(1);
    expect(waiting.map(({ isDone }) => isDone)).toEqual([true, true]);
    const later = [watched(store.get(key)), watched(store.get(key))];
    await settle();
    expect(later.map(({ isDone }) => isDone)).toEqual([true, true]);
  });

  it('nobody queues for longer than 250 ms', async () => {
    let present: Stored<TestPod> | undefined = await conflictError();
    await store.get(key);
    const queue = Array.from({ length: 30 }, () => watched(store.get(key)));
    for (let turn = 0; turn < 12; turn++) {
      await clock.advance(21);
      present = await put(present, String(turn));
      await settle();
    }
    expect(queue.every(({ isDone }) => isDone)).toBe(true);
  });

  it('the key is forgotten after a second without another', async () => {
    await conflictError();
    expect(clock.pendingTimers).toBe(1);
    await clock.advance(1_000);
    expect(clock.pendingTimers).toBe(0);
    const reads = [watched(store.get(key)), watched(store.get(key))];
    await settle();
    expect(reads.map(({ isDone }) => isDone)).toEqual([true, true]);
  });

  it('reads of other keys take no turns', async () => {
    await conflictError();
    const reads = [watched(store.get(keyOf('b'))), watched(store.get(keyOf('b')))];
    await settle();
    expect(reads.map(({ isDone }) => isDone)).toEqual([true, true]);
  });
});

it("a reader never waits for another one under a test's clock, which may stand still", async () => {
  const plain = new ObjectStore<TestPod>({ ...podStoreOptions(engine), clock });
  const refused = () => {
    throw conflict({ group: '', resource: 'pods' }, 'a', 'the object has been modified');
  };
  await expect(plain.guaranteedUpdate(key, refused, {})).rejects.toThrow('the object has been modified');
  const reads = [watched(plain.get(key)), watched(plain.get(key))];
  await settle();
  expect(reads.map(({ isDone }) => isDone)).toEqual([true, true]);
  expect(clock.pendingTimers).toBe(0);
  await plain.close();
});
