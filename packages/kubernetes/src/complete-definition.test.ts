import { ResourceStack } from '@kapstan/apiserver';
import { requireComplete } from '@kapstan/apiserver/internal';
import {
  configMap,
  type DefinitionChanges,
  StoreFixture,
  testContext,
  testDefinition,
} from '@kapstan/apiserver/testing';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { builtinResources } from './builtin-resources.ts';

let fixture: StoreFixture;
beforeEach(async () => {
  fixture = await StoreFixture.open(openLmdbEngine);
});
afterEach(() => fixture.close());

describe('a store', () => {
  it.each<[string, DefinitionChanges, string]>([
    ['a resource', { resource: '', storagePrefix: '/x' }, 'store of kind "ConfigMap" must have a resource'],
    ['a singular name', { singular: '' }, 'store for configmaps must have a singular name'],
    ['a kind', { group: 'apps', resource: 'jobs', kind: '' }, 'store for jobs.apps must have kind set'],
    ['a kind of lists', { listKind: '' }, 'store for configmaps must have listKind set'],
    ['a strategy', { strategy: undefined as never }, 'store for configmaps must have strategy set'],
    ['attributes', { getAttributes: undefined as never }, 'store for configmaps must have getAttributes set'],
    ['a table', { table: undefined as never }, 'store for configmaps must have table set'],
    ['a stored version', { storageVersion: undefined as never }, 'store for configmaps must have storageVersion set'],
    ['a prefix', { storagePrefix: '' }, 'store for configmaps has an invalid prefix ""'],
    ['content in its prefix', { storagePrefix: '/' }, 'store for configmaps has an invalid prefix "/"'],
    ['content between slashes', { storagePrefix: '//x' }, 'store for configmaps has an invalid prefix "//x"'],
  ])('is not made without %s: it says what it lacks', (_part, changes, message) => {
    expect(() => requireComplete(testDefinition(changes))).toThrow(new TypeError(message));
  });

  it.each<[string, DefinitionChanges, string]>([
    ['none', {}, 'taken'],
    ['selectable ones', { selectableFields: ['spec.nodeName', 'spec.x'], indexedFields: ['spec.nodeName'] }, 'taken'],
    [
      'no name of a field',
      { indexedFields: ['f'] },
      'store for configmaps cannot index "f": it is not a selectable field',
    ],
    [
      'one that cannot be selected by',
      { selectableFields: ['spec.x'], indexedFields: ['spec.x', 'spec.nodeName'] },
      'store for configmaps cannot index "spec.nodeName": it is not a selectable field',
    ],
  ])('checks its indexes: %s', (_case, changes, outcome) => {
    const check = (): void => requireComplete(testDefinition(changes));
    if (outcome === 'taken') expect(check).not.toThrow();
    else expect(check).toThrow(new TypeError(outcome));
  });

  it('is refused where it is made', () => {
    expect(() => fixture.store({ singular: '' })).toThrow('store for configmaps must have a singular name');
  });

  it('reads by an index of its definition what a selector asks for, and nothing else', async () => {
    const definition = testDefinition({
      selectableFields: ['node'],
      indexedFields: ['node'],
      getAttributes: (object) => ({ labels: {}, fields: { node: String(object.node) } }),
    });
    const stack = new ResourceStack(definition, { engine: fixture.engine });
    await stack.waitUntilReady();
    try {
      for (const name of ['a', 'b', 'c']) {
        await stack.served.store.create(testContext(), configMap(name, { node: name === 'b' ? 'n1' : 'n2' }));
      }
      await stack.served.store.list(testContext(), { fieldSelector: 'node=n1' });
      expect(stack.cacher?.inspect().counters.lists).toMatchObject([{ index: 'f:node', fetched: 1, returned: 1 }]);
    } finally {
      await stack.close();
    }
  });
});

describe('the built-in resources', () => {
  const stored = builtinResources();

  it('are complete', () => {
    expect(stored.length).toBeGreaterThan(50);
    for (const definition of stored) requireComplete(definition);
  });

  it.each(stored.map((definition) => [`${definition.group}/${definition.version}/${definition.resource}`, definition]))(
    '%s have a value for each field that they can be selected by',
    (_name, definition) => {
      const { fields } = definition.getAttributes({ metadata: { name: 'a', namespace: 'b' } });
      const selectable = ['metadata.name', ...definition.selectableFields];
      expect(selectable.filter((field) => fields[field] === undefined)).toEqual([]);
    },
  );

  it('answer a deletion with the object where Kubernetes does', () => {
    const answering = stored.filter(({ returnsDeletedObject }) => returnsDeletedObject === true);
    expect(answering.map(({ resource }) => resource).sort()).toEqual([
      'csidrivers',
      'csinodes',
      'deviceclasses',
      'namespaces',
      'persistentvolumeclaims',
      'persistentvolumes',
      'pods',
      'podtemplates',
      'resourceclaims',
      'resourceclaimtemplates',
      'resourcequotas',
      'resourceslices',
      'serviceaccounts',
      'services',
      'storageclasses',
      'volumeattachments',
      'volumeattributesclasses',
    ]);
  });

  it('part with their dependents by themselves where Kubernetes lets them, for the sake of old clients', () => {
    const policies = stored.flatMap(({ group, resource, strategy }) =>
      strategy.defaultGarbageCollection === undefined
        ? []
        : [[`${group}/${resource}`, strategy.defaultGarbageCollection]],
    );
    expect(policies.sort()).toEqual([
      ['/events', 'Unsupported'],
      ['/replicationcontrollers', 'Orphan'],
      ['batch/jobs', 'Orphan'],
      ['events.k8s.io/events', 'Unsupported'],
    ]);
  });

  it('have the indexes of Kubernetes', () => {
    const indexed = stored.flatMap(({ resource, indexedFields = [] }) =>
      indexedFields.map((field) => [resource, field]),
    );
    expect(indexed).toEqual([
      ['pods', 'spec.nodeName'],
      ['resourceslices', 'spec.nodeName'],
    ]);
  });
});
