// NamespaceAutoProvision creates a namespace with the first object in it. Source:
// plugin/pkg/admission/namespace/autoprovision.

import { isAlreadyExists } from '@kapstan/api';
import { messageOf } from '@kapstan/api/internal';
import type { AdmissionAttributes, AdmissionPlugin, ObjectReader, ResourceCatalog } from '@kapstan/apiserver';
import { refuse } from '@kapstan/apiserver/internal';
import { isOfNamespaces, namespaceResource } from './namespace-exists.ts';

export function namespaceAutoProvision(reader: ObjectReader, catalog: ResourceCatalog): AdmissionPlugin {
  return {
    name: 'NamespaceAutoProvision',
    admit: async (attributes) => {
      const { namespace, operation, context } = attributes;
      if (operation !== 'CREATE' || context.dryRun || namespace === '' || isOfNamespaces(attributes)) return;
      const present = await reader.get(namespaceResource, { namespace: '', name: namespace }, 'cached');
      if (present === undefined) await provide(catalog, attributes);
    },
  };
}

/** Creates the namespace as the server, because the user need not have permission to create namespaces. */
async function provide(catalog: ResourceCatalog, attributes: AdmissionAttributes): Promise<void> {
  const { context, namespace: name } = attributes;
  const { group, version, resource } = namespaceResource;
  const user = { name: 'system:apiserver', groups: ['system:masters'] };
  const own = { ...context, user, namespace: '', fieldManager: 'kapstan' };
  const object = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
  try {
    await catalog.find(group, version, resource)?.store.create(own, object);
  } catch (error) {
    if (!isAlreadyExists(error)) throw refuse(attributes, messageOf(error));
  }
}
