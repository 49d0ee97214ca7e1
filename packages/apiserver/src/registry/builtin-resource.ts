// The definition of one built-in resource: its BuiltinKind and what the facts say of it.
import {
  formatApiVersion,
  type GroupVersionResource,
  type KubernetesObject,
  parseApiVersion,
  type UnstructuredObject,
} from '@kapstan/api';
import * as facts from '@kapstan/kinds/facts';
import { builtinTable } from '../table/builtin-table.ts';
import type { ValidationPolicy } from '../validation/field.ts';
import type { BuiltinKind } from './builtin-kind.ts';
import type { KindFacts, ResourceBehaviour, ResourceFacts, SubresourceFacts } from './kind-facts.ts';
import { kubernetesTypes } from './kubernetes-types.ts';
import type { ResourceDefinition, Verb } from './resource-definition.ts';
import { typedResource } from './typed-resource.ts';

const defaultBehaviour: ResourceBehaviour = { createOnUpdate: false, updateWithoutVersion: true, generation: false };

/** Throws TypeError when the facts do not know the resource or its kind. */
export function defineBuiltin<T extends KubernetesObject>(
  kind: BuiltinKind<T>,
  policy?: ValidationPolicy,
): ResourceDefinition<UnstructuredObject> {
  return typedResource(kind, builtinFacts(kind.id, policy));
}

/** What the facts say about the kind of a resource: "apps/v1/deployments", "v1/pods". Throws TypeError for what they do not know. */
export function kindFactsOf(id: string, policy?: ValidationPolicy): KindFacts {
  const { apiVersion, entry } = identityOf(id);
  const definition = kubernetesTypes.nameOf(apiVersion, entry.kind);
  if (definition === undefined) throw new TypeError(`no definition for ${id}`);
  return {
    types: kubernetesTypes,
    definition,
    hasStatus: kubernetesTypes.schema(definition).properties?.has('status') === true,
    behaviour: facts.behaviourFacts().resources[id] ?? defaultBehaviour,
    ...(policy === undefined ? {} : { policy }),
  };
}

/** All that the facts say of a resource. Throws TypeError for one that they do not know. */
export function builtinFacts(id: string, policy?: ValidationPolicy): ResourceFacts {
  const { group, version, resource, entry } = identityOf(id);
  const identity = { group, version, resource };
  return {
    ...kindFactsOf(id, policy),
    resource: {
      ...identity,
      singular: entry.singular,
      kind: entry.kind,
      listKind: `${entry.kind}List`,
      namespaced: entry.namespaced,
      shortNames: entry.shortNames ?? [],
      categories: entry.categories ?? [],
      verbs: (entry.verbs ?? facts.discoveryFacts().standardVerbs) as readonly Verb[],
      ...(entry.hash === undefined ? {} : { storageVersionHash: entry.hash }),
      ...storageOf(id, identity),
      ...discoveryPlaceOf(identity),
      selectableFields: selectableFieldsOf(id),
      unsupportedFieldMessage: (key) => unsupportedFieldMessage(id, key),
      table: builtinTable(id),
      origin: { maker: 'builtin', parts: { id, ...(policy !== undefined && { policy }) } },
    },
    subresources: Object.entries(entry.sub ?? {}).map(([name, sub]) => subresourceFacts(identity, name, sub)),
  };
}

/** A resource of the facts, its id taken apart. */
interface Identity extends GroupVersionResource {
  readonly apiVersion: string;
  readonly entry: facts.ResourceFacts;
}

function identityOf(id: string): Identity {
  const entry = facts.discoveryFacts().resources[id];
  if (entry === undefined) throw new TypeError(`no resource ${id}`);
  const cut = id.lastIndexOf('/');
  const { group, version } = parseApiVersion(id.slice(0, cut));
  return { group, version, resource: id.slice(cut + 1), apiVersion: formatApiVersion({ group, version }), entry };
}

function subresourceFacts(
  { group, version }: GroupVersionResource,
  name: string,
  { kind, kindGV, verbs }: facts.SubresourceFacts,
): SubresourceFacts {
  const own = kindGV === undefined ? { group, version } : parseApiVersion(kindGV);
  return { name, kind: { ...own, kind }, verbs: verbs as readonly Verb[] };
}

function discoveryPlaceOf({ group, version }: GroupVersionResource): Pick<ResourceDefinition, 'discoveryPlace'> {
  const { groups } = facts.discoveryFacts();
  const own = groups[group];
  if (own === undefined) return {};
  const at = own.versions.indexOf(version);
  return { discoveryPlace: { group: Object.keys(groups).indexOf(group), version: at < 0 ? own.versions.length : at } };
}

function storageOf(
  id: string,
  { group, version }: GroupVersionResource,
): Pick<ResourceDefinition, 'storagePrefix' | 'storageVersion' | 'storedAs'> {
  const entry = facts.storageKeyFacts().resources[id];
  if (entry === undefined) {
    if (!facts.storageKeyFacts().notStored.includes(id)) throw new TypeError(`${id} is not stored`);
    return { storagePrefix: '', storageVersion: { group, version } };
  }
  const prefix = entry.key.replace(/^\/registry/, '').replace(/(\/\{namespace\})?\/\{name\}$/, '');
  const isJson = entry.media === 'application/json';
  return {
    storagePrefix: prefix,
    storageVersion: parseApiVersion(entry.apiVersion),
    ...(isJson ? { storedAs: 'application/json' } : {}),
  };
}

function selectableFieldsOf(id: string): readonly string[] {
  const keys = facts.fieldSelectorFacts().resources[id] ?? 'default';
  return keys === 'default' ? [] : keys.filter((key) => key !== 'metadata.name' && key !== 'metadata.namespace');
}

function unsupportedFieldMessage(id: string, key: string): string {
  const { refused } = facts.fieldSelectorFacts();
  const [, , text] = refused[id] ?? refused.default ?? [400, 'BadRequest', 'field label not supported: {key}'];
  return text.replace('{key}', () => key);
}
