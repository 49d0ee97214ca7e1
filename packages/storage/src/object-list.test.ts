// Lists that meet corrupt objects and other errors.
import type { StatusError } from '@kapstan/api';
import { type TestPod, VirtualClock } from '@kapstan/api/testing';
import { describe, expect, it } from 'vitest';
import { MemoryEngine } from './memory-engine.ts';
import { ObjectStore } from './object-store.ts';
import { keyOf, podStoreOptions, predicate, root, StorageBench } from './testing/storage-fixture.ts';

/** Reading an object whose name begins with "odd" fails with an error other than corruption. */
const bench = new StorageBench(async () => {
  const clock = new VirtualClock();
  const engine = new MemoryEngine({ clock });
  const { codec, ...options } = podStoreOptions(engine);
  const wireJson = (bytes: Uint8Array): Uint8Array | undefined => {
    if (Buffer.from(bytes).includes('"name":"odd')) throw new TypeError('out of order');
    return undefined;
  };
  const storage = new ObjectStore<TestPod>({ ...options, codec: { ...codec, wireJson } });
  const dispose = async (): Promise<void> => {
    await storage.close();
    await engine.close();
  };
  return { storage, engine, clock, isCached: false, dispose };
});

/** Stores an object that cannot be created normally, because it cannot be read. */
async function put(name: string): Promise<void> {
  await bench.create('source');
  await bench.overwrite(name, (await bench.rawText('source')).replace('"name":"source"', `"name":"${name}"`));
  await bench.remove('source');
}

const refusal = (): Promise<StatusError> =>
  bench.storage.getList(root, { predicate: predicate(), recursive: true }).then(
    () => expect.fail('was not refused'),
    (error) => error,
  );

describe('a list', () => {
  it('passes on an error of another kind as it is when no corrupt object came before', async () => {
    await put('odd');
    await bench.overwrite('z', 'garbage');
    const error = await refusal();
    expect(error).toBeInstanceOf(TypeError);
    expect(error.message).toBe('out of order');
  });

  it('stops at an error of another kind, and reports it with the corrupt objects before it', async () => {
    await bench.overwrite('a', 'garbage');
    await bench.overwrite('b', 'garbage');
    await put('odd');
    await bench.overwrite('z', 'garbage');
    const error = await refusal();
    expect([error.code, error.reason]).toEqual([500, 'StorageReadError']);
    expect(error.message).toMatch(/ \(and 2 more\)$/);
    expect(error.details?.causes?.map(({ field, message }) => field ?? message)).toEqual([
      keyOf('a'),
      keyOf('b'),
      'out of order',
    ]);
  });

  it('reads no further than the 100th of many corrupt objects', async () => {
    await Promise.all(Array.from({ length: 150 }, (_, i) => bench.overwrite(`p${i}`, 'garbage')));
    const error = await refusal();
    expect(error.message).toMatch(/ \(and 99 more\)$/);
    expect(error.details?.causes?.map(({ reason }) => reason)).toEqual([
      ...Array.from({ length: 100 }, () => 'UnexpectedServerResponse'),
      'FieldValueTooMany',
    ]);
  });

  it('reads all its pages at the revision of the first, whatever is written meanwhile', async () => {
    await bench.createAll('a', 'b', 'c', 'd');
    const before = await bench.create('e', { labels: { rare: 'yes' } });
    const engine = bench.engine as MemoryEngine;
    let pages = 0;
    engine.beforeOperation = async (operation) => {
      if (operation !== 'range' || ++pages !== 2) return;
      await bench.update('e', { labels: {} });
      await bench.create('d2', { labels: { rare: 'yes' } });
    };
    const list = await bench.list({ labels: 'rare=yes', limit: 2 });
    expect(pages).toBeGreaterThan(1);
    expect(list.items.map(({ key, revision }) => [key, revision])).toEqual([[keyOf('e'), before.revision]]);
    expect(list.resourceVersion).toBe(String(before.revision));
  });
});
