// ResourceCatalog holds the resources served now: built-in ones from the start, custom ones as their definitions come
// and go.

import type { UnstructuredObject } from '@kapstan/api';
import { formatApiVersion } from '@kapstan/api/internal';
import type { ResourceDefinition, Subresource } from './resource-definition.ts';
import type { ResourceStore } from './resource-store.ts';

/** A served resource, with its store. */
export interface ServedResource {
  readonly definition: ResourceDefinition<UnstructuredObject>;
  readonly store: ResourceStore<UnstructuredObject>;
}

/** Gets what is served from now on in one place, and what was served there before; undefined = nothing. */
type ChangeListener = (next: ServedResource | undefined, before: ServedResource | undefined) => void;

/** Read on every request and changed when definitions change, so it is plain synchronous state. */
export class ResourceCatalog {
  readonly #resources = new Map<string, ServedResource>();
  readonly #listeners = new Set<ChangeListener>();
  #generation = 0;
  /** The last answer of {@link longSubresources}, and the generation that it is of. */
  #long: { readonly generation: number; readonly names: ReadonlySet<string> } | undefined;

  /** Rises with every change; discovery and OpenAPI documents are cached by it. */
  get generation(): number {
    return this.#generation;
  }

  /** Names of the subresources whose requests last: those that connect to a peer, and those that answer with bytes. */
  get longSubresources(): ReadonlySet<string> {
    if (this.#long?.generation === this.#generation) return this.#long.names;
    const names = new Set<string>();
    for (const { definition } of this.#resources.values())
      for (const subresource of definition.subresources) if (isLong(subresource)) names.add(subresource.name);
    for (const name of commonSubresources) names.delete(name);
    this.#long = { generation: this.#generation, names };
    return names;
  }

  find(group: string, version: string, resource: string): ServedResource | undefined {
    return this.#resources.get(keyOf(group, version, resource));
  }

  /** Returns another version of the group in which the same objects are served. */
  findVersion(
    { group, kind, storagePrefix }: ResourceDefinition,
    apiVersion: string,
  ): ResourceDefinition<UnstructuredObject> | undefined {
    for (const { definition } of this.#resources.values()) {
      if (definition.group !== group) continue;
      const isSame = storagePrefix !== '' && definition.storagePrefix === storagePrefix && definition.kind === kind;
      if (isSame && formatApiVersion(definition) === apiVersion) return definition;
    }
    return undefined;
  }

  /** Adds a resource or replaces it. */
  install(served: ServedResource): void {
    const { group, version, resource } = served.definition;
    const key = keyOf(group, version, resource);
    const before = this.#resources.get(key);
    this.#resources.set(key, served);
    this.#changed(served, before);
  }

  remove(group: string, version: string, resource: string): void {
    const key = keyOf(group, version, resource);
    const before = this.#resources.get(key);
    if (this.#resources.delete(key)) this.#changed(undefined, before);
  }

  /** Returns all resources in the order of installation. */
  all(): readonly ServedResource[] {
    return [...this.#resources.values()];
  }

  /** Calls back after each change, synchronously. The returned function ends it. */
  onChange(listener: ChangeListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #changed(...change: Parameters<ChangeListener>): void {
    this.#generation++;
    for (const listener of this.#listeners) listener(...change);
  }
}

/** Kinds have these in common, so one that connects to a peer there does not change the time limits of the others. */
const commonSubresources = ['status', 'scale'];

function isLong(subresource: Subresource<UnstructuredObject>): boolean {
  return subresource.type === 'bytes' || (subresource.type === 'object' && subresource.connect !== undefined);
}

function keyOf(group: string, version: string, resource: string): string {
  return `${group}/${version}/${resource}`;
}
