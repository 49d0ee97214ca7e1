// Builds the documents of discovery for one group, version or list at a time. For historical reasons only some have an
// apiVersion. Source: meta/v1 APIVersions, APIGroup, APIGroupList, APIResourceList.
import { createHash } from 'node:crypto';
import { formatApiVersion } from '@kapstan/api/internal';
import type { ResourceDefinition, Verb } from '../registry/definition/resource-definition.ts';
import type { DiscoverySnapshot, GroupEntry, VersionEntry } from './discovery-index.ts';

type Document = Readonly<Record<string, unknown>>;

export function apiVersionsDocument(serverAddress: string): Document {
  return {
    kind: 'APIVersions',
    versions: ['v1'],
    serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress }],
  };
}

export function groupListDocument(index: DiscoverySnapshot): Document {
  const groups = [...index.groups.values()].filter(({ group }) => group !== '').map(groupFields);
  return { kind: 'APIGroupList', apiVersion: 'v1', groups };
}

export function groupDocument(entry: GroupEntry): Document {
  return { kind: 'APIGroup', apiVersion: 'v1', ...groupFields(entry) };
}

function groupFields({ group, versions }: GroupEntry): Document {
  const named = versions.map(({ version }) => ({ groupVersion: formatApiVersion({ group, version }), version }));
  return { name: group, versions: named, preferredVersion: named[0] };
}

/** The core group's list has no apiVersion. */
export function resourceListDocument({ group }: GroupEntry, { version, resources }: VersionEntry): Document {
  return {
    kind: 'APIResourceList',
    ...(group === '' ? {} : { apiVersion: 'v1' }),
    groupVersion: formatApiVersion({ group, version }),
    resources: resources.flatMap((definition) => [
      // A parent that exists only for its subresources is not listed as a resource.
      ...(definition.verbs.length === 0 ? [] : [resourceFields(definition)]),
      ...sortedSubresources(definition).map((subresource) => subresourceFields(definition, subresource)),
    ]),
  };
}

function resourceFields(definition: ResourceDefinition): Document {
  const { resource, singular, namespaced, kind, verbs, shortNames, categories } = definition;
  const hash = storageVersionHash(definition);
  return {
    name: resource,
    singularName: singular,
    namespaced,
    kind,
    verbs: verbsShown(definition, verbs),
    ...(shortNames.length === 0 ? {} : { shortNames }),
    ...(categories.length === 0 ? {} : { categories }),
    ...(hash === '' ? {} : { storageVersionHash: hash }),
  };
}

function subresourceFields(definition: ResourceDefinition, subresource: SubresourceLike): Document {
  const other = subresource.type === 'object' ? subresource.kind : undefined;
  const isForeign = other !== undefined && (other.group !== definition.group || other.version !== definition.version);
  return {
    name: `${definition.resource}/${subresource.name}`,
    singularName: '',
    namespaced: definition.namespaced,
    ...(isForeign ? { group: other.group, version: other.version } : {}),
    kind: other?.kind ?? definition.kind,
    verbs: verbsShown(definition, subresource.verbs),
  };
}

type SubresourceLike = ResourceDefinition['subresources'][number];

/** Returns the subresources sorted by name; those of custom resources keep their order. */
export function sortedSubresources(definition: ResourceDefinition): readonly SubresourceLike[] {
  if (definition.isCustom === true) return definition.subresources;
  return [...definition.subresources].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/**
 * The verbs are sorted, except the verbs of custom resources, which have a fixed order. Source: crdHandler's discovery.
 */
export function verbsShown(definition: ResourceDefinition, verbs: readonly Verb[]): readonly Verb[] {
  return definition.isCustom === true ? verbs : [...verbs].sort();
}

/**
 * Returns the definition's hash; for other stored resources, one made from group, version and kind of the stored form.
 */
function storageVersionHash(definition: ResourceDefinition): string {
  if (definition.storageVersionHash !== undefined) return definition.storageVersionHash;
  if (!definition.verbs.includes('create') || !definition.verbs.includes('list')) return '';
  const { group, version } = definition.storageVersion;
  const digest = createHash('sha256').update(`${group}/${version}/${definition.kind}`).digest();
  return digest.subarray(0, 8).toString('base64');
}
