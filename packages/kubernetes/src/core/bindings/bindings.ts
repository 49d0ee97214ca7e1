// Bindings: the old way to assign a pod to a node, with the pod's name in the body. Source: pod/storage
// LegacyBindingREST.

import type { UnstructuredObject } from '@kapstan/api';
import { badRequest, notFound } from '@kapstan/api/errors';
import type { ResourceStore } from '@kapstan/apiserver';
import type { Binding, Pod } from '@kapstan/kinds/core/v1';
import type { BuiltinServer } from '../../builtin/builtin-kind.ts';
import type { VirtualKind } from '../../builtin/virtual-resource.ts';
import { bindingSubresource, requireTarget } from '../pods/binding.ts';

/** Returns the kind Binding, which is not stored: a create sets a pod's node. */
export function bindings(server: Pick<BuiltinServer, 'clock' | 'findStore'>): VirtualKind<Binding> {
  const bind = bindingSubresource(server);
  return {
    id: 'v1/bindings',
    validate: (object) => requireTarget(object as Binding),
    answer: (object, context) => {
      const pods = server.findStore('', 'v1', 'pods') as unknown as ResourceStore<Pod> | undefined;
      const name = object.metadata?.name ?? '';
      if (name === '') throw badRequest('Name parameter required.');
      if (pods === undefined || bind.create === undefined) throw notFound({ group: '', resource: 'pods' }, name);
      const body = object as unknown as UnstructuredObject;
      return bind.create(pods, context, { name, body, validate: async () => undefined });
    },
  };
}
