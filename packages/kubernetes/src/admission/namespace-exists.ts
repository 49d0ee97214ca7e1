// NamespaceExists refuses writes and deletions in a missing namespace. Source: plugin/pkg/admission/namespace/exists.

import { notFound } from '@kapstan/api/errors';
import type { GroupVersionResource } from '@kapstan/api/internal';
import type { AdmissionAttributes, AdmissionPlugin, ObjectReader } from '@kapstan/apiserver';

export const namespaceResource: GroupVersionResource = { group: '', version: 'v1', resource: 'namespaces' };

/** A request about a namespace has that namespace's own name as its namespace. */
export function isOfNamespaces({ resource }: AdmissionAttributes): boolean {
  return resource.group === '' && resource.resource === 'namespaces';
}

export function namespaceExists(reader: ObjectReader): AdmissionPlugin {
  return {
    name: 'NamespaceExists',
    validate: async (attributes) => {
      const { namespace: name } = attributes;
      if (name === '' || isOfNamespaces(attributes)) return;
      const target = { namespace: '', name };
      const found =
        (await reader.get(namespaceResource, target, 'cached')) ??
        (await reader.get(namespaceResource, target, 'live'));
      if (found === undefined) throw notFound(namespaceResource, name);
    },
  };
}
