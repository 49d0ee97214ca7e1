// From a BuiltinKind and the facts to the ResourceDefinition of one built-in resource.

import type { DeepReadonly, KubernetesObject, UnstructuredObject } from '@kapstan/api';
import { notImplemented } from '@kapstan/api/errors';
import { formatApiVersion, parseApiVersion } from '@kapstan/api/internal';
import {
  behaviourFacts,
  discoveryFacts,
  fieldSelectorFacts,
  type ResourceBehaviour,
  type ResourceFacts,
  type SubresourceFacts,
  storageKeyFacts,
} from '@kapstan/kinds/facts';
import type { GetAttributes } from '@kapstan/storage';
import { builtinDefinitionName, builtinSchema } from '../schema/builtin-schemas.ts';
import { applySchemaDefaults, schemaDefaultsInSlices } from '../schema/defaulting.ts';
import { normalizeGoForm, normalizeGoFormInSlices } from '../schema/go-form.ts';
import { builtinTable } from '../table/builtin-table.ts';
import type { BuiltinKind } from './builtin-kind.ts';
import { builtinStatusStrategy, builtinStrategy, type KindFacts } from './builtin-strategy.ts';
import type { ResourceDefinition, Subresource, Verb } from './resource-definition.ts';
import type { ValidationPolicy } from './validation/field.ts';

/** A resource of the facts, its id taken apart. */
interface Identity {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly facts: ResourceFacts;
}

const defaultBehaviour: ResourceBehaviour = { createOnUpdate: false, updateWithoutVersion: true, generation: false };

/** Throws TypeError when the facts do not know the resource or its kind. */
export function defineBuiltin<T extends KubernetesObject>(
  kind: BuiltinKind<T>,
  policy?: ValidationPolicy,
): ResourceDefinition<UnstructuredObject> {
  const identity = identityOf(kind.id);
  const { group, version, resource, facts } = identity;
  const kindFacts = kindFactsOf(kind.id, policy);
  const schema = builtinSchema(formatApiVersion(identity), facts.kind);
  if (schema === undefined) throw new TypeError(`no schema for ${kind.id}`);
  const storage = storageOf(kind.id);
  const definition: ResourceDefinition<T> = {
    group,
    version,
    resource,
    singular: facts.singular,
    kind: facts.kind,
    listKind: `${facts.kind}List`,
    namespaced: facts.namespaced,
    shortNames: facts.shortNames ?? [],
    categories: facts.categories ?? [],
    verbs: (facts.verbs ?? discoveryFacts().standardVerbs) as readonly Verb[],
    ...(facts.hash === undefined ? {} : { storageVersionHash: facts.hash }),
    ...storage,
    schema,
    strategy: builtinStrategy(kind, kindFacts),
    origin: { type: 'builtin', id: kind.id, ...(policy !== undefined && { policy }) },
    subresources: subresourcesOf(kind, identity, kindFacts),
    table: builtinTable<T>(kind.id),
    getAttributes: attributesOf(kind, facts.namespaced),
    selectableFields: selectableFieldsOf(kind.id),
    unsupportedFieldMessage: (key) => unsupportedFieldMessage(kind.id, key),
    applyDefaults: (object) => {
      const isReset = object.metadata?.managedFields?.length === 0;
      // Structs that are not there have defaults too: a missing pod template gets its restartPolicy.
      normalizeGoForm(kindFacts.definition, object as Record<string, unknown>);
      applySchemaDefaults(schema, object);
      kind.setDefaults?.(object);
      normalizeGoForm(kindFacts.definition, object as Record<string, unknown>);
      // The one empty list that says something: whoever sends it gives up all ownership.
      if (isReset) object.metadata = { ...object.metadata, managedFields: [] };
    },
    applyDefaultsInSlices: function* (object) {
      const isReset = object.metadata?.managedFields?.length === 0;
      yield* normalizeGoFormInSlices(kindFacts.definition, object as Record<string, unknown>);
      yield* schemaDefaultsInSlices(schema, object);
      yield;
      kind.setDefaults?.(object);
      yield;
      yield* normalizeGoFormInSlices(kindFacts.definition, object as Record<string, unknown>);
      if (isReset) object.metadata = { ...object.metadata, managedFields: [] };
    },
    ...(kind.indexedFields === undefined ? {} : { indexedFields: kind.indexedFields }),
    ...(kind.convert === undefined ? {} : { convert: kind.convert }),
    ...(kind.upgrades === undefined ? {} : { upgrades: kind.upgrades }),
    ...(kind.allocation === undefined ? {} : { allocation: kind.allocation }),
    ...(kind.returnsDeletedObject === undefined ? {} : { returnsDeletedObject: kind.returnsDeletedObject }),
    ...(kind.invalidKind === undefined ? {} : { invalidKind: kind.invalidKind }),
  };
  // The one place where the static type of a kind's objects is given up: the server handles all resources alike.
  return definition as unknown as ResourceDefinition<UnstructuredObject>;
}

/** What the facts say about the kind of a resource. */
export function kindFactsOf(id: string, policy?: ValidationPolicy): KindFacts {
  const identity = identityOf(id);
  const apiVersion = formatApiVersion(identity);
  const definition = builtinDefinitionName(apiVersion, identity.facts.kind);
  if (definition === undefined) throw new TypeError(`no definition for ${id}`);
  return {
    definition,
    hasStatus: builtinSchema(apiVersion, identity.facts.kind)?.properties?.has('status') === true,
    behaviour: behaviourFacts().resources[id] ?? defaultBehaviour,
    ...(policy === undefined ? {} : { policy }),
  };
}

function identityOf(id: string): Identity {
  const facts = discoveryFacts().resources[id];
  if (facts === undefined) throw new TypeError(`no resource ${id}`);
  const cut = id.lastIndexOf('/');
  return { ...parseApiVersion(id.slice(0, cut)), resource: id.slice(cut + 1), facts };
}

function storageOf(id: string): Pick<ResourceDefinition, 'storagePrefix' | 'storageVersion'> {
  const facts = storageKeyFacts().resources[id];
  if (facts === undefined) {
    if (!storageKeyFacts().notStored.includes(id)) throw new TypeError(`${id} is not stored`);
    const { group, version } = identityOf(id);
    return { storagePrefix: '', storageVersion: { group, version } };
  }
  const prefix = facts.key.replace(/^\/registry/, '').replace(/(\/\{namespace\})?\/\{name\}$/, '');
  return { storagePrefix: prefix, storageVersion: parseApiVersion(facts.apiVersion) };
}

function subresourcesOf<T extends KubernetesObject>(
  kind: BuiltinKind<T>,
  identity: Identity,
  kindFacts: KindFacts,
): Subresource<T>[] {
  return Object.entries(identity.facts.sub ?? {}).map(([name, facts]) => {
    const own = kind.subresources?.find((subresource) => subresource.name === name);
    if (own !== undefined) return own;
    const verbs = facts.verbs as readonly Verb[];
    if (name === 'status') {
      const { withoutTable = false } = kind.status ?? {};
      return { type: 'strategy', name, verbs, strategy: builtinStatusStrategy(kind, kindFacts), withoutTable };
    }
    return refusedSubresource(identity, name, facts);
  });
}

/** A subresource that Kubernetes has and this server has not: every verb answers 501. */
function refusedSubresource<T extends KubernetesObject>(
  identity: Identity,
  name: string,
  facts: SubresourceFacts,
): Subresource<T> {
  const refuse = (): Promise<never> =>
    Promise.reject(notImplemented(`${identity.resource}/${name} is not served here`));
  const groupVersion = facts.kindGV === undefined ? identity : parseApiVersion(facts.kindGV);
  return {
    type: 'object',
    name,
    kind: { group: groupVersion.group, version: groupVersion.version, kind: facts.kind },
    verbs: facts.verbs as readonly Verb[],
    get: refuse,
    create: refuse,
    update: refuse,
  };
}

function attributesOf<T extends KubernetesObject>(kind: BuiltinKind<T>, isNamespaced: boolean): GetAttributes<T> {
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

function selectableFieldsOf(id: string): readonly string[] {
  const keys = fieldSelectorFacts().resources[id] ?? 'default';
  return keys === 'default' ? [] : keys.filter((key) => key !== 'metadata.name' && key !== 'metadata.namespace');
}

function unsupportedFieldMessage(id: string, key: string): string {
  const { refused } = fieldSelectorFacts();
  const [, , text] = refused[id] ?? refused.default ?? [400, 'BadRequest', 'field label not supported: {key}'];
  return text.replace('{key}', () => key);
}
