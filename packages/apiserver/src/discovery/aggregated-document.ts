// Builds aggregated discovery: all groups, versions and resources in one document. Source: apidiscovery.k8s.io/v2.
import type { GroupVersionKind } from '@kapstan/api/internal';
import type { ResourceDefinition } from '../registry/definition/resource-definition.ts';
import type { DiscoverySnapshot, VersionEntry } from './discovery-index.ts';
import { sortedSubresources, verbsShown } from './documents.ts';

type Document = Readonly<Record<string, unknown>>;

/** `root`: "api" has only the core group, "apis" all others. */
export function aggregatedDocument(index: DiscoverySnapshot, root: string): Document {
  const groups = [...index.groups.values()].filter(({ group }) => (group === '') === (root === 'api'));
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: 'apidiscovery.k8s.io/v2',
    metadata: {},
    items: groups.map(({ group, versions }) => ({
      metadata: group === '' ? {} : { name: group },
      versions: versions.map(versionFields),
    })),
  };
}

/** The resources of another API server that did not answer are not known. */
function versionFields({ version, resources, remote }: VersionEntry): Document {
  if (remote === undefined) return { version, resources: resources.map(resourceFields), freshness: 'Current' };
  const known = remote.resources.length === 0 ? {} : { resources: remote.resources };
  return { version, ...known, freshness: remote.isCurrent ? 'Current' : 'Stale' };
}

function resourceFields(definition: ResourceDefinition): Document {
  const { resource, singular, namespaced, verbs, shortNames, categories } = definition;
  const subresources = sortedSubresources(definition).map((subresource) => ({
    subresource: subresource.name,
    responseKind: responseKind(definition, subresource.type === 'object' ? subresource.kind : undefined),
    verbs: verbsShown(definition, subresource.verbs),
  }));
  return {
    resource,
    responseKind: verbs.length === 0 ? noKind : responseKind(definition, undefined),
    scope: namespaced ? 'Namespaced' : 'Cluster',
    singularResource: singular,
    verbs: verbsShown(definition, verbs),
    ...(shortNames.length === 0 ? {} : { shortNames }),
    ...(categories.length === 0 ? {} : { categories }),
    ...(subresources.length === 0 ? {} : { subresources }),
  };
}

/** The kind of a parent that exists only for its subresources. */
const noKind: Document = { group: '', version: '', kind: '' };

/** Group and version are "" if they equal the resource's own; custom resources name them. */
function responseKind(definition: ResourceDefinition, other: GroupVersionKind | undefined): Document {
  const { group, version, kind } = other ?? definition;
  const isOwn = group === definition.group && version === definition.version;
  return isOwn && definition.isCustom !== true ? { group: '', version: '', kind } : { group, version, kind };
}
