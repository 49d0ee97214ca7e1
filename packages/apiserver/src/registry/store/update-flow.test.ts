import type { DeepReadonly, ObjectMeta, UnstructuredObject } from '@kapstan/api';
import { type ManagedFieldsEntry, runWhole } from '@kapstan/api/internal';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { configMap, refusal, StoreFixture, testContext, unconditionalStrategy } from '../../testing/store-fixture.ts';
import { bumpGenerationOnSpecChange, defaultStrategy, startGeneration } from '../definition/default-strategy.ts';
import type { UpdateRequest } from '../definition/resource-store.ts';
import type { MetadataOnUpdate } from '../definition/strategy.ts';
import type { AdmissionControl } from './admission-control.ts';
import type { GenericStore } from './generic-store.ts';

let fixture: StoreFixture;
beforeEach(async () => {
  fixture = await StoreFixture.open(openLmdbEngine);
});
afterEach(() => fixture.close());

type Store = GenericStore<UnstructuredObject>;

/** Makes a PUT of that body. */
const put = (store: Store, body: UnstructuredObject, more: Partial<UpdateRequest<UnstructuredObject>> = {}) =>
  store.update(testContext(), { name: body.metadata?.name ?? '', transform: () => structuredClone(body), ...more });

/** Makes a patch: the present object with changes. */
const change = (store: Store, name: string, edit: (object: UnstructuredObject) => void) =>
  store.update(testContext(), {
    name,
    transform: (present) => {
      if (present === undefined) throw new Error('absent');
      edit(present);
      return present;
    },
  });

const metaOf = (object: UnstructuredObject) => {
  object.metadata ??= {};
  return object.metadata;
};

const setMeta = (object: UnstructuredObject, fields: Partial<ObjectMeta>): void => {
  Object.assign(metaOf(object), fields);
};

describe('update', () => {
  it('replaces the object and keeps what only the server sets', async () => {
    const store = fixture.store();
    const created = await store.create(testContext(), configMap('a', { data: { k: '1' } }));
    await fixture.clock.advance(5000);
    const body = configMap('a', { metadata: { creationTimestamp: '2001-01-01T00:00:00Z' }, data: { k: '2' } });
    const { stored, created: isNew } = await put(store, body);
    expect(isNew).toBe(false);
    expect(stored.revision).toBeGreaterThan(created.revision);
    expect(stored.object).toEqual({
      ...created.object,
      metadata: { ...created.object.metadata, resourceVersion: String(stored.revision) },
      data: { k: '2' },
    });
  });

  it('writes nothing when nothing changes, whatever the order of the members', async () => {
    const store = fixture.store();
    const created = await store.create(testContext(), configMap('a', { data: { k: '1', l: '2' } }));
    const body = { data: { l: '2', k: '1' }, metadata: { labels: {}, name: 'a' }, kind: 'ConfigMap', apiVersion: 'v1' };
    expect((await put(store, body)).stored.revision).toBe(created.revision);
  });

  it('refuses a stale version', async () => {
    const store = fixture.store();
    const created = await store.create(testContext(), configMap('a'));
    const version = created.object.metadata?.resourceVersion ?? '';
    await put(store, configMap('a', { metadata: { resourceVersion: version }, data: { k: '1' } }));
    const body = configMap('a', { metadata: { resourceVersion: version }, data: { k: '2' } });
    expect((await refusal(put(store, body))).status).toMatchObject({
      code: 409,
      reason: 'Conflict',
      message:
        'Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the latest version and try again',
      details: { name: 'a', kind: 'configmaps' },
    });
  });

  it('refuses a version that is not a number with a 500, as Kubernetes does', async () => {
    const store = fixture.store();
    await store.create(testContext(), configMap('a'));
    const error = await refusal(put(store, configMap('a', { metadata: { resourceVersion: 'abc' } })));
    expect([error.code, error.message]).toEqual([500, 'strconv.ParseUint: parsing "abc": invalid syntax']);
  });

  it('wants a version where the kind does not go without', async () => {
    const store = fixture.store({ strategy: defaultStrategy, group: 'g.io', resource: 'widgets', kind: 'Widget' });
    await store.create(testContext(), configMap('w'));
    expect((await refusal(put(store, configMap('w')))).status).toMatchObject({
      code: 422,
      message:
        'widgets.g.io "w" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update',
      details: { name: 'w', group: 'g.io', kind: 'widgets' },
    });
  });

  it('answers 404 for what is not there, unless it may create', async () => {
    const store = fixture.store();
    const error = await refusal(put(store, configMap('a')));
    expect([error.code, error.message]).toEqual([404, 'configmaps "a" not found']);
    const { stored, created } = await put(store, configMap('a'), { forceAllowCreate: true });
    expect(created).toBe(true);
    expect(stored.object.metadata).toMatchObject({ name: 'a', namespace: 'default' });
    expect(stored.object.metadata?.uid).toBeDefined();
  });

  it('creates on update where the kind says so, with a fresh uid', async () => {
    const store = fixture.store({ strategy: { ...defaultStrategy, allowCreateOnUpdate: true } });
    const body = configMap('a', { metadata: { uid: 'mine', resourceVersion: '7' } });
    const { stored, created } = await put(store, body);
    expect(created).toBe(true);
    expect(stored.object.metadata?.uid).not.toBe('mine');
    expect((await refusal(put(store, configMap('b'), { preconditions: { uid: 'x' } }))).message).toBe(
      'Operation cannot be fulfilled on configmaps "b": StorageError: invalid object, Code: 4, Key: /registry/configmaps/default/b, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: x, UID in object meta: ',
    );
  });

  it('checks the uid of the body as a precondition', async () => {
    const store = fixture.store();
    const created = await store.create(testContext(), configMap('a'));
    const error = await refusal(put(store, configMap('a', { data: {} }), { preconditions: { uid: 'other' } }));
    expect([error.code, error.message]).toEqual([
      409,
      `Operation cannot be fulfilled on configmaps "a": StorageError: invalid object, Code: 4, Key: /registry/configmaps/default/a, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: other, UID in object meta: ${created.object.metadata?.uid}`,
    ]);
  });

  it('refuses another namespace', async () => {
    const store = fixture.store();
    await store.create(testContext(), configMap('a'));
    const error = await refusal(put(store, configMap('a', { metadata: { namespace: 'other' } })));
    expect([error.code, error.message]).toEqual([
      400,
      'the namespace of the provided object does not match the namespace sent on the request',
    ]);
  });

  it('changes nothing in a dry run and answers with the version it has', async () => {
    const store = fixture.store();
    const created = await store.create(testContext(), configMap('a', { data: { k: '1' } }));
    const request = { name: 'a', transform: () => configMap('a', { data: { k: '2' } }) };
    const { stored } = await store.update(testContext({ dryRun: true }), request);
    expect(stored.object.data).toEqual({ k: '2' });
    expect(stored.object.metadata?.resourceVersion).toBe(created.object.metadata?.resourceVersion);
    expect((await store.get(testContext(), 'a')).object.data).toEqual({ k: '1' });
  });

  it('computes a patch anew on the state that it is written over', async () => {
    const store = fixture.store();
    await store.create(testContext(), configMap('a', { data: { n: 0 } }));
    const increment = () =>
      change(store, 'a', (object) => {
        const data = object.data as { n: number };
        data.n++;
      });
    await Promise.all(Array.from({ length: 10 }, increment));
    expect((await store.get(testContext(), 'a')).object.data).toEqual({ n: 10 });
  });

  it('cannot change what is stored through the object that the transform gets', async () => {
    const store = fixture.store();
    await store.create(testContext(), configMap('a', { data: { k: '1' } }));
    const strategy = {
      ...unconditionalStrategy,
      validateUpdate: (_next: DeepReadonly<UnstructuredObject>, old: DeepReadonly<UnstructuredObject>) => {
        expect(old.data).toEqual({ k: '1' });
        return [];
      },
    };
    const edit = (present?: UnstructuredObject): UnstructuredObject => {
      (present?.data as Record<string, string>).k = '2';
      return present as UnstructuredObject;
    };
    await store.update(testContext(), { name: 'a', transform: edit, strategy });
  });
});

describe('what an update may not change', () => {
  const cases: readonly [string, (object: UnstructuredObject) => void, string][] = [
    ['uid', (object) => setMeta(object, { uid: 'x' }), 'metadata.uid: Invalid value: "x": field is immutable'],
    [
      'deletionTimestamp',
      (object) => setMeta(object, { deletionTimestamp: '2001-01-01T00:00:00Z' }),
      'metadata.deletionTimestamp: Invalid value: "2001-01-01T00:00:00Z": field is immutable',
    ],
    [
      'deletionGracePeriodSeconds',
      (object) => setMeta(object, { deletionGracePeriodSeconds: 3 }),
      'metadata.deletionGracePeriodSeconds: Invalid value: 3: field is immutable',
    ],
    ['name', (object) => setMeta(object, { name: 'b' }), 'metadata.name: Invalid value: "b": field is immutable'],
  ];

  it.each(cases)('%s: reported twice in the causes, once in the message', async (_field, edit, text) => {
    const store = fixture.store();
    await store.create(testContext(), configMap('a'));
    const error = await refusal(change(store, 'a', edit));
    expect([error.code, error.message]).toEqual([422, expect.stringMatching(/^ConfigMap "[ab]" is invalid: /)]);
    expect(error.message.endsWith(` is invalid: ${text}`)).toBe(true);
    expect(error.details?.causes).toHaveLength(2);
  });

  it('reports an error of labels once more where the kind validates the whole object again', async () => {
    const causes = async (updateMetadata: MetadataOnUpdate): Promise<number | undefined> => {
      const strategy = { ...unconditionalStrategy, updateMetadata };
      const store = fixture.store({ strategy, resource: `configmaps-${updateMetadata}` });
      await store.create(testContext(), configMap('a'));
      const error = await refusal(change(store, 'a', (object) => setMeta(object, { labels: { 'a b': 'c' } })));
      return error.details?.causes?.length;
    };
    // The generic code reports it twice: as a rule for metadata and as one for changed metadata.
    expect([await causes('none'), await causes('change'), await causes('whole'), await causes('both')]).toEqual([
      2, 3, 3, 4,
    ]);
  });

  it.each([
    ['change', 1],
    ['whole', 1],
    ['both', 2],
    ['none', 0],
  ] as const)(
    'tells of a finalizer without a domain where the kind looks at metadata: %s',
    async (updateMetadata, count) => {
      const strategy = { ...unconditionalStrategy, updateMetadata };
      const store = fixture.store({ strategy });
      await store.create(testContext(), configMap('a'));
      const edit = (object: UnstructuredObject): void =>
        setMeta(object, { finalizers: ['nodomain'], labels: { 'a b': 'c' } });
      const causes = (await refusal(change(store, 'a', edit))).details?.causes ?? [];
      expect(causes.filter((cause) => cause.field === 'metadata.finalizers[0]')).toHaveLength(count);
    },
  );

  it('the generation, which the strategy raises and nobody lowers', async () => {
    const strategy = {
      ...unconditionalStrategy,
      prepareForCreate: startGeneration,
      prepareForUpdate: (next: UnstructuredObject, old: DeepReadonly<UnstructuredObject>) =>
        runWhole(bumpGenerationOnSpecChange(next, old)),
    };
    const store = fixture.store({ strategy });
    const created = await store.create(testContext(), configMap('a', { spec: { n: 1 } }));
    expect(created.object.metadata?.generation).toBe(1);
    const meta = { generation: 99, labels: { a: 'b' } };
    const same = await put(store, configMap('a', { metadata: meta, spec: { n: 1 }, status: { x: 1 } }));
    expect(same.stored.object.metadata?.generation).toBe(1);
    const changed = await put(store, configMap('a', { spec: { n: 2 } }));
    expect(changed.stored.object.metadata?.generation).toBe(2);
    const lowering = {
      ...unconditionalStrategy,
      prepareForUpdate: (next: UnstructuredObject) => setMeta(next, { generation: 1 }),
    };
    const error = await refusal(put(store, configMap('a'), { strategy: lowering }));
    expect(error.message).toBe(
      'ConfigMap "a" is invalid: metadata.generation: Invalid value: 1: must not be decremented',
    );
  });

  it('finalizers of an object that is being deleted: none can be added', async () => {
    const store = fixture.store();
    await store.create(testContext(), configMap('a', { metadata: { finalizers: ['x.io/a'] } }));
    await store.delete(testContext(), 'a', {});
    const add = (object: UnstructuredObject): void => void metaOf(object).finalizers?.push('x.io/c', 'x.io/b');
    expect((await refusal(change(store, 'a', add))).message).toBe(
      'ConfigMap "a" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"x.io/b", "x.io/c"}',
    );
  });
});

describe('an update that takes the last finalizer off', () => {
  const deleted = async (store: Store): Promise<void> => {
    await store.create(testContext(), configMap('a', { metadata: { finalizers: ['x.io/a', 'x.io/b'] } }));
    await store.delete(testContext(), 'a', {});
  };

  it('removes the object and answers with what was sent', async () => {
    const released: string[] = [];
    const allocation = {
      create: async () => async () => undefined,
      update: async () => async () => undefined,
      release: async (object: DeepReadonly<UnstructuredObject>) => void released.push(object.metadata?.name ?? ''),
    };
    const store = fixture.store({ allocation });
    await deleted(store);
    const less = await change(store, 'a', (object) => setMeta(object, { finalizers: ['x.io/b'] }));
    const { stored, created } = await put(store, configMap('a', { data: { k: '3' } }));
    expect(created).toBe(false);
    expect(stored.revision).toBe(less.stored.revision);
    expect(stored.object).toMatchObject({ data: { k: '3' }, metadata: { deletionGracePeriodSeconds: 0 } });
    expect(stored.object.metadata?.finalizers).toBeUndefined();
    expect((await refusal(store.get(testContext(), 'a'))).code).toBe(404);
    expect(released).toEqual(['a']);
  });

  it('keeps it where the kind holds its deletion, and while grace is left', async () => {
    const holding = {
      ...unconditionalStrategy,
      holdsDeletion: (o: DeepReadonly<UnstructuredObject>) => o.held === true,
    };
    const store = fixture.store({ strategy: holding });
    await store.create(testContext(), configMap('a', { held: true, metadata: { finalizers: ['x.io/a'] } }));
    await store.delete(testContext(), 'a', {});
    await put(store, configMap('a', { held: true }));
    await expect(store.get(testContext(), 'a')).resolves.toBeDefined();
    await put(store, configMap('a', { held: false }));
    expect((await refusal(store.get(testContext(), 'a'))).code).toBe(404);

    const graceful = fixture.store({
      resource: 'pods',
      strategy: { ...unconditionalStrategy, gracePeriodSeconds: () => 30 },
    });
    await graceful.create(testContext(), configMap('p'));
    await graceful.delete(testContext(), 'p', {});
    await put(graceful, configMap('p', { spec: 1 }));
    await expect(graceful.get(testContext(), 'p')).resolves.toBeDefined();
  });

  it('is only tried in a dry run', async () => {
    const store = fixture.store();
    await deleted(store);
    await store.update(testContext({ dryRun: true }), { name: 'a', transform: () => configMap('a') });
    await expect(store.get(testContext(), 'a')).resolves.toBeDefined();
  });
});

describe('managed fields', () => {
  const entry = (time: string, k: string): ManagedFieldsEntry => ({
    manager: 'm',
    operation: 'Update',
    apiVersion: 'v1',
    time,
    fieldsType: 'FieldsV1',
    fieldsV1: { [`f:${k}`]: {} },
  });
  let entries: ManagedFieldsEntry[] = [];
  const managedFields = {
    onCreate: (object: UnstructuredObject) => setMeta(object, { managedFields: entries }),
    onUpdate: (next: UnstructuredObject) => setMeta(next, { managedFields: entries }),
  };

  it('with nothing but new times are no change', async () => {
    const store = fixture.store({}, { managedFields: managedFields as never });
    entries = [entry('2026-01-01T00:00:00Z', 'a')];
    const created = await store.create(testContext(), configMap('a'));
    entries = [entry('2026-01-01T00:00:09Z', 'a')];
    const same = await put(store, configMap('a'));
    expect(same.stored.revision).toBe(created.revision);
    entries = [entry('2026-01-01T00:00:09Z', 'b')];
    const other = await put(store, configMap('a'));
    expect(other.stored.revision).toBeGreaterThan(created.revision);
    expect(other.stored.object.metadata?.managedFields).toEqual(entries);
  });

  it('that the transform has written itself are taken as they are', async () => {
    const store = fixture.store({}, { managedFields: managedFields as never });
    entries = [entry('2026-01-01T00:00:00Z', 'a')];
    await store.create(testContext(), configMap('a'));
    const own = [entry('2026-01-01T00:00:01Z', 'own')];
    const body = configMap('a', { metadata: { managedFields: own } });
    const { stored } = await put(store, body, { managedFields: 'given' });
    expect(stored.object.metadata?.managedFields).toEqual(own);
  });

  it('stay as they are without a tracker', async () => {
    entries = [entry('2026-01-01T00:00:00Z', 'a')];
    await fixture.store({}, { managedFields: managedFields as never }).create(testContext(), configMap('a'));
    const { stored } = await put(fixture.store(), configMap('a', { data: { k: '1' } }));
    expect(stored.object.metadata?.managedFields).toEqual(entries);
  });
});

describe('the order of an update', () => {
  const recording = (steps: string[]): AdmissionControl => ({
    admit: async ({ operation, object, oldObject, subresource }) => {
      steps.push(
        `admit ${operation} ${subresource} ${JSON.stringify([oldObject?.metadata?.labels, object?.metadata?.labels])}`,
      );
    },
    validates: () => true,
    validate: async ({ operation, object }) => {
      steps.push(`validate ${operation} ${object?.metadata?.labels?.prepared ?? ''}`);
    },
  });

  it('admits what the client wants, and validates what would be written', async () => {
    const steps: string[] = [];
    const strategy = {
      ...unconditionalStrategy,
      prepareForUpdate: (next: UnstructuredObject) => {
        steps.push('prepare');
        next.metadata = { ...next.metadata, labels: { prepared: 'yes' } };
      },
      warningsOnUpdate: () => ['beware'],
    };
    const store = fixture.store({ strategy }, { admission: recording(steps) });
    await fixture.store().create(testContext(), configMap('a', { metadata: { labels: { old: '1' } } }));
    const context = testContext();
    await store.update(context, {
      name: 'a',
      subresource: 'status',
      transform: () => configMap('a', { metadata: { labels: { new: '1' } } }),
    });
    expect(steps).toEqual(['admit UPDATE status [{"old":"1"},{"new":"1"}]', 'prepare', 'validate UPDATE yes']);
    expect(context.warnings).toEqual(['beware']);
  });

  it('admits a create where the update creates', async () => {
    const steps: string[] = [];
    const strategy = { ...unconditionalStrategy, allowCreateOnUpdate: true };
    await put(fixture.store({ strategy }, { admission: recording(steps) }), configMap('a'));
    expect(steps).toEqual(['admit CREATE  [null,null]', 'validate CREATE ']);
  });

  it('ends when an admission refuses', async () => {
    const store = fixture.store();
    await store.create(testContext(), configMap('a', { data: { k: '1' } }));
    const admission: AdmissionControl = {
      admit: async () => undefined,
      validates: () => true,
      validate: async () => {
        throw new Error('no');
      },
    };
    await expect(put(fixture.store({}, { admission }), configMap('a'))).rejects.toThrow('no');
    expect((await store.get(testContext(), 'a')).object.data).toEqual({ k: '1' });
  });
});
