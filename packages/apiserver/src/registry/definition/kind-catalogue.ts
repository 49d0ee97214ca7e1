// KindCatalogue reads facts about a set of kinds with Go types from data: their discovery, storage keys, selection,
// columns and behaviour in writes. A package with kinds makes one and reads the facts of each resource from it.
import { formatApiVersion, type GroupVersionResource, parseApiVersion } from '@kapstan/api/internal';
import type { ApiTypes } from '../../schema/node/schema-node.ts';
import type { ServerCapabilities } from '../meta/field.ts';
import type { KindFacts, ResourceBehaviour, ResourceFacts, SubresourceFacts } from './kind-facts.ts';
import type { ResourceDefinition, Verb } from './resource-definition.ts';

/** Facts about a resource that discovery shows to clients. */
interface DiscoveryEntry {
  readonly kind: string;
  readonly singular: string;
  readonly namespaced: boolean;
  /** Absent = `standardVerbs`. */
  readonly verbs?: readonly string[];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  /** Value of storageVersionHash in discovery. */
  readonly hash?: string;
  readonly sub?: Readonly<Record<string, SubresourceEntry>>;
  /** True when the resource is served only on request. */
  readonly optIn?: boolean;
}

interface SubresourceEntry {
  readonly kind: string;
  /** apiVersion of the kind. Absent = the resource's. */
  readonly kindGV?: string;
  readonly verbs: readonly string[];
}

interface StorageEntry {
  /** For example "/registry/pods/{namespace}/{name}". */
  readonly key: string;
  readonly apiVersion: string;
  readonly media?: string;
}

/**
 * Resources are named by their apiVersion and name: "apps/v1/deployments", "v1/pods". Each function may be called
 * repeatedly.
 */
export interface KindData {
  readonly types: ApiTypes;
  discovery(): {
    readonly standardVerbs: readonly string[];
    /** The groups in the order served, their versions in order of preference. */
    readonly groups: Readonly<Record<string, { readonly versions: readonly string[] }>>;
    readonly resources: Readonly<Record<string, DiscoveryEntry>>;
  };
  storage(): { readonly resources: Readonly<Record<string, StorageEntry>>; readonly notStored: readonly string[] };
  /**
   * Selectable keys by resource, with "default" for keys of all resources; and by resource the text that refuses other
   * keys.
   */
  selection(): {
    readonly resources: Readonly<Record<string, 'default' | readonly string[]>>;
    readonly refused: Readonly<Record<string, readonly [code: number, reason: string, message: string]>>;
  };
  behaviour(): { readonly resources: Readonly<Record<string, ResourceBehaviour>> };
  table(id: string): ResourceDefinition['table'];
}

const defaultBehaviour: ResourceBehaviour = { createOnUpdate: false, updateWithoutVersion: true, generation: false };

/** A resource of the data, with its id split up. */
interface Identity extends GroupVersionResource {
  readonly apiVersion: string;
  readonly entry: DiscoveryEntry;
}

/** The facts of a resource that are the same for every server. */
interface CommonFacts extends Pick<ResourceFacts, 'subresources'> {
  readonly resource: Omit<ResourceFacts['resource'], 'origin'>;
}

export class KindCatalogue {
  readonly #data: KindData;
  /** Kept, because a process may start many servers, and each asks for all resources. */
  readonly #common = new Map<string, CommonFacts>();

  /** Reads nothing until it is first used. */
  constructor(data: KindData) {
    this.#data = data;
  }

  /** Returns all resources that are served by default, in the order of discovery. */
  ids(): readonly string[] {
    const { resources } = this.#data.discovery();
    return Object.keys(resources).filter((id) => resources[id]?.optIn !== true);
  }

  /** Returns the facts of a resource's kind. Throws TypeError for an unknown resource. */
  kindFacts(id: string, capabilities?: ServerCapabilities): KindFacts {
    const { types } = this.#data;
    const { apiVersion, entry } = this.#identityOf(id);
    const definition = types.nameOf(apiVersion, entry.kind);
    if (definition === undefined) throw new TypeError(`no definition for ${id}`);
    return {
      types,
      definition,
      hasStatus: types.schema(definition).properties?.has('status') === true,
      behaviour: this.#data.behaviour().resources[id] ?? defaultBehaviour,
      capabilities,
    };
  }

  /** Returns all facts of a resource. Throws TypeError for an unknown one. */
  facts(id: string, capabilities?: ServerCapabilities): ResourceFacts {
    let common = this.#common.get(id);
    if (common === undefined) {
      common = this.#commonFacts(id);
      this.#common.set(id, common);
    }
    return {
      ...this.kindFacts(id, capabilities),
      resource: { ...common.resource, origin: { maker: 'builtin', parts: { id, capabilities } } },
      subresources: common.subresources,
    };
  }

  #commonFacts(id: string): CommonFacts {
    const { group, version, resource, entry } = this.#identityOf(id);
    const identity = { group, version, resource };
    return {
      resource: {
        ...identity,
        singular: entry.singular,
        kind: entry.kind,
        listKind: `${entry.kind}List`,
        namespaced: entry.namespaced,
        shortNames: entry.shortNames ?? [],
        categories: entry.categories ?? [],
        verbs: (entry.verbs ?? this.#data.discovery().standardVerbs) as readonly Verb[],
        storageVersionHash: entry.hash,
        ...this.#storageOf(id, identity),
        ...this.#discoveryPlaceOf(identity),
        selectableFields: this.#selectableFieldsOf(id),
        unsupportedFieldMessage: (key) => this.#unsupportedFieldMessage(id, key),
        table: this.#data.table(id),
      },
      subresources: Object.entries(entry.sub ?? {}).map(([name, sub]) => subresourceFacts(identity, name, sub)),
    };
  }

  #identityOf(id: string): Identity {
    const entry = this.#data.discovery().resources[id];
    if (entry === undefined) throw new TypeError(`no resource ${id}`);
    const cut = id.lastIndexOf('/');
    const { group, version } = parseApiVersion(id.slice(0, cut));
    return { group, version, resource: id.slice(cut + 1), apiVersion: formatApiVersion({ group, version }), entry };
  }

  #discoveryPlaceOf({ group, version }: GroupVersionResource): Pick<ResourceDefinition, 'discoveryPlace'> {
    const { groups } = this.#data.discovery();
    const own = groups[group];
    if (own === undefined) return {};
    const at = own.versions.indexOf(version);
    const place = { group: Object.keys(groups).indexOf(group), version: at < 0 ? own.versions.length : at };
    return { discoveryPlace: place };
  }

  #storageOf(
    id: string,
    { group, version }: GroupVersionResource,
  ): Pick<ResourceDefinition, 'storagePrefix' | 'storageVersion' | 'storedAs'> {
    const { resources, notStored } = this.#data.storage();
    const entry = resources[id];
    if (entry === undefined) {
      if (!notStored.includes(id)) throw new TypeError(`${id} is not stored`);
      return { storagePrefix: '', storageVersion: { group, version } };
    }
    const prefix = entry.key.replace(/^\/registry/, '').replace(/(\/\{namespace\})?\/\{name\}$/, '');
    return {
      storagePrefix: prefix,
      storageVersion: parseApiVersion(entry.apiVersion),
      ...(entry.media === 'application/json' ? { storedAs: 'application/json' } : {}),
    };
  }

  #selectableFieldsOf(id: string): readonly string[] {
    const keys = this.#data.selection().resources[id] ?? 'default';
    return keys === 'default' ? [] : keys.filter((key) => key !== 'metadata.name' && key !== 'metadata.namespace');
  }

  #unsupportedFieldMessage(id: string, key: string): string {
    const { refused } = this.#data.selection();
    const [, , text] = refused[id] ?? refused.default ?? [400, 'BadRequest', 'field label not supported: {key}'];
    return text.replace('{key}', () => key);
  }
}

function subresourceFacts(
  { group, version }: GroupVersionResource,
  name: string,
  { kind, kindGV, verbs }: SubresourceEntry,
): SubresourceFacts {
  const own = kindGV === undefined ? { group, version } : parseApiVersion(kindGV);
  return { name, kind: { ...own, kind }, verbs: verbs as readonly Verb[] };
}
