import type { DeepReadonly, UnstructuredObject } from '@kapstan/api';
import { forbidden } from '@kapstan/api/errors';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { configMap, refusal, StoreFixture, testContext, unconditionalStrategy } from '../../testing/store-fixture.ts';
import type { DeleteRequest } from '../definition/resource-store.ts';
import type { AdmissionControl } from './admission-control.ts';
import type { GenericStore, StoreHooks } from './generic-store.ts';

let fixture: StoreFixture;
beforeEach(async () => {
  fixture = await StoreFixture.open(openLmdbEngine);
});
afterEach(() => fixture.close());

type Store = GenericStore<UnstructuredObject>;
const add = (store: Store, name: string, metadata: UnstructuredObject['metadata'] = {}) =>
  store.create(testContext(), configMap(name, { metadata: { ...metadata, name } }));
const present = async (store: Store, name: string) =>
  (await store.get(testContext(), name).catch(() => undefined))?.object;

describe('delete', () => {
  it('removes the object and answers with its last state at the revision of the deletion', async () => {
    const store = fixture.store();
    const created = await add(store, 'a');
    const { stored, deleted } = await store.delete(testContext(), 'a', {});
    expect(deleted).toBe(true);
    expect(stored?.object.metadata?.uid).toBe(created.object.metadata?.uid);
    expect(stored?.revision).toBeGreaterThan(created.revision);
    const error = await refusal(store.delete(testContext(), 'a', {}));
    expect([error.code, error.message]).toEqual([404, 'configmaps "a" not found']);
  });

  it('names kind and group in a failed precondition, and holds good ones', async () => {
    const store = fixture.store({ kind: 'Deployment', group: 'apps', resource: 'deployments' });
    const { uid, resourceVersion } = (await add(store, 'a')).object.metadata ?? {};
    const tried = (preconditions: NonNullable<DeleteRequest['preconditions']>) =>
      store.delete(testContext(), 'a', { preconditions });
    expect((await refusal(tried({ uid: 'x' }))).status).toMatchObject({
      code: 409,
      reason: 'Conflict',
      message: `Operation cannot be fulfilled on Deployment.apps "a": the UID in the precondition (x) does not match the UID in record (${uid}). The object might have been deleted and then recreated`,
      details: { name: 'a', group: 'apps', kind: 'Deployment' },
    });
    expect((await refusal(tried({ resourceVersion: '1' }))).message).toBe(
      `Operation cannot be fulfilled on Deployment.apps "a": the ResourceVersion in the precondition (1) does not match the ResourceVersion in record (${resourceVersion}). The object might have been modified`,
    );
    const answer = await tried({ uid: uid ?? '', resourceVersion: resourceVersion ?? '' });
    expect(answer.deleted).toBe(true);
  });

  const invalid: readonly [DeleteRequest, string][] = [
    [
      { propagationPolicy: 'Sideways' as never },
      'propagationPolicy: Unsupported value: "Sideways": supported values: "Foreground", "Background", "Orphan", "nil"',
    ],
    [
      { propagationPolicy: 'Background', orphanDependents: true },
      'propagationPolicy: Invalid value: "Background": orphanDependents and deletionPropagation cannot be both set',
    ],
    [
      { ignoreStoreReadErrorWithClusterBreakingPotential: true, gracePeriodSeconds: 1 },
      'ignoreStoreReadErrorWithClusterBreakingPotential: Invalid value: true: cannot be set together with .gracePeriodSeconds',
    ],
  ];
  it.each(invalid)('refuses %j', async (request, text) => {
    const error = await refusal(fixture.store().delete(testContext(), 'a', request));
    expect([error.code, error.message]).toEqual([422, `DeleteOptions.meta.k8s.io "" is invalid: ${text}`]);
    expect(error.details).toMatchObject({ group: 'meta.k8s.io', kind: 'DeleteOptions' });
  });

  it('removes nothing in a dry run', async () => {
    const store = fixture.store();
    await add(store, 'a');
    expect((await store.delete(testContext({ dryRun: true }), 'a', {})).deleted).toBe(true);
    expect(await present(store, 'a')).toBeDefined();
    expect((await refusal(store.delete(testContext({ dryRun: true }), 'none', {}))).code).toBe(404);
  });

  it('of what can be read is refused to the unsafe deletion', async () => {
    const store = fixture.store();
    await add(store, 'a');
    const unsafe = { ignoreStoreReadErrorWithClusterBreakingPotential: true };
    expect((await refusal(store.delete(testContext(), 'a', unsafe))).code).toBe(409);
    await fixture.engine.commit({
      key: '/registry/configmaps/default/bad',
      expectedRevision: 0 as never,
      change: { type: 'put', value: new TextEncoder().encode('{') },
    });
    expect((await refusal(store.delete(testContext(), 'bad', {}))).code).toBe(500);
    // The deleted value cannot be decoded, so there is no object to return.
    expect(await store.delete(testContext(), 'bad', unsafe)).toEqual({ deleted: true });
    expect((await refusal(store.get(testContext(), 'bad'))).code).toBe(404);
  });

  it('asks admission with the object that goes, and is refused by it', async () => {
    const seen: unknown[] = [];
    const admission: AdmissionControl = {
      admit: async ({ operation, object, oldObject, name, namespace }) => {
        seen.push([operation, object, oldObject?.metadata?.labels, name, namespace]);
      },
      validates: () => true,
      validate: async ({ oldObject }) => {
        if (oldObject?.metadata?.labels?.keep === 'yes') throw new Error('it stays');
      },
    };
    const store = fixture.store({}, { admission });
    await add(fixture.store(), 'a', { labels: { keep: 'yes' } });
    await add(fixture.store(), 'b', { labels: { keep: 'no' }, finalizers: ['x.io/f'] });
    await expect(store.delete(testContext(), 'a', {})).rejects.toThrow('it stays');
    expect((await store.delete(testContext(), 'b', {})).deleted).toBe(false);
    expect(seen).toEqual([
      ['DELETE', undefined, { keep: 'yes' }, 'a', 'default'],
      ['DELETE', undefined, { keep: 'no' }, 'b', 'default'],
    ]);
    expect(await present(store, 'a')).toBeDefined();
  });
});

describe('deletion of an object with finalizers', () => {
  it('marks it, and another delete changes nothing', async () => {
    const store = fixture.store();
    await add(store, 'a', { finalizers: ['x.io/f'], generation: 3 });
    const first = await store.delete(testContext(), 'a', {});
    expect(first.deleted).toBe(false);
    expect(first.stored?.object.metadata).toMatchObject({
      deletionTimestamp: '2026-01-01T00:00:00Z',
      deletionGracePeriodSeconds: 0,
      generation: 4,
      finalizers: ['x.io/f'],
    });
    await fixture.clock.advance(60_000);
    const again = await store.delete(testContext(), 'a', {});
    expect([again.deleted, again.stored?.revision]).toEqual([false, first.stored?.revision]);
  });

  it('is only tried in a dry run', async () => {
    const store = fixture.store();
    await add(store, 'a', { finalizers: ['x.io/f'] });
    const { stored, deleted } = await store.delete(testContext({ dryRun: true }), 'a', {});
    expect(deleted).toBe(false);
    expect(stored?.object.metadata?.deletionTimestamp).toBeDefined();
    expect((await present(store, 'a'))?.metadata?.deletionTimestamp).toBeUndefined();
  });
});

describe('finalizers of the garbage collector', () => {
  const orphan = ['orphan'];
  const foreground = ['foregroundDeletion'];
  const cases: readonly [string, DeleteRequest, readonly string[], readonly string[] | 'gone'][] = [
    ['nothing said', {}, [], 'gone'],
    ['Background', { propagationPolicy: 'Background' }, [], 'gone'],
    ['Orphan', { propagationPolicy: 'Orphan' }, [], orphan],
    ['Foreground', { propagationPolicy: 'Foreground' }, [], foreground],
    ['orphanDependents', { orphanDependents: true }, [], orphan],
    ['no orphanDependents', { orphanDependents: false }, [], 'gone'],
    ['a finalizer that is there', {}, orphan, orphan],
    ['Background over a finalizer', { propagationPolicy: 'Background' }, orphan, 'gone'],
    ['no orphanDependents over a finalizer', { orphanDependents: false }, foreground, 'gone'],
    ['Foreground over orphan', { propagationPolicy: 'Foreground' }, orphan, foreground],
    ['Orphan beside another', { propagationPolicy: 'Orphan' }, ['x.io/f'], ['x.io/f', 'orphan']],
    ['Background beside another', { propagationPolicy: 'Background' }, ['x.io/f', 'orphan'], ['x.io/f']],
  ];
  const outcome = async (store: Store, request: DeleteRequest): Promise<readonly string[] | 'gone'> => {
    const { deleted, stored } = await store.delete(testContext(), 'a', request);
    return deleted ? 'gone' : (stored.object.metadata?.finalizers ?? []);
  };

  it.each(cases)('%s', async (_case, request, finalizers, expected) => {
    const store = fixture.store();
    await add(store, 'a', { finalizers: [...finalizers] });
    expect(await outcome(store, request)).toEqual(expected);
    expect((await present(store, 'a')) === undefined).toBe(expected === 'gone');
  });

  it('are put on by the default of the kind, and never on a kind that takes no part', async () => {
    const orphaning = fixture.store({
      resource: 'jobs',
      strategy: { ...unconditionalStrategy, defaultGarbageCollection: 'Orphan' },
    });
    await add(orphaning, 'a');
    expect(await outcome(orphaning, {})).toEqual(orphan);
    const without = fixture.store({
      resource: 'events',
      strategy: { ...unconditionalStrategy, defaultGarbageCollection: 'Unsupported' },
    });
    await add(without, 'a', { finalizers: ['orphan'] });
    expect(await outcome(without, { propagationPolicy: 'Orphan' })).toBe('gone');
  });

  it('are left alone when nothing collects garbage', async () => {
    const hooks: StoreHooks = { collectsGarbage: false };
    const store = fixture.store({}, hooks);
    await add(store, 'a');
    expect(await outcome(store, { propagationPolicy: 'Orphan' })).toBe('gone');
  });
});

describe('a finalizer that is added while the object is being removed', () => {
  const cases: readonly [string, DeleteRequest, readonly string[]][] = [
    ['to an object without any', {}, []],
    ['to one whose only finalizer goes with the request', { propagationPolicy: 'Background' }, ['orphan']],
  ];
  it.each(cases)('holds it: %s', async (_case, request, finalizers) => {
    let store: Store | undefined;
    let isLate = true;
    const admission: AdmissionControl = {
      admit: async ({ operation }) => {
        if (operation !== 'DELETE' || !isLate) return;
        isLate = false;
        const transform = (object: UnstructuredObject | undefined) => ({
          ...(object as UnstructuredObject),
          metadata: { ...object?.metadata, finalizers: [...finalizers, 'x.io/late'] },
        });
        await store?.update(testContext(), { name: 'a', transform });
      },
      validates: () => false,
      validate: async () => undefined,
    };
    store = fixture.store({}, { admission });
    await add(store, 'a', { finalizers: [...finalizers] });
    const { deleted, stored } = await store.delete(testContext(), 'a', request);
    expect([deleted, stored?.object.metadata?.finalizers]).toEqual([false, ['x.io/late']]);
    expect((await present(store, 'a'))?.metadata).toMatchObject({
      finalizers: ['x.io/late'],
      deletionTimestamp: '2026-01-01T00:00:00Z',
    });
  });
});

describe('graceful deletion', () => {
  /** Like pods: 30 seconds of grace, and none for a pod without a node. */
  const podStrategy = {
    ...unconditionalStrategy,
    gracePeriodSeconds: (pod: DeepReadonly<UnstructuredObject>, asked: number | undefined) =>
      pod.nodeName === undefined ? 0 : (asked ?? 30),
  };
  let pods: Store;
  beforeEach(() => {
    pods = fixture.store({ resource: 'pods', kind: 'Pod', strategy: podStrategy });
  });
  const addPod = (more: Record<string, unknown> = { nodeName: 'n' }) =>
    pods.create(
      testContext(),
      configMap('p', { ...more, metadata: { name: 'p', generation: 1, ...(more.metadata as object) } }),
    );
  const remove = async (gracePeriodSeconds?: number) => {
    const { deleted, stored } = await pods.delete(testContext(), 'p', { gracePeriodSeconds });
    const { deletionTimestamp, deletionGracePeriodSeconds, generation } = stored?.object.metadata ?? {};
    return { deleted, at: deletionTimestamp, grace: deletionGracePeriodSeconds, generation };
  };

  it('sets the time at which it ends, which can be made shorter but not longer', async () => {
    await addPod();
    expect(await remove()).toEqual({ deleted: false, at: '2026-01-01T00:00:30Z', grace: 30, generation: 2 });
    const version = (await present(pods, 'p'))?.metadata?.resourceVersion;
    expect(await remove(60)).toEqual({ deleted: false, at: '2026-01-01T00:00:30Z', grace: 30, generation: 2 });
    expect(await remove()).toEqual({ deleted: false, at: '2026-01-01T00:00:30Z', grace: 30, generation: 2 });
    expect((await present(pods, 'p'))?.metadata?.resourceVersion).toBe(version);
    expect(await remove(5)).toEqual({ deleted: false, at: '2026-01-01T00:00:05Z', grace: 5, generation: 2 });
    expect(await remove(0)).toEqual({ deleted: true, at: '2026-01-01T00:00:00Z', grace: 0, generation: 2 });
    expect(await present(pods, 'p')).toBeUndefined();
  });

  it('never ends before now', async () => {
    await addPod();
    await remove();
    await fixture.clock.advance(20_000);
    expect(await remove(5)).toEqual({ deleted: false, at: '2026-01-01T00:00:20Z', grace: 1, generation: 2 });
  });

  it('takes a negative time as one second', async () => {
    await addPod();
    expect(await remove(-3)).toMatchObject({ deleted: false, at: '2026-01-01T00:00:01Z', grace: 1 });
  });

  it('of what has no time left removes at once, having marked the object', async () => {
    await addPod({});
    expect(await remove()).toEqual({ deleted: true, at: '2026-01-01T00:00:00Z', grace: 0, generation: 2 });
    expect(await present(pods, 'p')).toBeUndefined();
  });

  it('keeps an object with finalizers even without time left', async () => {
    await addPod({ metadata: { finalizers: ['x.io/f'] } });
    expect(await remove(0)).toMatchObject({ deleted: false, grace: 0 });
    expect(await present(pods, 'p')).toBeDefined();
    expect(await remove(0)).toMatchObject({ deleted: false, grace: 0 });
  });

  it('takes its own change into account in a precondition on the version', async () => {
    const { uid, resourceVersion } = (await addPod({})).object.metadata ?? {};
    const preconditions = { uid: uid ?? '', resourceVersion: resourceVersion ?? '' };
    expect((await pods.delete(testContext(), 'p', { preconditions })).deleted).toBe(true);
  });
});

describe('a kind that holds its deletion', () => {
  const strategy = {
    ...unconditionalStrategy,
    holdsDeletion: (object: DeepReadonly<UnstructuredObject>) => object.finalized !== true,
    prepareForDeletion: (object: UnstructuredObject) => {
      object.phase = 'Terminating';
    },
  };
  let store: Store;
  beforeEach(() => {
    store = fixture.store({ resource: 'namespaces', kind: 'Namespace', namespaced: false, strategy });
  });

  it('is marked without a grace period and stays until the kind lets it go', async () => {
    await add(store, 'n');
    const first = await store.delete(testContext(), 'n', {});
    expect(first.deleted).toBe(false);
    expect(first.stored?.object).toMatchObject({
      phase: 'Terminating',
      metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' },
    });
    expect(first.stored?.object.metadata).not.toHaveProperty('deletionGracePeriodSeconds');
    const again = await store.delete(testContext(), 'n', {});
    expect([again.deleted, again.stored?.revision]).toEqual([false, first.stored?.revision]);
    await store.update(testContext(), { name: 'n', transform: (object) => ({ ...object, finalized: true }) });
    expect(await present(store, 'n')).toBeUndefined();
  });

  it('names its resource in a failed precondition', async () => {
    const uid = (await add(store, 'n')).object.metadata?.uid;
    const error = await refusal(store.delete(testContext(), 'n', { preconditions: { uid: 'x' } }));
    expect([error.code, error.message]).toEqual([
      409,
      `Operation cannot be fulfilled on namespaces "n": Precondition failed: UID in precondition: x, UID in object meta: ${uid}`,
    ]);
  });
});

describe('deleteCollection', () => {
  it('deletes what the selection matches and answers with the objects as they were', async () => {
    const store = fixture.store({}, { deleteCollectionWorkers: 4 });
    for (const name of ['a', 'b', 'c', 'd']) await add(store, name, { labels: { half: name < 'c' ? '1' : '2' } });
    await add(store, 'e', { labels: { half: '1' }, finalizers: ['x.io/f'] });
    const list = await store.deleteCollection(testContext(), {}, { labelSelector: 'half=1' });
    expect(list.items.map((item) => [item.object.metadata?.name, item.object.metadata?.deletionTimestamp])).toEqual([
      ['a', undefined],
      ['b', undefined],
      ['e', undefined],
    ]);
    const left = await store.list(testContext(), {});
    expect(left.items.map((item) => item.object.metadata?.name)).toEqual(['c', 'd', 'e']);
  });

  it('deletes one page when there is a limit', async () => {
    const store = fixture.store();
    for (const name of ['a', 'b', 'c']) await add(store, name);
    const list = await store.deleteCollection(testContext(), {}, { limit: 2 });
    expect(list.items.map((item) => item.object.metadata?.name)).toEqual(['a', 'b']);
    expect((await store.list(testContext(), {})).items).toHaveLength(1);
  });

  it('answers with the first failure, and deletes in all namespaces', async () => {
    const store = fixture.store();
    const other = testContext({ namespace: 'other' });
    await add(store, 'a');
    await store.create(other, configMap('b'));
    const everywhere = testContext({ namespace: '' });
    const error = await refusal(store.deleteCollection(everywhere, { preconditions: { uid: 'x' } }, {}));
    expect([error.code, error.reason]).toEqual([409, 'Conflict']);
    await store.deleteCollection(everywhere, {}, {});
    expect((await store.list(everywhere, {})).items).toEqual([]);
  });

  it.each([
    // The only worker meets the failure and ends, so nobody continues.
    [1, ['b', 'c', 'd', 'e', 'f']],
    // The other worker continues to the second failure.
    [2, ['b', 'd', 'e', 'f']],
    // A third worker finishes the rest.
    [3, ['b', 'd']],
  ])('ends a worker at its failure, and lets the others go on: %i', async (workers, left) => {
    const admission: AdmissionControl = {
      admit: async ({ operation, oldObject }) => {
        if (operation !== 'DELETE') return;
        const name = oldObject?.metadata?.name ?? '';
        if (name === 'b' || name === 'd') throw forbidden({ group: '', resource: 'configmaps' }, name, 'no');
      },
      validates: () => false,
      validate: async () => undefined,
    };
    const store = fixture.store({}, { deleteCollectionWorkers: workers, admission });
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) await add(store, name);
    const error = await refusal(store.deleteCollection(testContext(), {}, {}));
    expect(error.message).toBe('configmaps "b" is forbidden: no');
    const { items } = await store.list(testContext(), {});
    expect(items.map((item) => item.object.metadata?.name)).toEqual(left);
  });

  it('deletes nothing in a dry run', async () => {
    const store = fixture.store();
    await add(store, 'a');
    const list = await store.deleteCollection(testContext({ dryRun: true }), {}, {});
    expect(list.items).toHaveLength(1);
    expect(await present(store, 'a')).toBeDefined();
  });
});
