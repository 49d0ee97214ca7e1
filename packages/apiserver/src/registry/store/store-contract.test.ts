// Behaviour of every store, whatever its kind: texts of refusals, options passed on, times to live, fresh lists.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { UnstructuredObject } from '@kapstan/api';
import { forbidden } from '@kapstan/api/errors';
import type { StorageEvent } from '@kapstan/storage';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  configMap,
  type DefinitionChanges,
  refusal,
  StoreFixture,
  testContext,
  testDefinition,
  unconditionalStrategy,
} from '../../testing/store-fixture.ts';
import type { AdmissionControl } from './admission-control.ts';
import { GenericStore, type StoreHooks } from './generic-store.ts';
import { ResourceStack } from './resource-stack.ts';

let fixture: StoreFixture;
beforeEach(async () => {
  fixture = await StoreFixture.open(openLmdbEngine);
});
afterEach(() => fixture.close());

const creating = { ...unconditionalStrategy, allowCreateOnUpdate: true };
const put = (store: GenericStore<UnstructuredObject>, name: string, context = testContext()) =>
  store.update(context, { name, transform: () => configMap(name) });

/** Admission that refuses everything of one operation. */
const refusing = (operation: string): AdmissionControl => ({
  admit: async () => undefined,
  validates: () => true,
  validate: async (attributes) => {
    if (attributes.operation === operation) throw forbidden(attributes.resource, attributes.name, 'not this one');
  },
});

describe('a refusal', () => {
  it('names resource and group, of every verb', async () => {
    const store = fixture.store({ group: 'g.io', resource: 'widgets', kind: 'Widget' });
    const details = { group: 'g.io', kind: 'widgets', name: 'a' };
    const missing = [
      store.get(testContext(), 'a'),
      put(store, 'a'),
      store.delete(testContext(), 'a', {}),
      put(store, 'a', testContext({ dryRun: true })),
    ];
    for (const call of missing) {
      expect((await refusal(call)).status).toMatchObject({
        code: 404,
        message: 'widgets.g.io "a" not found',
        details,
      });
    }
    await store.create(testContext(), configMap('a'));
    const taken = await refusal(store.create(testContext(), configMap('a')));
    expect(taken.status).toMatchObject({ code: 409, reason: 'AlreadyExists', details });
  });

  it('for what is not there comes before anybody is asked about it', async () => {
    const store = fixture.store({}, { admission: refusing('UPDATE') });
    expect((await refusal(put(store, 'a'))).code).toBe(404);
    const withUid = { name: 'a', transform: () => configMap('a'), preconditions: { uid: 'u' } };
    expect((await refusal(store.update(testContext(), withUid))).code).toBe(404);
  });

  it('of a create keeps an update from creating', async () => {
    const store = fixture.store({ strategy: creating }, { admission: refusing('CREATE') });
    expect((await refusal(put(store, 'a'))).message).toBe('configmaps "a" is forbidden: not this one');
    expect((await refusal(store.create(testContext(), configMap('a')))).code).toBe(403);
    await expect(fixture.store().get(testContext(), 'a')).rejects.toThrow('not found');
  });
});

describe('an update that creates', () => {
  it('does so with the options of the update', async () => {
    const seen: unknown[] = [];
    const hooks = {
      managedFields: {
        onCreate: (_object: unknown, { context }: { context: { fieldManager: string; dryRun: boolean } }) =>
          void seen.push([context.fieldManager, context.dryRun]),
        onUpdate: () => undefined,
        afterAdmission: () => undefined,
      },
    } as unknown as StoreHooks;
    const store = fixture.store({ strategy: creating }, hooks);
    await put(store, 'a', testContext({ fieldManager: 'me', dryRun: true }));
    await expect(store.get(testContext(), 'a')).rejects.toThrow('not found');
    await put(store, 'a', testContext({ fieldManager: 'me' }));
    expect(seen).toEqual([
      ['me', true],
      ['me', false],
    ]);
  });
});

describe('the time that an object has to live', () => {
  it.each([
    [undefined, undefined],
    [0, undefined],
    [-1, 1],
    [3600, 3600],
  ])('is asked of the kind at each write: %s seconds are stored as %s', async (seconds, expected) => {
    const asked: boolean[] = [];
    const strategy = {
      ...unconditionalStrategy,
      ttlSeconds: (_object: unknown, isUpdate: boolean) => {
        asked.push(isUpdate);
        return seconds;
      },
    };
    const definition = testDefinition({ strategy });
    const storage = fixture.storage(definition);
    const given: unknown[] = [];
    const create = storage.create.bind(storage);
    storage.create = (key, object, options) => {
      given.push(options?.ttlSeconds);
      return create(key, object, options);
    };
    const update = storage.guaranteedUpdate.bind(storage);
    storage.guaranteedUpdate = (key, tryUpdate, options) =>
      update(
        key,
        async (existing, meta) => {
          const result = await tryUpdate(existing, meta);
          given.push(result.ttlSeconds);
          return result;
        },
        options,
      );
    const store = new GenericStore<UnstructuredObject>({ definition, storage, clock: fixture.clock });
    await store.create(testContext(), configMap('a'));
    await put(store, 'a');
    expect([asked, given]).toEqual([
      [false, true],
      [expected, expected],
    ]);
  });
});

describe('a list', () => {
  it('at a version that a cache has not reached waits for it', async () => {
    const stack = new ResourceStack(testDefinition(), { engine: fixture.engine });
    try {
      await stack.waitUntilReady();
      const { store } = stack.served;
      const { revision } = await store.create(testContext(), configMap('a'));
      let isAnswered = false;
      const list = store.list(testContext(), { resourceVersion: String(revision + 1) }).finally(() => {
        isAnswered = true;
      });
      for (let turn = 0; turn < 20; turn++) await nextTurn();
      expect(isAnswered).toBe(false);
      await store.create(testContext(), configMap('b'));
      expect((await list).items.map(({ object }) => object.metadata?.name)).toEqual(['a', 'b']);
    } finally {
      await stack.close();
    }
  });
});

describe('a watch of a kind that is decorated', () => {
  const decorated: DefinitionChanges = {
    decorate: (object) => {
      object.decorated = 'yes';
    },
  };

  it('decorates each event, passes errors on, and ends with its request', async () => {
    const definition = testDefinition(decorated);
    const storage = fixture.storage(definition);
    let isClosed = false;
    let send: { onEvent(event: StorageEvent<UnstructuredObject>): void; onEnd(error?: Error): void } | undefined;
    storage.watch = (_key, _options, sink) => {
      send = sink;
      return {
        close: () => {
          isClosed = true;
        },
      };
    };
    const store = new GenericStore<UnstructuredObject>({ definition, storage, clock: fixture.clock });
    const { revision } = await store.create(testContext(), configMap('a'));
    const seen: unknown[] = [];
    const abort = new AbortController();
    store.watch(
      testContext({ signal: abort.signal }),
      {},
      {
        onEvent: (event) =>
          void seen.push(event.type === 'BOOKMARK' ? event : [event.type, event.stored.object.decorated]),
        onEnd: (error) => void seen.push(error?.message),
      },
    );
    const stored = (await storage.get('/registry/configmaps/default/a'))!;
    const bookmark = { type: 'BOOKMARK', revision, initialEventsEnd: false } as const;
    for (const type of ['ADDED', 'MODIFIED', 'DELETED'] as const) send?.onEvent({ type, stored });
    send?.onEvent(bookmark);
    abort.abort();
    expect(isClosed).toBe(true);
    send?.onEnd(new Error('the store is gone'));
    expect(seen).toEqual([['ADDED', 'yes'], ['MODIFIED', 'yes'], ['DELETED', 'yes'], bookmark, 'the store is gone']);
    expect(stored.object).not.toHaveProperty('decorated');
  });
});
