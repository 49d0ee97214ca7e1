import type { UnstructuredObject } from '@kapstan/api';
import { describe, expect, it } from 'vitest';
import { ResourceCatalog } from '../registry/definition/catalog.ts';
import type { ResourceDefinition, Subresource } from '../registry/definition/resource-definition.ts';
import { testDefinition } from '../testing/store-fixture.ts';
import { aggregatedDocument } from './aggregated-document.ts';
import { DiscoveryIndex, type GroupEntry, type VersionEntry } from './discovery-index.ts';
import { resourceListDocument } from './documents.ts';

const rollback = {
  type: 'object',
  name: 'rollback',
  kind: { group: 'g.io', version: 'v1', kind: 'WidgetRollback' },
  verbs: ['create'],
} as Subresource<UnstructuredObject>;

const widgets = (changes: Partial<ResourceDefinition>): ResourceDefinition =>
  testDefinition({ group: 'g.io', resource: 'widgets', singular: 'widget', kind: 'Widget', ...changes });

/** Returns both forms of discovery of a server's only resource. */
function found(definition: ResourceDefinition): { readonly list: unknown; readonly aggregated: unknown } {
  const catalog = new ResourceCatalog();
  catalog.install({ definition, store: {} as never });
  const index = new DiscoveryIndex(catalog).current();
  const group = index.groups.get('g.io') as GroupEntry;
  const list = resourceListDocument(group, group.versions[0] as VersionEntry);
  return { list: list.resources, aggregated: aggregatedDocument(index, 'apis').items };
}

describe('a resource in discovery', () => {
  it('has its names: one, several, short ones, and the categories it is in', () => {
    const { list, aggregated } = found(
      widgets({ shortNames: ['wd'], categories: ['all'], verbs: ['list', 'get'], storageVersionHash: 'h' }),
    );
    const names = { shortNames: ['wd'], categories: ['all'], verbs: ['get', 'list'] };
    const own = { name: 'widgets', singularName: 'widget', namespaced: true, kind: 'Widget', storageVersionHash: 'h' };
    expect(list).toEqual([{ ...own, ...names }]);
    expect(aggregated).toMatchObject([
      {
        metadata: { name: 'g.io' },
        versions: [
          {
            version: 'v1',
            resources: [{ resource: 'widgets', singularResource: 'widget', scope: 'Namespaced', ...names }],
          },
        ],
      },
    ]);
  });

  it('is not listed where it is there for its subresources alone, and has no kind among all', () => {
    const { list, aggregated } = found(widgets({ verbs: [], subresources: [rollback] }));
    expect(list).toEqual([
      { name: 'widgets/rollback', singularName: '', namespaced: true, kind: 'WidgetRollback', verbs: ['create'] },
    ]);
    expect(aggregated).toMatchObject([
      {
        versions: [
          {
            resources: [
              {
                resource: 'widgets',
                responseKind: { group: '', version: '', kind: '' },
                verbs: [],
                subresources: [{ subresource: 'rollback', verbs: ['create'] }],
              },
            ],
          },
        ],
      },
    ]);
  });
});
