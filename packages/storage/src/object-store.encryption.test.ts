import { randomBytes } from 'node:crypto';
import { isInternalError, silentLogger } from '@kapstan/api';
import { settle, type TestPod, VirtualClock } from '@kapstan/api/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isStorageError } from './errors/storage-error.ts';
import { MemoryEngine } from './memory-engine.ts';
import { ObjectStore } from './object-store.ts';
import { FakeKeyService } from './testing/fake-key-service.ts';
import { keyOf, podOf, podStoreOptions, predicate, root } from './testing/storage-fixture.ts';
import { StorageRecorder } from './testing/storage-recorder.ts';
import { aesGcmTransformer } from './transform/aes-transformers.ts';
import { DataKey } from './transform/data-key.ts';
import { EnvelopeTransformer } from './transform/envelope-transformer.ts';
import { prefixTransformer } from './transform/prefix-transformer.ts';
import { identityTransformer, type Transformer } from './transform/transformer.ts';

let clock: VirtualClock;
let engine: MemoryEngine;
let service: FakeKeyService;
let closers: (() => unknown)[];

beforeEach(() => {
  clock = new VirtualClock();
  engine = new MemoryEngine({ clock });
  service = new FakeKeyService();
  closers = [() => engine.close()];
});
afterEach(async () => {
  for (const close of closers.reverse()) await close();
  expect(clock.pendingTimers, 'timers left behind (I9)').toBe(0);
});

function store(transformer: Transformer): ObjectStore<TestPod> {
  const storage = new ObjectStore<TestPod>({ ...podStoreOptions(engine), transformer });
  closers.push(() => storage.close());
  return storage;
}

/** Returns the store of a server that has just started: it has its own seed and no key of another server. */
async function server(): Promise<ObjectStore<TestPod>> {
  const dataKey = new DataKey({ providerName: 'kms', service, clock, logger: silentLogger });
  closers.push(() => dataKey.close());
  await dataKey.start();
  const envelope = new EnvelopeTransformer({ providerName: 'kms', dataKey, service, clock, logger: silentLogger });
  return store(
    prefixTransformer([{ prefix: 'k8s:enc:kms:v2:kms:', transformer: envelope }], 'no matching prefix found'),
  );
}

const key = keyOf('a');
const names = async (storage: ObjectStore<TestPod>): Promise<unknown[]> => {
  const list = await storage.getList(`${root}/`, { predicate: predicate(), recursive: true });
  return list.items.map(({ object }) => object.metadata?.name);
};

describe('an ObjectStore whose keys come from a key service', () => {
  beforeEach(async () => {
    await (await server()).create(key, podOf('a'));
  });

  it.each<[string, (storage: ObjectStore<TestPod>) => Promise<unknown>]>([
    ['get', async (storage) => (await storage.get(key))?.object.metadata?.name],
    ['list', async (storage) => (await names(storage))[0]],
    [
      'list of one',
      async (storage) => {
        const list = await storage.getList(key, { predicate: predicate(), recursive: false });
        return list.items[0]?.object.metadata?.name;
      },
    ],
    [
      'update',
      async (storage) => {
        const update = (pod: TestPod | undefined) => ({ object: { ...podOf('a'), ...pod, spec: { nodeName: 'n' } } });
        return (await storage.guaranteedUpdate(key, update)).object.metadata?.name;
      },
    ],
    ['delete', async (storage) => (await storage.delete(key)).object.metadata?.name],
    [
      'watch of the present state',
      async (storage) => {
        const recorder = StorageRecorder.start(storage, `${root}/`, { predicate: predicate(), recursive: true });
        const [change] = await recorder.received(1);
        recorder.close();
        return /^ADDED (\w+)@/.exec(change ?? '')?.[1];
      },
    ],
  ])('fetches the key of another server for a %s', async (_what, read) => {
    expect(await read(await server())).toBe('a');
    expect(service.calls.filter((call) => call.startsWith('decrypt'))).toEqual(['decrypt key-1']);
  });

  it("retries an update on another writer's state, sealed under a key that it does not know", async () => {
    const [one, two] = [await server(), await server()];
    let round = 0;
    const label = (value: string) => (pod: TestPod | undefined) => ({
      object: {
        ...podOf('a'),
        ...pod,
        metadata: { ...pod?.metadata, labels: { ...pod?.metadata?.labels, [value]: '1' } },
      },
    });
    const updated = await one.guaranteedUpdate(key, async (pod) => {
      if (round++ === 0) await two.guaranteedUpdate(key, label('two'));
      return label('one')(pod);
    });
    expect(updated.object.metadata?.labels).toEqual({ one: '1', two: '1' });
  });

  it('reports a key that cannot be had as a corrupt object, and lets it be deleted by force only', async () => {
    const storage = await server();
    service.failure = new Error('no such key');
    const error = await storage.get(key).catch((reason: unknown) => reason);
    expect(isStorageError(error, 'Corrupt')).toBe(true);
    expect((error as Error).message).toContain(
      'data from the storage is not transformable revision=2: failed to decrypt DEK, error: no such key',
    );
    await expect(storage.delete(key)).rejects.toSatisfy((reason) => isStorageError(reason, 'Corrupt'));
    await storage.deleteUnreadable(key);
    expect(await storage.get(key)).toBeUndefined();
  });
});

describe('a watch whose keys come from a key service', () => {
  let open: () => void;
  let ours: ObjectStore<TestPod>;
  let theirs: ObjectStore<TestPod>;
  let recorder: StorageRecorder<TestPod>;

  async function watch(labels = ''): Promise<void> {
    [ours, theirs] = [await server(), await server()];
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    service.beforeDecrypt = () => opened;
    recorder = StorageRecorder.start(ours, `${root}/`, {
      predicate: predicate({ labels }),
      recursive: true,
      resourceVersion: '1',
      progressNotify: true,
    });
    closers.push(() => recorder.verify());
    closers.push(() => recorder.close());
    await settle();
  }

  it('keeps the order of events, progress and its end while it fetches one', async () => {
    await watch();
    await theirs.create(keyOf('a'), podOf('a'));
    await ours.create(keyOf('b'), podOf('b'));
    await ours.requestWatchProgress();
    await settle();
    expect(recorder.events).toEqual([]);
    open();
    await recorder.until(() => recorder.events.length === 3);
    expect(recorder.changes).toEqual(['ADDED a@2', 'ADDED b@3']);
    expect(recorder.bookmarks).toEqual([3]);
    await ours.create(keyOf('c'), podOf('c'));
    expect(recorder.changes.at(-1), 'at once, now that nothing waits').toBe('ADDED c@4');
  });

  it('fetches the key of the previous state when that decides or is shown', async () => {
    await watch('x=1');
    open();
    await theirs.create(keyOf('a'), podOf('a', { labels: { x: '1' } }));
    await theirs.create(keyOf('b'), podOf('b', { labels: { x: '1' } }));
    await recorder.received(2);
    await ours.guaranteedUpdate(keyOf('a'), () => ({ object: podOf('a') }));
    await ours.delete(keyOf('b'));
    expect(await recorder.received(4)).toEqual(['ADDED a@2', 'ADDED b@3', 'DELETED a@4', 'DELETED b@5']);
  });

  it('delivers nothing after it was closed', async () => {
    await watch();
    await theirs.create(keyOf('a'), podOf('a'));
    recorder.close();
    open();
    await settle();
    expect(recorder.events).toEqual([]);
  });

  it('ends with an InternalError when the key cannot be had', async () => {
    await watch();
    service.beforeDecrypt = () => Promise.reject(new Error('no such key'));
    await theirs.create(keyOf('a'), podOf('a'));
    const error = await recorder.ended();
    expect(isInternalError(error)).toBe(true);
    expect(error?.message).toContain('failed to decrypt DEK, error: no such key');
  });
});

describe('an ObjectStore whose keys are rotated', () => {
  const [one, two] = [aesGcmTransformer(randomBytes(32)), aesGcmTransformer(randomBytes(32))];
  const ring = (...keys: readonly (readonly [string, Transformer])[]): ObjectStore<TestPod> =>
    store(
      prefixTransformer(
        keys.map(([prefix, transformer]) => ({ prefix, transformer })),
        'no matching prefix found',
      ),
    );
  const stored = async (): Promise<string> => Buffer.from((await engine.get(key)).kv?.value ?? []).toString('latin1');
  const unchanged = (pod: TestPod | undefined) => ({ object: pod ?? podOf('a') });

  it('writes an object anew when it is updated without a change, once', async () => {
    const created = await ring(['k8s:enc:1:', one]).create(key, podOf('a'));
    const storage = ring(['k8s:enc:2:', two], ['k8s:enc:1:', one]);
    const rewritten = await storage.guaranteedUpdate(key, unchanged);
    expect(rewritten.revision).toBeGreaterThan(created.revision);
    expect(await stored()).toMatch(/^k8s:enc:2:/);
    expect((await storage.guaranteedUpdate(key, unchanged)).revision).toBe(rewritten.revision);
    expect((await ring(['k8s:enc:2:', two]).get(key))?.object.metadata?.name, 'without the old key').toBe('a');
  });

  it('finds out that the key is old also when the update begins with a cached object', async () => {
    const cachedExisting = await ring(['k8s:enc:1:', one]).create(key, podOf('a'));
    const storage = ring(['k8s:enc:2:', two], ['k8s:enc:1:', one]);
    await storage.guaranteedUpdate(key, unchanged, { cachedExisting });
    expect(await stored()).toMatch(/^k8s:enc:2:/);
  });

  it('encrypts what was in the clear, and decrypts again', async () => {
    await ring(['', identityTransformer]).create(key, podOf('a'));
    expect(await stored()).toMatch(/^\{/);
    await ring(['k8s:enc:1:', one], ['', identityTransformer]).guaranteedUpdate(key, unchanged);
    expect(await stored()).toMatch(/^k8s:enc:1:/);
    await ring(['', identityTransformer], ['k8s:enc:1:', one]).guaranteedUpdate(key, unchanged);
    expect(await stored()).toMatch(/^\{/);
  });

  it('reports an object whose key is gone, binds values to their keys, and shows no data in errors', async () => {
    const full = ring(['k8s:enc:1:', one]);
    await full.create(key, podOf('secret-name'));
    const message = 'data from the storage is not transformable revision=2: no matching prefix found';
    const error = (await ring(['k8s:enc:2:', two])
      .get(key)
      .catch((reason: unknown) => reason)) as Error;
    expect(error.message).toBe(
      `StorageError: corrupt object, Code: 7, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: ${message}`,
    );
    const value = (await engine.get(key)).kv?.value ?? new Uint8Array();
    await engine.commit({ key: keyOf('moved'), expectedRevision: 0 as never, change: { type: 'put', value } });
    const moved = (await full.get(keyOf('moved')).catch((reason: unknown) => reason)) as Error;
    expect(moved.message).toContain('cipher: message authentication failed');
    expect(`${error.stack}${moved.stack}`).not.toContain('secret-name');
  });
});
