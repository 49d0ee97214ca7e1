// Makes the ResourceDefinition of one resource from a TypedKind and its facts.
import type { DeepReadonly, KubernetesObject, UnstructuredObject } from '@kapstan/api';
import { notImplemented } from '@kapstan/api/errors';
import type { GetAttributes } from '@kapstan/storage';
import { applySchemaDefaults, schemaDefaultsInSlices } from '../../schema/defaulting.ts';
import { emptyPlaces, emptyPlacesOf, noteEmpties, rememberEmpties } from '../../schema/go/decoded-empties.ts';
import type { EmptyKeeping } from '../../schema/node/kept-empties.ts';
import type { TableConvertor } from '../../table/table.ts';
import type { ResourceFacts, SubresourceFacts } from './kind-facts.ts';
import type { ResourceDefinition, Subresource } from './resource-definition.ts';
import type { TypedKind } from './typed-kind.ts';
import { typedStatusStrategy, typedStrategy } from './typed-strategy.ts';

/** Returns the definition. Throws TypeError when the types do not know the kind. */
export function typedResource<T extends KubernetesObject>(
  kind: TypedKind<T>,
  facts: ResourceFacts,
): ResourceDefinition<UnstructuredObject> {
  const { types } = facts;
  const schema = types.schema(facts.definition);
  const definition: Omit<ResourceDefinition<T>, 'table'> & Pick<ResourceDefinition, 'table'> = {
    ...facts.resource,
    table: tableOf(kind, facts.resource.table),
    schema,
    strategy: typedStrategy(kind, facts),
    subresources: subresourcesOf(kind, facts),
    getAttributes: attributesOf(kind, facts.resource.namespaced),
    applyDefaults: (object) => {
      const isReset = object.metadata?.managedFields?.length === 0;
      const all: EmptyKeeping = { fields: 'all', found: false };
      // Missing structs get defaults too: a missing pod template gets its restartPolicy.
      types.normalize(facts.definition, object as Record<string, unknown>, all);
      applySchemaDefaults(schema, object);
      kind.setDefaults?.(object);
      const places = all.found ? emptyPlacesOf(object) : [];
      const required: EmptyKeeping = { fields: 'required', found: false };
      types.normalize(facts.definition, object as Record<string, unknown>, required);
      if (required.found) noteEmpties(object);
      rememberEmpties(object, places);
      // This empty list has a meaning: its sender gives up all ownership.
      if (isReset) object.metadata = { ...object.metadata, managedFields: [] };
    },
    applyDefaultsInSlices: function* (object) {
      const isReset = object.metadata?.managedFields?.length === 0;
      const all: EmptyKeeping = { fields: 'all', found: false };
      yield* types.normalizeInSlices(facts.definition, object as Record<string, unknown>, all);
      yield* schemaDefaultsInSlices(schema, object);
      yield;
      if (kind.setDefaultsInSlices === undefined) kind.setDefaults?.(object);
      else yield* kind.setDefaultsInSlices(object);
      yield;
      const places = all.found ? yield* emptyPlaces(object) : [];
      const required: EmptyKeeping = { fields: 'required', found: false };
      yield* types.normalizeInSlices(facts.definition, object as Record<string, unknown>, required);
      if (required.found) noteEmpties(object);
      rememberEmpties(object, places);
      if (isReset) object.metadata = { ...object.metadata, managedFields: [] };
    },
    indexedFields: kind.indexedFields,
    convert: kind.convert,
    upgrades: kind.upgrades,
    allocation: kind.allocation,
    returnsDeletedObject: kind.returnsDeletedObject,
    invalidKind: kind.invalidKind,
    uncachedByDefault: kind.uncachedByDefault,
    isOwnNamespace: kind.isOwnNamespace,
    hasGroupRoute: kind.hasGroupRoute,
    deprecationWarning: kind.deprecationWarning,
    versionAnnotations: kind.versionAnnotations,
  };
  // The static type of a kind's objects is given up only here, because the server handles all resources alike.
  return definition as unknown as ResourceDefinition<UnstructuredObject>;
}

function tableOf<T extends KubernetesObject>(
  { cells }: TypedKind<T>,
  table: TableConvertor<UnstructuredObject>,
): TableConvertor<UnstructuredObject> {
  return cells === undefined ? table : { ...table, cells: cells as TableConvertor<UnstructuredObject>['cells'] };
}

function subresourcesOf<T extends KubernetesObject>(kind: TypedKind<T>, facts: ResourceFacts): Subresource<T>[] {
  return facts.subresources.map((subresource) => {
    const { name, verbs } = subresource;
    const own = kind.subresources?.find((candidate) => candidate.name === name);
    if (own !== undefined) return own;
    if (name === 'status') {
      const { withoutTable = false } = kind.status ?? {};
      return { type: 'strategy', name, verbs, strategy: typedStatusStrategy(kind, facts), withoutTable };
    }
    return refusedSubresource(facts.resource.resource, subresource);
  });
}

/** Returns a subresource that clients know but this server does not serve: every verb answers 501. */
function refusedSubresource<T extends KubernetesObject>(
  resource: string,
  { name, kind, verbs }: SubresourceFacts,
): Subresource<T> {
  const refuse = (): Promise<never> => Promise.reject(notImplemented(`${resource}/${name} is not served here`));
  return { type: 'object', name, kind, verbs, get: refuse, create: refuse, update: refuse };
}

function attributesOf<T extends KubernetesObject>(kind: TypedKind<T>, isNamespaced: boolean): GetAttributes<T> {
  return (object: DeepReadonly<T>) => {
    const metadata = object.metadata;
    return {
      labels: metadata?.labels ?? {},
      fields: {
        'metadata.name': metadata?.name ?? '',
        ...(isNamespaced ? { 'metadata.namespace': metadata?.namespace ?? '' } : {}),
        ...kind.fields?.(object),
      },
    };
  };
}
