// The hooks of a definition around a write, in their order: Begin, Finish, After and Decorator of the Go library's store.
import type { DeepReadonly, UnstructuredObject } from '@kapstan/api';
import type { Stored } from '@kapstan/storage';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  configMap,
  type DefinitionChanges,
  StoreFixture,
  testContext,
  testDefinition,
  unconditionalStrategy,
} from '../../testing/store-fixture.ts';
import type { ResourceAllocation } from '../definition/resource-definition.ts';
import type { DeleteRequest } from '../definition/resource-store.ts';
import { GenericStore } from './generic-store.ts';

let fixture: StoreFixture;
let steps: string[];
beforeEach(async () => {
  fixture = await StoreFixture.open(openLmdbEngine);
  steps = [];
});
afterEach(() => fixture.close());

const nameOf = (object: DeepReadonly<UnstructuredObject>): string => object.metadata?.name ?? '';

/** Records each call; the stored object gets an annotation where one may still be set. */
const recording: ResourceAllocation<UnstructuredObject> = {
  create: async (_store, _context, object) => {
    steps.push(`begin create ${nameOf(object)}`);
    object.begun = 'create';
    return async (committed) => void steps.push(`finish create ${committed}`);
  },
  update: async (_store, _context, { next, old }) => {
    steps.push(`begin update ${String(old.data)} to ${String(next.data)}`);
    next.begun = 'update';
    return async (committed) => void steps.push(`finish update ${committed}`);
  },
  release: async (object) => void steps.push(`after delete ${nameOf(object)}`),
};

const refusing: ResourceAllocation<UnstructuredObject> = {
  ...recording,
  create: async () => {
    steps.push('refuse create');
    throw new Error('no address left');
  },
  update: async () => {
    steps.push('refuse update');
    throw new Error('no address left');
  },
};

const recordingDefinition = (changes: DefinitionChanges = {}): DefinitionChanges => ({
  allocation: recording,
  decorate: (object) => {
    steps.push('decorate');
    object.decorated = true;
  },
  ...changes,
});

/** Times to live are computed last before the write, so an error in them is the write's failure. */
const failing = (times: number) => {
  let left = times;
  return {
    ...unconditionalStrategy,
    allowCreateOnUpdate: true,
    ttlSeconds: () => {
      steps.push('ttl');
      if (left-- > 0) throw new Error('no time');
      return undefined;
    },
  };
};

const put = (store: GenericStore<UnstructuredObject>, data: string) =>
  store.update(testContext(), { name: 'a', transform: () => configMap('a', { data }) });

describe('the hooks of a create', () => {
  it('come in order: begin, write, finish, decorate; the first may change what is stored, the last only the answer', async () => {
    const { object } = await fixture.store(recordingDefinition()).create(testContext(), configMap('a'));
    expect(steps).toEqual(['begin create a', 'finish create true', 'decorate']);
    expect(object).toMatchObject({ begun: 'create', decorated: true });
    const { object: stored } = await fixture.store().get(testContext(), 'a');
    expect([stored.begun, stored.decorated]).toEqual(['create', undefined]);
  });

  it('end with finish(false) when the write fails, without a decoration', async () => {
    const store = fixture.store(recordingDefinition({ strategy: failing(1) }));
    await expect(store.create(testContext(), configMap('a'))).rejects.toThrow('no time');
    expect(steps).toEqual(['begin create a', 'ttl', 'finish create false']);
  });

  it('end at once when the first refuses: there is nothing to finish', async () => {
    const store = fixture.store(recordingDefinition({ allocation: refusing }));
    await expect(store.create(testContext(), configMap('a'))).rejects.toThrow('no address left');
    expect(steps).toEqual(['refuse create']);
  });
});

describe('the hooks of an update', () => {
  const created = async (changes: DefinitionChanges): Promise<GenericStore<UnstructuredObject>> => {
    await fixture.store().create(testContext(), configMap('a', { data: 'one' }));
    return fixture.store(recordingDefinition(changes));
  };

  it('come in order, and those of a create do not', async () => {
    const { stored } = await put(await created({}), 'two');
    expect(steps).toEqual(['begin update one to two', 'finish update true', 'decorate']);
    expect(stored.object).toMatchObject({ begun: 'update', decorated: true });
    expect((await fixture.store().get(testContext(), 'a')).object).not.toHaveProperty('decorated');
  });

  it('run for an update that changes nothing, too', async () => {
    const store = await created({});
    const { stored } = await put(store, 'two');
    steps = [];
    const again = await put(store, 'two');
    expect(steps).toEqual(['begin update two to two', 'finish update true', 'decorate']);
    expect(again.stored.revision).toBe(stored.revision);
  });

  it('do not run for a subresource, which changes nothing that is reserved', async () => {
    const store = await created({});
    const status = { subresource: 'status', strategy: unconditionalStrategy };
    await store.update(testContext(), { name: 'a', transform: () => configMap('a', { data: 'two' }), ...status });
    expect(steps).toEqual(['decorate']);
  });

  it('end at once when the first refuses', async () => {
    const store = await created({ allocation: refusing });
    await expect(put(store, 'two')).rejects.toThrow('no address left');
    expect(steps).toEqual(['refuse update']);
  });
});

describe('the hooks of an update that creates', () => {
  const store = (changes: DefinitionChanges) => fixture.store(recordingDefinition(changes));

  it('are those of a create', async () => {
    expect((await put(store({ strategy: failing(0) }), 'one')).created).toBe(true);
    expect(steps).toEqual(['begin create a', 'ttl', 'finish create true', 'decorate']);
  });

  it('end with finish(false) when the write fails', async () => {
    await expect(put(store({ strategy: failing(9) }), 'one')).rejects.toThrow('no time');
    expect(steps).toEqual(['begin create a', 'ttl', 'finish create false']);
  });

  it('end at once when the first refuses', async () => {
    const strategy = { ...unconditionalStrategy, allowCreateOnUpdate: true };
    await expect(put(store({ strategy, allocation: refusing }), 'one')).rejects.toThrow('no address left');
    expect(steps).toEqual(['refuse create']);
  });
});

describe('an update that begins with what a cache has, which is out of date', () => {
  /** Makes a store whose updates first get that state. */
  const stale = async (changes: DefinitionChanges): Promise<GenericStore<UnstructuredObject>> => {
    const cached = await fixture.store().create(testContext(), configMap('a', { data: 'old' }));
    await put(fixture.store(), 'new');
    return overCache(cached, recordingDefinition(changes));
  };
  const overCache = (cachedExisting: Stored<UnstructuredObject>, changes: DefinitionChanges) => {
    const definition = testDefinition(changes);
    const storage = fixture.storage(definition);
    const update = storage.guaranteedUpdate.bind(storage);
    storage.guaranteedUpdate = (key, tryUpdate, options) => update(key, tryUpdate, { ...options, cachedExisting });
    return new GenericStore<UnstructuredObject>({ definition, storage, clock: fixture.clock });
  };

  it('gives back what the failed attempt had reserved, and reserves anew', async () => {
    const store = await stale({ strategy: failing(1) });
    await put(store, 'mine');
    expect(steps).toEqual([
      'begin update old to mine',
      'ttl',
      'finish update false',
      'begin update new to mine',
      'ttl',
      'finish update true',
      'decorate',
    ]);
  });

  it('fails when the second attempt fails too, having given back both', async () => {
    const store = await stale({ strategy: failing(2) });
    await expect(put(store, 'mine')).rejects.toThrow('no time');
    expect(steps).toEqual([
      'begin update old to mine',
      'ttl',
      'finish update false',
      'begin update new to mine',
      'ttl',
      'finish update false',
    ]);
  });

  it('holds its precondition on the uid against the object that is there', async () => {
    const plain = fixture.store();
    const first = await plain.create(testContext(), configMap('a'));
    await plain.delete(testContext(), 'a', {});
    const { object } = await plain.create(testContext(), configMap('a', { data: 'again' }));
    const request = {
      name: 'a',
      transform: () => configMap('a', { data: 'two' }),
      preconditions: { uid: object.metadata?.uid ?? '' },
    };
    const { stored } = await overCache(first, {}).update(testContext(), request);
    expect(stored.object).toMatchObject({ data: 'two', metadata: { uid: object.metadata?.uid } });
  });

  it('does not remove what has a finalizer by now', async () => {
    const plain = fixture.store();
    const cached = await plain.create(testContext(), configMap('a'));
    const held = configMap('a', { metadata: { finalizers: ['x.io/f'] } });
    await plain.update(testContext(), { name: 'a', transform: () => held });
    const { deleted, stored } = await overCache(cached, {}).delete(testContext(), 'a', {});
    expect([deleted, stored?.object.metadata?.finalizers]).toEqual([false, ['x.io/f']]);
    await expect(plain.get(testContext(), 'a')).resolves.toBeDefined();
  });
});

describe('the hook after a deletion', () => {
  it('runs once the object is gone, not for one that is not there, nor for one that stays', async () => {
    const store = fixture.store(recordingDefinition());
    await expect(store.delete(testContext(), 'a', {})).rejects.toThrow('not found');
    for (const [name, finalizers] of [
      ['a', []],
      ['b', ['x.io/f']],
    ] as const) {
      await store.create(testContext(), configMap(name, { metadata: { finalizers: [...finalizers] } }));
    }
    steps = [];
    await store.delete(testContext({ dryRun: true }), 'a', {});
    expect(steps).not.toContain('after delete a');
    await store.delete(testContext(), 'a', {});
    await store.delete(testContext(), 'b', {});
    expect(steps.filter((step) => step !== 'decorate')).toEqual(['after delete a']);
  });

  it.each([true, false])('waits for the last finalizer (garbage collected: %s)', async (collectsGarbage) => {
    for (const strategy of [unconditionalStrategy, { ...unconditionalStrategy, gracePeriodSeconds: () => 0 }]) {
      const store = fixture.store(recordingDefinition({ strategy }), { collectsGarbage });
      const held = { metadata: { finalizers: ['x.io/f'], generation: 1 } };
      await store.create(testContext(), configMap('a', held));
      const { deleted, stored } = await store.delete(testContext(), 'a', { gracePeriodSeconds: 0 });
      expect(deleted).toBe(false);
      expect(stored?.object.metadata).toMatchObject({ deletionGracePeriodSeconds: 0, generation: 2 });
      await store.update(testContext(), { name: 'a', transform: () => configMap('a', held) });
      expect(steps).not.toContain('after delete a');
      await store.update(testContext(), { name: 'a', transform: () => configMap('a') });
      expect(steps.filter((step) => step === 'after delete a')).toHaveLength(1);
      await expect(store.get(testContext(), 'a')).rejects.toThrow('not found');
      steps = [];
    }
  });
});

it.each<readonly [about: string, request: DeleteRequest, warnings: readonly string[]]>([
  ['says nothing of dependents', {}, ['children stay']],
  ['says that they stay', { propagationPolicy: 'Orphan' }, []],
  ['says so in the old way', { orphanDependents: true }, []],
])('a kind may warn of a deletion that says nothing of dependents: one %s', async (_about, request, warnings) => {
  const store = fixture.store({ strategy: { ...unconditionalStrategy, deletionWarning: 'children stay' } });
  await store.create(testContext(), configMap('a'));
  const context = testContext();
  await store.delete(context, 'a', request);
  expect(context.warnings).toEqual(warnings);
});
