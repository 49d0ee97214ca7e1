import type { UnstructuredObject } from '@kapstan/api';
import type { ResourceStack } from '@kapstan/apiserver';
import { refusal, testContext, testDefinition } from '@kapstan/apiserver/testing';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { clusterContext, conditionOf, DefinitionFixture, widget, widgets } from '../testing/definition-fixture.ts';

let fixture: DefinitionFixture;
beforeEach(async () => {
  fixture = await DefinitionFixture.open(openLmdbEngine);
});
afterEach(() => fixture.close());

const name = 'widgets.example.com';
const isServed = (version = 'v1', resource = 'widgets'): boolean =>
  fixture.catalog.find('example.com', version, resource) !== undefined;
const create = (object: UnstructuredObject, version = 'v1'): Promise<UnstructuredObject> =>
  fixture
    .store('example.com', version, 'widgets')
    .create(testContext(), object)
    .then((stored) => stored.object as UnstructuredObject);

describe('a new definition', () => {
  it('is answered in its full form before anything is decided', async () => {
    const created = await fixture.create(widgets());
    expect(created).toMatchObject({
      metadata: { generation: 1 },
      spec: {
        names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
        conversion: { strategy: 'None' },
      },
      status: { conditions: null, acceptedNames: { plural: '', kind: '' }, storedVersions: ['v1'] },
    });
    expect(created.metadata?.finalizers).toBeUndefined();
  });

  it('gets its names and is served when it says that it is established', async () => {
    const definition = await fixture.establish(widgets({ names: { shortNames: ['wd'], categories: ['all'] } }));
    expect(
      definition.status?.conditions?.map(({ type, status, reason, message }) => [type, status, reason, message]),
    ).toEqual([
      ['NamesAccepted', 'True', 'NoConflicts', 'no conflicts found'],
      ['Established', 'True', 'InitialNamesAccepted', 'the initial names have been accepted'],
    ]);
    expect(definition.status?.acceptedNames).toEqual(definition.spec.names);
    expect((await create(widget('a'))).metadata?.generation).toBe(1);
    expect(fixture.catalog.find('example.com', 'v1', 'widgets')?.definition).toMatchObject({
      shortNames: ['wd'],
      categories: ['all'],
      isCustom: true,
      storagePrefix: '/example.com/widgets',
    });
  });

  it('reports its approval when its group is protected', async () => {
    const approved = { 'api-approved.kubernetes.io': 'unapproved, a sample' };
    const definition = await fixture.establish(widgets({ group: 'x.k8s.io', annotations: approved }));
    expect(definition.status?.conditions?.[2]).toMatchObject({
      type: 'KubernetesAPIApprovalPolicyConformant',
      status: 'False',
      reason: 'UnapprovedAnnotation',
      message: 'not approved: "unapproved, a sample"',
    });
  });

  it('serves those of its versions that are to be served', async () => {
    await fixture.establish(
      widgets({ versions: [{ name: 'v1' }, { name: 'v1beta1' }, { name: 'v1alpha1', served: false }] }),
    );
    expect([isServed('v1'), isServed('v1beta1'), isServed('v1alpha1')]).toEqual([true, true, false]);
  });

  it('is served as before when something other than its spec and names changes', async () => {
    await fixture.establish(widgets());
    const before = fixture.catalog.find('example.com', 'v1', 'widgets');
    const labelled = await fixture.update(name, (next) => {
      next.metadata = { ...next.metadata, labels: { a: 'b' } };
    });
    expect(labelled.metadata?.generation).toBe(1);
    // Definitions are handled one after the other.
    await fixture.establish(
      widgets({ names: { plural: 'gadgets', singular: 'gadget', kind: 'Gadget', listKind: 'GadgetList' } }),
    );
    expect(fixture.catalog.find('example.com', 'v1', 'widgets')).toBe(before);
  });

  it('does not take the place of a built-in resource', async () => {
    const builtin = testDefinition({ group: 'example.com', resource: 'widgets' });
    const served = { definition: builtin, store: fixture.stores.store({}) };
    fixture.catalog.install(served);
    await fixture.establish(widgets());
    expect(fixture.catalog.find('example.com', 'v1', 'widgets')).toBe(served);
  });
});

describe('names', () => {
  const clash = (): ReturnType<typeof widgets> =>
    widgets({ names: { plural: 'gadgets', kind: 'Widget', singular: 'widget', shortNames: ['gd'] } });

  it('that are taken are not given, and the definition is not served', async () => {
    await fixture.establish(widgets());
    await fixture.create(clash());
    const refused = await fixture.until(
      'gadgets.example.com',
      (next) => conditionOf(next, 'NamesAccepted') === 'False',
    );
    expect(refused.status?.acceptedNames).toEqual({ plural: 'gadgets', shortNames: ['gd'], kind: '' });
    expect(refused.status?.conditions?.map(({ reason, message }) => [reason, message])).toEqual([
      ['ListKindConflict', '"WidgetList" is already in use'],
      ['NotAccepted', 'not all names are accepted'],
    ]);
    expect(isServed('v1', 'gadgets')).toBe(false);
  });

  it('are given to the next one when their owner goes', async () => {
    await fixture.establish(widgets());
    await fixture.create(clash());
    await fixture.until('gadgets.example.com', (next) => conditionOf(next, 'NamesAccepted') === 'False');
    await fixture.delete(name);
    const accepted = await fixture.until('gadgets.example.com', (next) => conditionOf(next, 'Established') === 'True');
    expect(accepted.status?.acceptedNames?.kind).toBe('Widget');
    expect([isServed('v1', 'gadgets'), isServed()]).toEqual([true, false]);
  });

  it('of a fixed kind are never given, in no version', async () => {
    await fixture.close();
    fixture = await DefinitionFixture.open(openLmdbEngine, { isFixed: ({ kind }) => kind === 'Fixed' });
    const parts = { group: 'example.com', resource: 'widgets', kind: 'Fixed', isCustom: true };
    fixture.catalog.install({ definition: testDefinition(parts), store: fixture.stores.store({}) });
    await fixture.create(widgets({ versions: [{ name: 'v1' }, { name: 'v2' }] }));
    const refused = await fixture.until(name, (next) => conditionOf(next, 'NamesAccepted') === 'False');
    expect(refused.status?.acceptedNames).toMatchObject({ plural: '', kind: 'Widget' });
    expect(refused.status?.conditions?.map(({ reason, message }) => [reason, message])).toEqual([
      ['PluralConflict', '"widgets" is already in use'],
      ['NotAccepted', 'not all names are accepted'],
    ]);
    expect(isServed('v2')).toBe(false);
    await fixture.delete(name);
    await fixture.untilGone(name);
    expect(isServed()).toBe(true);
  });
});

describe('versions', () => {
  const schemaOf = (...fields: string[]) => ({
    openAPIV3Schema: {
      type: 'object',
      properties: {
        spec: { type: 'object', properties: Object.fromEntries(fields.map((field) => [field, { type: 'string' }])) },
      },
    },
  });
  const both = (): ReturnType<typeof widgets> =>
    widgets({
      versions: [
        { name: 'v1', schema: schemaOf('a', 'b') },
        { name: 'v1beta1', schema: schemaOf('a') },
      ],
    });

  it('show one object, each as its schema knows it', async () => {
    await fixture.establish(both());
    await create(widget('a', { spec: { a: '1', b: '2' } }));
    const old = await fixture.store('example.com', 'v1beta1', 'widgets').get(testContext(), 'a');
    expect(old.object).toMatchObject({ apiVersion: 'example.com/v1beta1', spec: { a: '1' } });
    const stored = await fixture.store('example.com', 'v1', 'widgets').get(testContext(), 'a');
    expect(stored.object.spec).toEqual({ a: '1', b: '2' });
    expect(old.object.metadata?.resourceVersion).toBe(stored.object.metadata?.resourceVersion);
  });

  it('are stored as the storage version, whichever they came through', async () => {
    await fixture.establish(both());
    await create({ ...widget('a', { spec: { a: '1' } }), apiVersion: 'example.com/v1beta1' }, 'v1beta1');
    const [kv] = (await fixture.stores.engine.range({ start: '/registry/example.com/', end: '/registry/example.com0' }))
      .kvs;
    expect(JSON.parse(Buffer.from(kv?.value ?? []).toString()).apiVersion).toBe('example.com/v1');
  });

  it('of the past are remembered', async () => {
    await fixture.establish(both());
    const next = await fixture.update(name, ({ spec }) => {
      for (const version of spec.versions) version.storage = version.name === 'v1beta1';
    });
    expect(next.status?.storedVersions).toEqual(['v1', 'v1beta1']);
    expect(next.metadata?.generation).toBe(2);
    const error = await refusal(
      fixture.update(name, ({ spec }) => {
        spec.versions = spec.versions.filter((version) => version.name !== 'v1');
      }),
    );
    expect(error.status.details?.causes?.[0]?.field).toBe('status.storedVersions[0]');
  });

  it('stop being served when they are no more to be', async () => {
    await fixture.establish(both());
    await fixture.update(name, ({ spec }) => {
      for (const version of spec.versions) version.served = version.name === 'v1';
    });
    await fixture.untilCatalog(() => !isServed('v1beta1'));
    expect(isServed('v1')).toBe(true);
  });
});

describe('a change of the definition', () => {
  const watchWidgets = (): { ended: boolean; seen: string[]; close(): void } => {
    const state = { ended: false, seen: [] as string[], close: () => watch.close() };
    const watch = fixture.store('example.com', 'v1', 'widgets').watch(
      testContext(),
      { resourceVersion: '0' },
      {
        onEvent: (event) => {
          if (event.type !== 'BOOKMARK') state.seen.push(event.stored.object.metadata?.name ?? '');
        },
        onEnd: () => {
          state.ended = true;
        },
      },
    );
    return state;
  };
  const columnsOf = (): readonly string[] =>
    fixture.catalog.find('example.com', 'v1', 'widgets')?.definition.table.columns.map((column) => column.name) ?? [];

  it('that storage knows nothing of leaves watches alone', async () => {
    await fixture.establish(widgets());
    const watch = watchWidgets();
    await fixture.update(name, ({ spec }) => {
      const [version] = spec.versions;
      if (version) version.additionalPrinterColumns = [{ name: 'Size', type: 'integer', jsonPath: '.spec.size' }];
    });
    await fixture.untilCatalog(() => columnsOf().includes('Size'));
    await create(widget('later'));
    expect(watch).toMatchObject({ ended: false, seen: ['later'] });
    watch.close();
  });

  it('of the schema ends them, and what is read obeys the new schema', async () => {
    await fixture.establish(widgets());
    await create(widget('a', { free: 1, spec: { size: 1, other: 2 } }));
    const watch = watchWidgets();
    const before = fixture.catalog.find('example.com', 'v1', 'widgets');
    await fixture.update(name, ({ spec }) => {
      const size = { type: 'integer' };
      const color = { type: 'string', default: 'red' };
      const [version] = spec.versions;
      if (version) {
        version.schema = {
          openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', properties: { size, color } } } },
        };
      }
    });
    await fixture.untilCatalog(() => fixture.catalog.find('example.com', 'v1', 'widgets') !== before);
    const { object } = await fixture.store('example.com', 'v1', 'widgets').get(testContext(), 'a');
    expect(object.spec).toEqual({ size: 1, color: 'red' });
    expect(Object.hasOwn(object, 'free')).toBe(false);
    expect(watch.ended).toBe(true);
  });
});

describe('a definition that is deleted', () => {
  it('takes its objects along, then itself', async () => {
    await fixture.establish(widgets());
    await create(widget('a'));
    await fixture.delete(name);
    await fixture.untilGone(name);
    await fixture.untilCatalog(() => !isServed());
    await fixture.establish(widgets());
    expect((await fixture.store('example.com', 'v1', 'widgets').list(testContext(), {})).items).toEqual([]);
  });

  it('waits for finalizers, refuses new objects, and says what it is doing', async () => {
    await fixture.establish(widgets());
    await create(widget('a', { metadata: { name: 'a', finalizers: ['example.com/f'] } }));
    await fixture.delete(name);
    const deleting = await fixture.until(
      name,
      (next) => next.status?.conditions?.some(({ reason }) => reason === 'InstanceDeletionInProgress') === true,
    );
    expect(deleting.metadata?.finalizers).toEqual(['customresourcecleanup.apiextensions.k8s.io']);
    const error = await refusal(create(widget('b')));
    expect(error.status).toMatchObject({
      code: 403,
      message:
        'widgets.example.com "b" is forbidden: create not allowed while custom resource definition is terminating',
    });
    const gone = fixture.untilGone(name);
    await fixture.store('example.com', 'v1', 'widgets').update(testContext(), {
      name: 'a',
      transform: (present) =>
        ({ ...present, metadata: { ...present?.metadata, finalizers: [] } }) as UnstructuredObject,
    });
    await gone;
  });

  it('says so at once', async () => {
    await fixture.establish(widgets());
    const { stored, deleted } = await fixture.definitions.delete(clusterContext(), name, {});
    expect(deleted).toBe(false);
    expect(stored?.object).toMatchObject({
      metadata: { finalizers: ['customresourcecleanup.apiextensions.k8s.io'], generation: 1 },
      status: { conditions: [{}, {}, { type: 'Terminating', status: 'True', reason: 'InstanceDeletionPending' }] },
    });
    expect(stored?.object.metadata?.deletionGracePeriodSeconds).toBeUndefined();
    await fixture.untilGone(name);
  });

  it('goes at once when it never was established', async () => {
    await fixture.establish(widgets());
    await fixture.create(widgets({ names: { plural: 'gadgets', kind: 'Widget' } }));
    await fixture.until('gadgets.example.com', (next) => conditionOf(next, 'Established') === 'False');
    await fixture.delete('gadgets.example.com');
    await fixture.untilGone('gadgets.example.com');
    expect(isServed()).toBe(true);
  });

  it('takes its objects along even when none of its versions is served', async () => {
    await fixture.establish(widgets());
    await create(widget('a'));
    await fixture.update(name, ({ spec }) => {
      for (const version of spec.versions) version.served = false;
    });
    await fixture.untilCatalog(() => !isServed());
    await fixture.delete(name);
    await fixture.untilGone(name);
    expect(
      (await fixture.stores.engine.range({ start: '/registry/example.com/', end: '/registry/example.com0' })).kvs,
    ).toEqual([]);
  });
});

it('a definition that is gone has its store closed again when that failed', async () => {
  await fixture.close();
  let closes = 0;
  const onClosed = ({ served }: ResourceStack): void => {
    if (served.definition.resource === 'widgets' && ++closes === 1) throw new Error('not now');
  };
  fixture = await DefinitionFixture.open(openLmdbEngine, { onClosed });
  await fixture.establish(widgets());
  await fixture.delete(name);
  await vi.waitFor(() => expect(fixture.logged).toContain('serving a custom resource definition failed'));
  expect([closes, isServed()]).toEqual([1, false]);
  fixture.stores.clock.advance(1000);
  await vi.waitFor(() => expect(closes).toBe(2));
});

describe('a server that starts again', () => {
  it('serves what it served before it says that it has started', async () => {
    await fixture.establish(widgets({ scope: 'Cluster' }));
    await fixture.store('example.com', 'v1', 'widgets').create(clusterContext(), widget('a'));
    await fixture.stop();
    expect(fixture.catalog.all()).toEqual([]);
    await fixture.start();
    const list = await fixture.store('example.com', 'v1', 'widgets').list(clusterContext(), {});
    expect(list.items.map(({ object }) => object.metadata?.name)).toEqual(['a']);
  });

  it('goes on with a deletion', async () => {
    await fixture.establish(widgets());
    await create(widget('a', { metadata: { name: 'a', finalizers: ['example.com/f'] } }));
    await fixture.delete(name);
    await fixture.until(name, (next) => next.status?.conditions?.[2]?.reason === 'InstanceDeletionInProgress');
    await fixture.stop();
    await fixture.start();
    expect(await refusal(create(widget('b')))).toMatchObject({ status: { code: 403 } });
    const gone = fixture.untilGone(name);
    await fixture.store('example.com', 'v1', 'widgets').update(testContext(), {
      name: 'a',
      transform: (present) =>
        ({ ...present, metadata: { ...present?.metadata, finalizers: [] } }) as UnstructuredObject,
    });
    await gone;
    expect(fixture.logged).toEqual([]);
  });
});
