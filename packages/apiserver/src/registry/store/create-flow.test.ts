import type { UnstructuredObject } from '@kapstan/api';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { configMap, refusal, StoreFixture, testContext, unconditionalStrategy } from '../../testing/store-fixture.ts';
import type { AdmissionControl } from './admission-control.ts';

let fixture: StoreFixture;
beforeEach(async () => {
  fixture = await StoreFixture.open(openLmdbEngine);
});
afterEach(() => fixture.close());

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe('create', () => {
  it('fills uid, time and namespace, and answers with the version it was stored at', async () => {
    const stored = await fixture.store().create(testContext(), configMap('a', { data: { k: 'v' } }));
    const { uid, resourceVersion, ...meta } = stored.object.metadata ?? {};
    expect(meta).toEqual({ name: 'a', namespace: 'default', creationTimestamp: '2026-01-01T00:00:00Z' });
    expect(uid).toMatch(uuid);
    expect(resourceVersion).toBe(String(stored.revision));
    expect(stored.object.data).toEqual({ k: 'v' });
  });

  it('takes no system metadata from the client but the generation', async () => {
    const sent = configMap('a', {
      metadata: {
        uid: '11111111-2222-3333-4444-555555555555',
        creationTimestamp: '2001-01-01T00:00:00Z',
        deletionTimestamp: '2001-01-01T00:00:00Z',
        deletionGracePeriodSeconds: 5,
        selfLink: '/x',
        generation: 7,
      },
    });
    const { object } = await fixture.store({}, { newUid: () => 'u-1' }).create(testContext(), sent);
    expect(object.metadata).toEqual({
      name: 'a',
      namespace: 'default',
      uid: 'u-1',
      generation: 7,
      creationTimestamp: '2026-01-01T00:00:00Z',
      resourceVersion: object.metadata?.resourceVersion,
    });
  });

  it('leaves out what Go leaves out of metadata', async () => {
    const empty = { labels: {}, annotations: {}, finalizers: [], ownerReferences: [], generateName: '' };
    const { object } = await fixture.store().create(testContext(), configMap('a', { metadata: empty }));
    expect(Object.keys(object.metadata ?? {}).sort()).toEqual([
      'creationTimestamp',
      'name',
      'namespace',
      'resourceVersion',
      'uid',
    ]);
  });

  it('refuses a name that is taken', async () => {
    const store = fixture.store();
    await store.create(testContext(), configMap('a'));
    const error = await refusal(store.create(testContext(), configMap('a')));
    expect(error.status).toMatchObject({
      code: 409,
      reason: 'AlreadyExists',
      message: 'configmaps "a" already exists',
      details: { name: 'a', kind: 'configmaps' },
    });
  });

  it('says that the object of that name is being deleted', async () => {
    const store = fixture.store();
    await store.create(testContext(), configMap('a', { metadata: { finalizers: ['example.com/f'] } }));
    await store.delete(testContext(), 'a', {});
    const error = await refusal(store.create(testContext(), configMap('a')));
    expect(error.message).toBe('object is being deleted: configmaps "a" already exists');
  });

  it('refuses another namespace than that of the request', async () => {
    const error = await refusal(
      fixture.store().create(testContext(), configMap('a', { metadata: { namespace: 'other' } })),
    );
    expect([error.code, error.message]).toEqual([
      400,
      'the namespace of the provided object does not match the namespace sent on the request',
    ]);
  });

  it('refuses a resourceVersion, but "0" and, in a dry run, any', async () => {
    const store = fixture.store();
    const sent = (resourceVersion: string): UnstructuredObject => configMap('a', { metadata: { resourceVersion } });
    const error = await refusal(store.create(testContext(), sent('5')));
    expect(error.status).toMatchObject({
      code: 500,
      message: 'resourceVersion should not be set on objects to be created',
    });
    expect(error.status).not.toHaveProperty('reason');
    await store.create(testContext({ dryRun: true }), sent('5'));
    await expect(store.create(testContext(), sent('0'))).resolves.toBeDefined();
  });

  it('creates nothing in a dry run and answers without a version', async () => {
    const store = fixture.store();
    const dry = testContext({ dryRun: true });
    const { object } = await store.create(dry, configMap('a'));
    expect(object.metadata?.resourceVersion).toBeUndefined();
    expect((await refusal(store.get(testContext(), 'a'))).code).toBe(404);
    await store.create(testContext(), configMap('a'));
    expect((await refusal(store.create(dry, configMap('a')))).message).toBe('configmaps "a" already exists');
  });

  it('clears the namespace of a cluster-scoped object', async () => {
    const store = fixture.store({ namespaced: false, resource: 'nodes', kind: 'Node' });
    const sent = configMap('n', { metadata: { namespace: 'x' } });
    const { object, key } = await store.create(testContext({ namespace: '' }), sent);
    expect(object.metadata).not.toHaveProperty('namespace');
    expect(key).toBe('/registry/nodes/n');
  });

  it('drops owner references that are there twice, with a warning', async () => {
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'o', uid: 'u1' };
    const context = testContext();
    const sent = configMap('a', { metadata: { ownerReferences: [owner, { ...owner }, { ...owner, uid: 'u2' }] } });
    const { object } = await fixture.store().create(context, sent);
    expect(object.metadata?.ownerReferences).toEqual([owner, { ...owner, uid: 'u2' }]);
    expect(context.warnings).toEqual([
      '.metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: u1',
    ]);
  });
});

describe('generateName', () => {
  /** Generates names from the first letter only, then from the second once that name is taken, and so on. */
  const counting = (): (() => number) => {
    let calls = 0;
    return () => Math.floor(calls++ / 5) / 27;
  };

  it('adds five characters without vowels, and a given name wins', async () => {
    const store = fixture.store();
    const generated = await store.create(
      testContext(),
      configMap('', { metadata: { name: '', generateName: 'gen-' } }),
    );
    expect(generated.object.metadata?.name).toMatch(/^gen-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
    const named = await store.create(testContext(), configMap('a', { metadata: { name: 'a', generateName: 'gen-' } }));
    expect(named.object.metadata).toMatchObject({ name: 'a', generateName: 'gen-' });
  });

  it('tries eight names', async () => {
    const sent = (): UnstructuredObject => configMap('', { metadata: { name: '', generateName: 'g' } });
    for (let i = 0; i < 7; i++) await fixture.store({}, { random: () => i / 27 }).create(testContext(), sent());
    const eighth = await fixture.store({}, { random: counting() }).create(testContext(), sent());
    expect(eighth.object.metadata?.name).toBe('gkkkkk');
    const error = await refusal(fixture.store({}, { random: counting() }).create(testContext(), sent()));
    expect(error.status).toMatchObject({
      code: 409,
      message: 'configmaps "gkkkkk" already exists, the server was not able to generate a unique name for the object',
      details: { name: 'gkkkkk', kind: 'configmaps', retryAfterSeconds: 1 },
    });
  });
});

describe('the order of a create', () => {
  it('admits before the strategy prepares, and validates after it', async () => {
    const steps: string[] = [];
    const admission: AdmissionControl = {
      admit: async ({ object, name, operation }) => {
        steps.push(`admit ${operation} ${name || '?'} ${String(object?.metadata?.uid)}`);
        if (object?.metadata !== undefined) object.metadata.labels = { admitted: 'yes' };
      },
      validates: () => true,
      validate: async ({ object, name }) => {
        steps.push(`validate ${name} ${object?.metadata?.labels?.admitted}`);
      },
    };
    const strategy = {
      ...unconditionalStrategy,
      prepareForCreate: () => void steps.push('prepare'),
      validateCreate: () => {
        steps.push('validate strategy');
        return [];
      },
      warningsOnCreate: () => ['beware'],
      canonicalize: () => void steps.push('canonicalize'),
    };
    const managedFields = {
      onCreate: () => void steps.push('track fields'),
      onUpdate: () => undefined,
      afterAdmission: () => void steps.push('check fields'),
    };
    const context = testContext();
    const hooks = { admission, managedFields, newUid: () => 'u', random: () => 0 };
    const sent = configMap('', { metadata: { name: '', generateName: 'a-' } });
    const { object } = await fixture.store({ strategy }, hooks).create(context, sent);
    expect(steps).toEqual([
      'track fields',
      'admit CREATE ? undefined',
      'check fields',
      'prepare',
      'validate strategy',
      'canonicalize',
      'validate a-bbbbb yes',
    ]);
    expect(object.metadata?.labels).toEqual({ admitted: 'yes' });
    expect(context.warnings).toEqual(['beware']);
  });

  it('reserves unique values first and gives them back when the write fails', async () => {
    const finished: boolean[] = [];
    const allocation = {
      create: async () => async (committed: boolean) => void finished.push(committed),
      update: async () => async () => undefined,
      release: async () => undefined,
    };
    const store = fixture.store({ allocation });
    await store.create(testContext(), configMap('a'));
    await refusal(store.create(testContext(), configMap('a')));
    await store.create(testContext({ dryRun: true }), configMap('b'));
    expect(finished).toEqual([true, false, false]);
  });

  it('reports all errors, in metadata and in the kind', async () => {
    const strategy = {
      ...unconditionalStrategy,
      validateCreate: () => [{ type: 'FieldValueRequired' as const, field: 'spec', detail: '' }],
    };
    const sent = configMap('x', { metadata: { finalizers: ['nodomain'] } });
    const error = await refusal(fixture.store({ strategy, kind: 'Foo', group: 'g.io' }).create(testContext(), sent));
    expect(error.status).toMatchObject({
      code: 422,
      reason: 'Invalid',
      message:
        'Foo.g.io "x" is invalid: [metadata.finalizers[0]: Invalid value: "nodomain": name is neither a standard finalizer name nor is it fully qualified, spec: Required value]',
      details: { name: 'x', group: 'g.io', kind: 'Foo' },
    });
    expect(error.details?.causes).toHaveLength(2);
  });

  it('reports errors in metadata only once the kind accepts the object, where the kind checks no metadata', async () => {
    const created = (spec: 'right' | 'wrong') => {
      const wrong = [{ type: 'FieldValueRequired' as const, field: 'spec', detail: '' }];
      const strategy = {
        ...unconditionalStrategy,
        updateMetadata: 'none' as const,
        validateCreate: () => (spec === 'wrong' ? wrong : []),
      };
      const sent = configMap('x', { metadata: { labels: { 'a b': 'c' } } });
      return refusal(fixture.store({ strategy, resource: spec }).create(testContext(), sent));
    };
    const fieldsOf = async (spec: 'right' | 'wrong') =>
      (await created(spec)).details?.causes?.map(({ field }) => field);
    expect([await fieldsOf('wrong'), await fieldsOf('right')]).toEqual([['spec'], ['metadata.labels']]);
  });

  it('stores an object that is too large without its managed fields', async () => {
    const small = await openLmdbEngine({ dataDir: `${fixture.dataDir}/small`, maxValueBytes: 2000 });
    try {
      const manager = 'x'.repeat(100);
      const managedFields = {
        onCreate: (object: { metadata?: { managedFields?: unknown } }) => {
          object.metadata = { ...object.metadata, managedFields: Array(30).fill({ manager, operation: 'Update' }) };
        },
        onUpdate: () => undefined,
      };
      const store = fixture.store({}, { managedFields: managedFields as never }, small);
      const { object } = await store.create(testContext(), configMap('a'));
      expect(object.metadata?.managedFields).toBeUndefined();
      const data = { k: 'x'.repeat(3000) };
      const error = await refusal(store.create(testContext(), configMap('b', { data })));
      expect([error.code, error.reason]).toEqual([413, 'RequestEntityTooLarge']);
    } finally {
      await small.close();
    }
  });
});
