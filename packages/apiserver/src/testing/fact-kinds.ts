// Resources for the tests of this package: Kubernetes' own resources from the facts, with few of their rules.
import type { DeepReadonly, KubernetesObject, UnstructuredObject } from '@kapstan/api';
import {
  behaviourFacts,
  discoveryFacts,
  fieldSelectorFacts,
  storageKeyFacts,
  tableColumnFacts,
} from '@kapstan/kinds/facts';
import { KindCatalogue } from '../registry/definition/kind-catalogue.ts';
import type { ResourceDefinition } from '../registry/definition/resource-definition.ts';
import type { TypedKind } from '../registry/definition/typed-kind.ts';
import { typedResource } from '../registry/definition/typed-resource.ts';
import { timeSince } from '../table/age.ts';
import { factTypes } from './fact-types.ts';

const factKinds: KindCatalogue = new KindCatalogue({
  types: factTypes,
  discovery: discoveryFacts,
  storage: storageKeyFacts,
  selection: fieldSelectorFacts,
  behaviour: behaviourFacts,
  table: (id) => ({
    columns: (tableColumnFacts().resources[id] ?? defaultColumns).map(([name, type, format, priority]) => ({
      ...{ name, type, format, description: '', priority },
    })),
    cells: (object) => cellsOf(id, object),
  }),
});

const defaultColumns = [
  ['Name', 'string', 'name', 0],
  ['Created At', 'date', '', 0],
] as const;

/** Returns name, contents and age of a ConfigMap; for all other kinds name and time of creation. */
function cellsOf(id: string, object: DeepReadonly<UnstructuredObject>): readonly unknown[] {
  const { name = '', creationTimestamp } = object.metadata ?? {};
  if (id !== 'v1/configmaps') return [name, creationTimestamp ?? null];
  const age = timeSince(creationTimestamp);
  return [name, Object.keys((object.data ?? {}) as object).length, age];
}

/** Rules of some kinds. */
const rules: Readonly<Record<string, Omit<TypedKind, 'id'>>> = {
  'v1/endpoints': {
    deprecationWarning: 'v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice',
  },
  'v1/namespaces': { isOwnNamespace: true },
  'apiregistration.k8s.io/v1/apiservices': { hasGroupRoute: true },
};

function factDefinition<T extends KubernetesObject>(kind: TypedKind<T>): ResourceDefinition {
  return typedResource(kind, factKinds.facts(kind.id));
}

/** Returns all stored resources except definitions of custom resources. */
export function factDefinitions(): ResourceDefinition[] {
  const { notStored } = storageKeyFacts();
  const stored = factKinds.ids().filter((id) => !notStored.includes(id) && !id.endsWith('/customresourcedefinitions'));
  return stored.map((id) => factDefinition({ id, ...rules[id] }));
}
