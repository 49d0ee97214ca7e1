// Makes the definition of a built-in resource from its BuiltinKind and its facts.
import type { KubernetesObject, UnstructuredObject } from '@kapstan/api';
import type { ResourceDefinition } from '@kapstan/apiserver';
import type { KindFacts, ResourceFacts, ServerCapabilities } from '@kapstan/apiserver/internal';
import { KindCatalogue, typedResource } from '@kapstan/apiserver/internal';
import { behaviourFacts, discoveryFacts, fieldSelectorFacts, storageKeyFacts } from '@kapstan/kinds/facts';
import { builtinTable } from '../table/builtin-table.ts';
import type { BuiltinKind } from './builtin-kind.ts';
import { kubernetesTypes } from './kubernetes-types.ts';

export const builtinKinds: KindCatalogue = new KindCatalogue({
  types: kubernetesTypes,
  discovery: discoveryFacts,
  storage: storageKeyFacts,
  selection: fieldSelectorFacts,
  behaviour: behaviourFacts,
  table: builtinTable,
});

/** Throws TypeError when the facts lack the resource or its kind. */
export function defineBuiltin<T extends KubernetesObject>(
  kind: BuiltinKind<T>,
  capabilities?: ServerCapabilities,
): ResourceDefinition<UnstructuredObject> {
  return typedResource(kind, builtinKinds.facts(kind.id, capabilities));
}

/** Returns the facts of a resource's kind: "apps/v1/deployments", "v1/pods". Throws TypeError when there are none. */
export function kindFactsOf(id: string, capabilities?: ServerCapabilities): KindFacts {
  return builtinKinds.kindFacts(id, capabilities);
}

/** Returns all facts of a resource. Throws TypeError when there are none. */
export function builtinFacts(id: string, capabilities?: ServerCapabilities): ResourceFacts {
  return builtinKinds.facts(id, capabilities);
}
