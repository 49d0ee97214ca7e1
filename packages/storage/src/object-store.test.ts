import { isInternalError, type StatusError } from '@kapstan/api';
import { settle, type TestPod, VirtualClock } from '@kapstan/api/testing';
import { describe, expect, it } from 'vitest';
import { isStorageError, StorageError } from './errors/storage-error.ts';
import { MemoryEngine } from './memory-engine.ts';
import { ObjectStore } from './object-store.ts';
import type { StorageEvent } from './storage.ts';
import { jsonEncoding } from './stored.ts';
import { keyOf, podOf, podStoreOptions, predicate, root, StorageBench } from './testing/storage-fixture.ts';
import { identityTransformer, type Transformer } from './transform/transformer.ts';

let engine: MemoryEngine;

const bench = new StorageBench(async () => {
  const clock = new VirtualClock();
  engine = new MemoryEngine({ clock });
  const storage = new ObjectStore<TestPod>({ ...podStoreOptions(engine), random: () => 0.5 });
  const dispose = async (): Promise<void> => {
    await storage.close();
    await engine.close();
  };
  return { storage, engine, clock, isCached: false, dispose };
});

const refusal = (work: Promise<unknown>): Promise<StatusError> =>
  work.then(
    () => expect.fail(),
    (error) => error,
  );

describe('lists of an ObjectStore', () => {
  async function rangesOf(work: () => Promise<unknown>): Promise<number> {
    let ranges = 0;
    engine.beforeOperation = (operation) => {
      if (operation === 'range') ranges++;
    };
    await work();
    engine.beforeOperation = () => undefined;
    return ranges;
  }

  it('asks the engine for one page a page when nothing is filtered', async () => {
    await Promise.all(Array.from({ length: 50 }, (_, i) => bench.create(`p${i}`)));
    expect(await rangesOf(() => bench.list({ limit: 10 }))).toBe(1);
    expect(await rangesOf(() => bench.list())).toBe(1);
  });

  it('doubles its pages in search of a rare object', async () => {
    await Promise.all(
      Array.from({ length: 1_000 }, (_, i) => bench.create(`p${i}`, i === 999 ? { labels: { rare: 'yes' } } : {})),
    );
    // Pages of 1 + 2 + 4 + … + 512 objects.
    expect(await rangesOf(() => bench.list({ limit: 1, labels: 'rare=yes' }))).toBe(10);
  });

  it('stops at the 100th corrupt object, and says so, also when there are exactly 100', async () => {
    await Promise.all(Array.from({ length: 101 }, (_, i) => bench.create(`p${i}`)));
    for (let i = 0; i < 100; i++) await bench.overwrite(`p${i}`, 'garbage');
    const error = await refusal(bench.list());
    expect(error.message).toMatch(/ \(and 99 more\)$/);
    expect(error.details?.causes).toHaveLength(101);
    expect(error.details?.causes?.at(-1)).toEqual({
      reason: 'FieldValueTooMany',
      message: 'too many errors, the list is truncated',
    });
  });

  it('refuses a list with the first corrupt object alone unless it is to name them all', async () => {
    const plain = new ObjectStore<TestPod>({ ...podStoreOptions(engine), namesUnreadable: false });
    await bench.create('a');
    await bench.create('b');
    await bench.create('c');
    for (const name of ['b', 'c']) await bench.overwrite(name, 'garbage');
    for (const key of [root, keyOf('b')]) {
      const error = await plain
        .getList(key, { recursive: key === root, predicate: predicate() })
        .catch((reason: unknown) => reason);
      expect(isStorageError(error, 'Corrupt') && error.key).toBe(keyOf('b'));
    }
    await plain.close();
  });

  it('names no count for one corrupt object', async () => {
    await bench.create('a');
    await bench.overwrite('a', 'garbage');
    expect((await refusal(bench.list())).message).toBe(
      `failed to read one or more pods from the storage: StorageError: corrupt object, Code: 7, Key: ${keyOf('a')}, ResourceVersion: 0, AdditionalErrorMsg: data from the storage is not transformable revision=3: no known prefix`,
    );
  });

  it('gives way to the event loop and to an abort while it decodes', async () => {
    await Promise.all(Array.from({ length: 3_000 }, (_, i) => bench.create(`p${i}`)));
    let turns = 0;
    let isDone = false;
    const tick = (): void => {
      turns++;
      if (!isDone) setImmediate(tick);
    };
    setImmediate(tick);
    await bench.list();
    isDone = true;
    expect(turns).toBeGreaterThan(3);
    const abort = new AbortController();
    const listing = bench.list({ signal: abort.signal });
    await settle();
    abort.abort();
    const error: unknown = await refusal(listing);
    expect(isStorageError(error, 'Timeout') && error.detail).toBe('request did not complete within requested timeout');
  });

  it('drops an object whose attributes cannot be read', async () => {
    await bench.create('a');
    const throwing = {
      ...predicate({ labels: 'a!=b' }),
      getAttributes: () => {
        throw new TypeError('no attributes');
      },
    };
    const list = await bench.storage.getList(root, { predicate: throwing, recursive: true });
    expect(list.items).toEqual([]);
  });
});

describe('watches of an ObjectStore', () => {
  it('end with one error, StorageReadError, when the last state of a deleted object is corrupt', async () => {
    await bench.create('a');
    await bench.overwrite('a', 'garbage');
    const watch = bench.watch({ resourceVersion: String(await engine.currentRevision()) });
    await bench.storage.deleteUnreadable(keyOf('a'));
    const error = (await watch.ended()) as StatusError;
    expect([error.code, error.reason]).toEqual([500, 'StorageReadError']);
    expect(error.message).toMatch(/^saw a DELETED event, but object data is corrupt/);
    await bench.create('b');
    await settle();
    expect(watch.events).toEqual([]);
  });

  it('end with 500 InternalError when an event cannot be read', async () => {
    await bench.create('a');
    const watch = bench.watch();
    await watch.received(1);
    await bench.overwrite('a', 'garbage');
    expect(isInternalError(await watch.ended())).toBe(true);
  });

  it('end with an error when the state before a change is not known', async () => {
    const { revision } = await bench.create('a');
    await bench.update('a', { node: 'n1' });
    const start = engine.watch.bind(engine);
    engine.watch = (range, options, sink) =>
      start(range, options, {
        ...sink,
        onEvents: (events, at) =>
          sink.onEvents(
            events.map(({ previous: _gone, ...event }) => event),
            at,
          ),
        onProgress: (at) => sink.onProgress(at),
        onError: (error) => sink.onError(error),
      });
    const watch = bench.watch({ resourceVersion: String(revision) });
    expect((await watch.ended())?.message).toContain(
      `etcd event received with PrevKv=nil (key="${keyOf('a')}", modRevision=3, type=PUT)`,
    );
  });

  it('refuse a streamed list of the future, to be tried again in 1 to 4 s', async () => {
    const watch = bench.watch({ sendInitialEvents: true, resourceVersion: '100' });
    const error = (await watch.ended()) as StatusError;
    expect([error.code, error.details?.retryAfterSeconds]).toEqual([504, 3]);
  });

  it('leave it to their reader how to handle an unreachable engine', async () => {
    const watch = bench.watch();
    await settle();
    engine.breakWatches(new StorageError({ code: 'Unreachable' }));
    expect(isStorageError(await watch.ended(), 'Unreachable')).toBe(true);
  });

  it('report progress as bookmarks when asked, and only then', async () => {
    const events: unknown[] = [];
    const options = { predicate: predicate(), recursive: true, resourceVersion: '1' };
    const sink = { onEvent: (event: unknown) => events.push(event), onEnd: () => undefined };
    const watch = bench.storage.watch(root, { ...options, progressNotify: true }, sink);
    const silent = bench.watch({ resourceVersion: '1' });
    await settle();
    await bench.storage.requestWatchProgress();
    await settle();
    expect(events).toEqual([{ type: 'BOOKMARK', revision: 1, initialEventsEnd: false }]);
    expect(silent.events).toEqual([]);
    watch.close();
  });

  it('I9: end silently with their store, which then refuses everything', async () => {
    const watch = bench.watch();
    await settle();
    await bench.storage.close();
    await engine.commit({
      key: keyOf('a'),
      expectedRevision: 0 as never,
      change: { type: 'put', value: new Uint8Array(1) },
    });
    await settle();
    expect([watch.events, watch.isEnded]).toEqual([[], false]);
    for (const work of [() => bench.storage.get(keyOf('a')), () => bench.list(), () => bench.create('b')]) {
      await expect(work()).rejects.toSatisfy((error) => isStorageError(error, 'Closed'));
    }
    expect(isStorageError(bench.storage.readiness(), 'Closed')).toBe(true);
  });
});

describe('writes of an ObjectStore', () => {
  it('pass on a commit whose outcome is unknown, and do not retry it', async () => {
    let commits = 0;
    engine.beforeOperation = (operation) => {
      if (operation !== 'commit') return;
      commits++;
      throw new StorageError({ code: 'Unreachable', maybeApplied: true });
    };
    const error: unknown = await bench.create('a').catch((thrown: unknown) => thrown);
    expect(isStorageError(error, 'Unreachable') && error.maybeApplied).toBe(true);
    expect(commits).toBe(1);
  });

  it('keep the wire bytes of an object beside it, with its version', async () => {
    const { revision } = await bench.create('a', { labels: { a: 'é' } });
    const read = await bench.storage.get(keyOf('a'));
    const wire = Buffer.from(read?.encoded(jsonEncoding) ?? []).toString();
    expect(JSON.parse(wire)).toEqual(read?.object);
    expect(wire).toContain(`"metadata":{"resourceVersion":"${revision}",`);
    expect(read?.encoded(jsonEncoding)).toBe(read?.encoded(jsonEncoding));
    expect(read?.storedBytes).toBe(Buffer.byteLength(await bench.rawText('a')) - 'enc:1:'.length);
  });

  it('share nothing with what the caller holds (I6)', async () => {
    const object = podOf('a', { labels: { a: '1' } });
    const created = await bench.storage.create(keyOf('a'), object);
    if (object.metadata?.labels !== undefined) object.metadata.labels.a = '2';
    expect(created.object.metadata?.labels).toEqual({ a: '1' });
    expect(object.metadata).not.toHaveProperty('resourceVersion');
  });
});

describe('identityTransformer', () => {
  it('refuses to read what another transformer encrypted', () => {
    const bytes = new TextEncoder().encode('k8s:enc:aescbc:v1:key:xyz');
    expect(() => identityTransformer.fromStorage(bytes, '')).toThrow(
      'identity transformer tried to read encrypted data',
    );
    const plain = new TextEncoder().encode('k8s:en');
    expect(identityTransformer.fromStorage(plain, '')).toEqual({ bytes: plain, isStale: false });
    expect(identityTransformer.toStorage(bytes, '')).toBe(bytes);
  });
});

describe('changes of an ObjectStore', () => {
  it('decodes a write once for its writer and all watches, and leaves nothing behind', async () => {
    const { codec, ...options } = podStoreOptions(engine);
    let decodings = 0;
    const decode: typeof codec.decode = (bytes, revision) => {
      decodings += 1;
      return codec.decode(bytes, revision);
    };
    const storage = new ObjectStore<TestPod>({ ...options, codec: { ...codec, decode } });
    const seen: unknown[] = [];
    const sink = {
      onEvent: (event: StorageEvent<TestPod>) => void seen.push(event.type === 'BOOKMARK' ? event : event.stored),
      onEnd: () => undefined,
    };
    const after = await storage.currentResourceVersion();
    for (const labels of ['', 'app=x']) {
      storage.watch(root, { recursive: true, predicate: predicate({ labels }), resourceVersion: String(after) }, sink);
    }
    await settle();
    const written = await storage.create(keyOf('a'), podOf('a', { labels: { app: 'x' } }));
    await settle();
    expect(seen).toHaveLength(2);
    for (const stored of seen) expect(stored).toBe(written);
    expect(decodings).toBe(1);
    expect(await storage.get(keyOf('a'))).not.toBe(written);
    expect(decodings).toBe(2);
    await storage.close();
  });
});

describe('a get by who knows the object already', () => {
  const open = (transformer: Transformer) => new ObjectStore<TestPod>({ ...podStoreOptions(engine), transformer });

  it('returns the known object while the store still has it, and reads it otherwise', async () => {
    const storage = open(identityTransformer);
    const known = await storage.create(keyOf('a'), podOf('a'));
    expect(await storage.get(keyOf('a'))).not.toBe(known);
    expect(await storage.get(keyOf('a'), { known })).toBe(known);
    const newer = await storage.guaranteedUpdate(keyOf('a'), () => ({ object: podOf('a', { node: 'n1' }) }));
    const read = await storage.get(keyOf('a'), { known });
    expect([read?.revision, read?.object.spec?.nodeName]).toEqual([newer.revision, 'n1']);
    await storage.delete(keyOf('a'));
    expect(await storage.get(keyOf('a'), { known: newer })).toBeUndefined();
    await storage.close();
  });

  it('says at once that it is the newest, if the engine can tell, and reads nothing then', async () => {
    const asked: [string, number][] = [];
    const state = { newest: 0 };
    const knowing = Object.assign(engine, {
      isNewest: (key: string, revision: number) => {
        asked.push([key, revision]);
        return revision === state.newest;
      },
    });
    const storage = new ObjectStore<TestPod>({ ...podStoreOptions(knowing), transformer: identityTransformer });
    const known = await storage.create(keyOf('a'), podOf('a'));
    expect(storage.isNewest(known)).toBe(false);
    state.newest = known.revision;
    expect(storage.isNewest(known)).toBe(true);
    expect(asked).toEqual([
      [keyOf('a'), known.revision],
      [keyOf('a'), known.revision],
    ]);
    const gets = storage.inspect().requests.filter(({ operation }) => operation === 'get');
    expect(gets.map(({ durations, errors }) => [durations.count, errors])).toEqual([[1, 0]]);
    await storage.close();
    expect(storage.isNewest(known)).toBe(false);
  });

  it('never says so of what is encrypted, nor over an engine that cannot know', async () => {
    const plain = open(identityTransformer);
    const known = await plain.create(keyOf('a'), podOf('a'));
    expect(plain.isNewest(known)).toBe(false);
    Object.assign(engine, { isNewest: () => true });
    const encrypted = open({ ...identityTransformer });
    expect([plain.isNewest(known), encrypted.isNewest(known)]).toEqual([true, false]);
    await Promise.all([plain.close(), encrypted.close()]);
  });

  it('keeps to the requested version', async () => {
    const storage = open(identityTransformer);
    const known = await storage.create(keyOf('a'), podOf('a'));
    const resourceVersion = String(known.revision + 5);
    const error = await refusal(storage.get(keyOf('a'), { known, resourceVersion }));
    expect(error.message).toContain('Too large resource version');
    await storage.close();
  });

  it('reads an encrypted value, because its key may be gone', async () => {
    const storage = open({
      toStorage: (plain) => Buffer.concat([Buffer.from('k:'), plain]),
      fromStorage: (value) => ({ bytes: value.subarray(2), isStale: false }),
    });
    const known = await storage.create(keyOf('a'), podOf('a'));
    const read = await storage.get(keyOf('a'), { known });
    expect([read === known, read?.revision]).toEqual([false, known.revision]);
    await storage.close();
  });
});
