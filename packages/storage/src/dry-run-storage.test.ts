import type { Revision } from '@kapstan/api';
import { forbidden } from '@kapstan/api/errors';
import type { TestPod } from '@kapstan/api/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { DryRunStorage } from './dry-run-storage.ts';
import { isStorageError } from './errors/storage-error.ts';
import { MemoryEngine } from './memory-engine.ts';
import { ObjectStore } from './object-store.ts';
import type { Storage, StorageCallOptions } from './storage.ts';
import { Stored } from './stored.ts';
import { keyOf, podOf, podStoreOptions, predicate, root } from './testing/storage-fixture.ts';

describe('DryRunStorage', () => {
  let engine: MemoryEngine;
  let store: ObjectStore<TestPod>;
  let dry: DryRunStorage<TestPod>;
  beforeEach(() => {
    engine = new MemoryEngine();
    store = new ObjectStore(podStoreOptions(engine));
    dry = new DryRunStorage(store);
  });
  const key = keyOf('a');
  const code = (expected: 'KeyExists' | 'KeyNotFound' | 'InvalidObject') =>
    expect.toSatisfy((error: unknown) => isStorageError(error, expected));

  it('returns what a create would store, without a version, and stores nothing', async () => {
    const object = podOf('a');
    const created = await dry.create(key, object);
    expect(created.object).toEqual(object);
    expect(created.object).not.toBe(object);
    expect(created.object.metadata).not.toHaveProperty('resourceVersion');
    expect(await store.get(key)).toBeUndefined();
  });

  it('refuses a create as a real one would be', async () => {
    await store.create(key, podOf('a'));
    await expect(dry.create(key, podOf('a'))).rejects.toEqual(code('KeyExists'));
    const versioned = { ...podOf('b'), metadata: { name: 'b', resourceVersion: '5' } };
    await expect(dry.create(keyOf('b'), versioned)).rejects.toThrow('resourceVersion should not be set');
  });

  it('returns what an update would store, at the version before it, and writes nothing', async () => {
    const before = await store.create(key, podOf('a'));
    const updated = await dry.guaranteedUpdate(key, (existing, meta) => {
      expect(meta.revision).toBe(before.revision);
      expect(existing).toEqual(before.object);
      return { object: podOf('a', { node: 'n1' }) };
    });
    expect(updated.object.spec?.nodeName).toBe('n1');
    expect(updated.object.metadata?.resourceVersion).toBe(String(before.revision));
    expect((await store.get(key))?.object).toEqual(before.object);
    expect(await engine.currentRevision()).toBe(before.revision);
  });

  it('refuses an update of a missing object, or creates it in play', async () => {
    await expect(dry.guaranteedUpdate(key, () => ({ object: podOf('a') }))).rejects.toEqual(code('KeyNotFound'));
    const created = await dry.guaranteedUpdate(key, () => ({ object: podOf('a') }), { ignoreNotFound: true });
    expect(created.object.metadata?.name).toBe('a');
    expect(await store.get(key)).toBeUndefined();
  });

  it('holds preconditions of updates and deletes', async () => {
    await store.create(key, podOf('a'));
    const preconditions = { uid: 'other' };
    const update = dry.guaranteedUpdate(key, () => ({ object: podOf('a') }), { preconditions });
    await expect(update).rejects.toEqual(code('InvalidObject'));
    await expect(dry.delete(key, { preconditions })).rejects.toEqual(code('InvalidObject'));
  });

  it('shows keys in failed preconditions without the prefix of all keys', async () => {
    await store.create(key, podOf('a'));
    const preconditions = { uid: 'other' };
    const within = new DryRunStorage(store, { keyPrefix: '/registry' });
    const shown = { key: key.replace('/registry', '') };
    await expect(within.delete(key, { preconditions })).rejects.toMatchObject(shown);
    const update = within.guaranteedUpdate(key, () => ({ object: podOf('a') }), { preconditions });
    await expect(update).rejects.toMatchObject(shown);
    await expect(dry.delete(key, { preconditions })).rejects.toMatchObject({ key });
  });

  it('returns what a delete would remove and removes nothing', async () => {
    await expect(dry.delete(key)).rejects.toEqual(code('KeyNotFound'));
    const created = await store.create(key, podOf('a'));
    expect((await dry.delete(key)).object).toEqual(created.object);
    const validateDeletion = (): never => {
      throw forbidden({ group: '', resource: 'pods' }, 'a', 'no');
    };
    await expect(dry.delete(key, { validateDeletion })).rejects.toThrow('pods "a" is forbidden: no');
    expect(await store.get(key)).toBeDefined();
  });

  it('plays the unsafe deletion of a corrupt object, and refuses it for a readable one', async () => {
    await store.create(key, podOf('a'));
    await expect(dry.deleteUnreadable(key)).rejects.toEqual(code('InvalidObject'));
    const { kv } = await engine.get(key);
    const change = { type: 'put', value: new TextEncoder().encode('garbage') } as const;
    await engine.commit({ key, expectedRevision: kv?.modRevision ?? (0 as never), change });
    expect(await dry.deleteUnreadable(key)).toBe(0);
    expect((await engine.get(key)).kv).toBeDefined();
  });

  it('passes reads on', async () => {
    const created = await store.create(key, podOf('a'));
    expect((await dry.get(key))?.object).toEqual(created.object);
    expect((await dry.getList(root, { predicate: predicate(), recursive: true })).items).toHaveLength(1);
    expect(await dry.stats()).toEqual(await store.stats());
    expect(await dry.currentResourceVersion()).toBe(created.revision);
    expect([dry.readiness(), dry.supportsProgressRequests, dry.compactRevision()]).toEqual([undefined, true, 0]);
  });
});

type OptionalMember<T> = { [Name in keyof T]-?: undefined extends T[Name] ? Name : never }[keyof T];

describe('an optional member of a storage', () => {
  const known = new Stored<TestPod>(keyOf('a'), 3 as Revision, podOf('a'));
  const calls: Readonly<Record<OptionalMember<Storage<TestPod>>, readonly [Stored<TestPod>, StorageCallOptions]>> = {
    isNewest: [known, { auditId: 'id' }],
  };

  it.each(Object.entries(calls))('%s is asked of the storage below a dry run', (name, given) => {
    const seen: unknown[] = [];
    const below = {
      [name]: (...args: unknown[]) => {
        seen.push(args);
        return true;
      },
    } as unknown as Storage<TestPod>;
    const dry = new DryRunStorage(below);
    expect(dry[name as keyof typeof calls](...given)).toBe(true);
    expect(seen).toEqual([given]);
  });

  it.each(Object.entries(calls))('%s means nothing over a storage without it', (name, given) => {
    const dry = new DryRunStorage({} as Storage<TestPod>);
    expect(dry[name as keyof typeof calls](...given)).toBe(false);
  });
});
