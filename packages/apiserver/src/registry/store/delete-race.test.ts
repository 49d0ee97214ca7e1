// Deletions during other writes, and deletions of unreadable objects.
import type { UnstructuredObject } from '@kapstan/api';
import { forbidden } from '@kapstan/api/errors';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  configMap,
  refusal,
  StoreFixture,
  testContext,
  testDefinition,
  unconditionalStrategy,
} from '../../testing/store-fixture.ts';
import type { AdmissionControl } from './admission-control.ts';
import { GenericStore } from './generic-store.ts';

let fixture: StoreFixture;
beforeEach(async () => {
  fixture = await StoreFixture.open(openLmdbEngine);
});
afterEach(() => fixture.close());

type Store = GenericStore<UnstructuredObject>;

describe('a deletion that is asked about while somebody writes', () => {
  const labelled = (plain: Store) =>
    plain.update(testContext(), {
      name: 'a',
      transform: (present) => ({ ...present, metadata: { ...present?.metadata, labels: { changed: 'yes' } } }),
    });

  it.each([
    [false, ['x.io/f']],
    [true, []],
  ])('asks again with what was written (removed: %s)', async (isRemoved, finalizers) => {
    const plain = fixture.store();
    const seen: unknown[] = [];
    const admission: AdmissionControl = {
      admit: async () => undefined,
      validates: () => true,
      validate: async ({ oldObject }) => {
        seen.push(oldObject?.metadata?.labels?.changed);
        if (seen.length === 1) await labelled(plain);
      },
    };
    await plain.create(testContext(), configMap('a', { metadata: { finalizers } }));
    const { deleted } = await fixture.store({}, { admission }).delete(testContext(), 'a', {});
    expect([deleted, seen]).toEqual([isRemoved, [undefined, 'yes']]);
  });

  it('fails when what was written is not to be deleted', async () => {
    const plain = fixture.store();
    const admission: AdmissionControl = {
      admit: async () => undefined,
      validates: () => true,
      validate: async ({ oldObject, resource, name }) => {
        if (oldObject?.metadata?.labels?.changed === 'yes') throw forbidden(resource, name, 'it has changed');
        await labelled(plain);
      },
    };
    await plain.create(testContext(), configMap('a'));
    const error = await refusal(fixture.store({}, { admission }).delete(testContext(), 'a', {}));
    expect(error.message).toBe('configmaps "a" is forbidden: it has changed');
    await expect(plain.get(testContext(), 'a')).resolves.toBeDefined();
  });

  it('holds a precondition on the version against the write', async () => {
    const plain = fixture.store();
    const { object } = await plain.create(testContext(), configMap('a', { metadata: { finalizers: ['x.io/f'] } }));
    const admission: AdmissionControl = {
      admit: async () => void (await labelled(plain)),
      validates: () => false,
      validate: async () => undefined,
    };
    const preconditions = { resourceVersion: object.metadata?.resourceVersion ?? '' };
    const error = await refusal(fixture.store({}, { admission }).delete(testContext(), 'a', { preconditions }));
    expect([error.code, error.reason]).toEqual([409, 'Conflict']);
    const { object: present } = await plain.get(testContext(), 'a');
    expect(present.metadata?.deletionTimestamp).toBeUndefined();
  });

  it('is content when somebody else removes the object after the last time was over', async () => {
    const plain = fixture.store();
    const strategy = { ...unconditionalStrategy, gracePeriodSeconds: () => 0 };
    await plain.create(testContext(), configMap('a'));
    let asked = 0;
    const admission: AdmissionControl = {
      admit: async () => {
        asked++;
        // The mark is written, but the kubelet removes the object first.
        if (asked === 2) await plain.delete(testContext(), 'a', {});
      },
      validates: () => false,
      validate: async () => undefined,
    };
    const { deleted, stored } = await fixture.store({ strategy }, { admission }).delete(testContext(), 'a', {});
    expect([deleted, stored?.object.metadata?.deletionGracePeriodSeconds, asked]).toEqual([true, 0, 2]);
  });
});

describe('an update that takes the last finalizer off while somebody removes the object', () => {
  it('is a success: it is gone, as was asked', async () => {
    const definition = testDefinition();
    const storage = fixture.storage(definition);
    const store = new GenericStore<UnstructuredObject>({ definition, storage, clock: fixture.clock });
    await store.create(testContext(), configMap('a', { metadata: { finalizers: ['x.io/f'] } }));
    await store.delete(testContext(), 'a', {});
    const remove = storage.delete.bind(storage);
    storage.delete = async (key, options) => {
      await remove(key);
      return remove(key, options);
    };
    const { stored, created } = await store.update(testContext(), {
      name: 'a',
      transform: () => configMap('a', { data: { k: '1' } }),
    });
    expect([stored.object.data, created]).toEqual([{ k: '1' }, false]);
    await expect(store.get(testContext(), 'a')).rejects.toThrow('not found');
  });
});

describe('the deletion of what cannot be read', () => {
  const unsafe = { ignoreStoreReadErrorWithClusterBreakingPotential: true };
  const key = '/registry/configmaps/default/bad';
  const corrupt = async (): Promise<void> => {
    const value = new TextEncoder().encode('{');
    await fixture.engine.commit({ key, expectedRevision: 0 as never, change: { type: 'put', value } });
  };

  it('fails with 500 unless it is asked for in so many words', async () => {
    await corrupt();
    const store = fixture.store();
    for (const request of [{}, { ignoreStoreReadErrorWithClusterBreakingPotential: false }]) {
      expect((await refusal(store.delete(testContext(), 'bad', request))).code).toBe(500);
    }
    expect((await fixture.engine.get(key)).kv).toBeDefined();
    expect(await store.delete(testContext(), 'bad', unsafe)).toEqual({ deleted: true });
    expect((await fixture.engine.get(key)).kv).toBeUndefined();
  });

  it('asks no admission, and releases nothing: nobody knows what it was', async () => {
    await corrupt();
    const asked: string[] = [];
    const admission: AdmissionControl = {
      admit: async ({ name }) => void asked.push(name),
      validates: () => true,
      validate: async () => {
        throw new Error('admission was not skipped');
      },
    };
    const allocation = {
      create: async () => async () => undefined,
      update: async () => async () => undefined,
      release: async () => void asked.push('release'),
    };
    const store = fixture.store({ allocation }, { admission });
    expect(await store.delete(testContext(), 'bad', unsafe)).toEqual({ deleted: true });
    expect(asked).toEqual([]);
  });

  it('is refused for what can be read, in words that name the option, and 404 for what is not there', async () => {
    const store = fixture.store();
    await store.create(testContext(), configMap('good'));
    const error = await refusal(store.delete(testContext(), 'good', unsafe));
    expect([error.code, error.message]).toEqual([409, expect.stringContaining('good')]);
    await expect(store.get(testContext(), 'good')).resolves.toBeDefined();
    expect((await refusal(store.delete(testContext(), 'none', unsafe))).code).toBe(404);
  });

  it('is not done when reading fails for another reason', async () => {
    const store = fixture.store();
    await store.create(testContext(), configMap('good'));
    const get = fixture.engine.get.bind(fixture.engine);
    fixture.engine.get = async () => {
      throw new Error('unexpected error');
    };
    await expect(store.delete(testContext(), 'good', {})).rejects.toThrow('unexpected error');
    await expect(store.delete(testContext(), 'good', unsafe)).rejects.toThrow('unexpected error');
    fixture.engine.get = get;
    await expect(store.get(testContext(), 'good')).resolves.toBeDefined();
  });

  it('is only played in a dry run', async () => {
    await corrupt();
    expect(await fixture.store().delete(testContext({ dryRun: true }), 'bad', unsafe)).toEqual({ deleted: true });
    expect((await fixture.engine.get(key)).kv).toBeDefined();
  });
});
