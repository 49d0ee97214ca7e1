// ServedDefinition holds the stores of one CustomResourceDefinition, one per version, in the catalog or not. Owned by
// the definition controller; it uses ResourceStack and custom-resource.ts.
import { type DeepReadonly, stringifyJson, type UnstructuredObject } from '@kapstan/api';
import type { ResourceCatalog, ResourceDefinition, ResourceStack, ServedResource } from '@kapstan/apiserver';
import { jsonEqual } from '@kapstan/apiserver/internal';
import type { CustomResourceDefinition, CustomResourceDefinitionVersion } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { customResource } from '../resource/custom-resource.ts';

type Definition = DeepReadonly<CustomResourceDefinition>;
type Version = DeepReadonly<CustomResourceDefinitionVersion>;

export interface ServedDefinitionOptions {
  readonly catalog: ResourceCatalog;
  /** Opens the storage of a resource. */
  createStack(definition: ResourceDefinition<UnstructuredObject>): ResourceStack;
}

interface VersionStack {
  /** Identifies the state of the definition that it serves. */
  readonly definitionKey: string;
  /** The version in that state. While a new state would give the same storage, the storage and its watches stay. */
  readonly version: Version;
  readonly stack: ResourceStack;
  readonly served: ServedResource;
}

export class ServedDefinition {
  readonly #options: ServedDefinitionOptions;
  readonly #versions = new Map<string, VersionStack>();
  #isTerminating = false;

  constructor(options: ServedDefinitionOptions) {
    this.#options = options;
  }

  /** Serves the present definition. Resolves when all its versions can be read. */
  async serve(definition: Definition): Promise<void> {
    this.#isTerminating = definition.metadata?.deletionTimestamp !== undefined;
    const versions = definition.spec.versions.filter((version) => version.served);
    const obsolete = [...this.#versions.keys()].filter((name) => !versions.some((version) => version.name === name));
    for (const version of versions) await this.#serveVersion(definition, version);
    for (const name of obsolete) await this.#drop(name);
  }

  /**
   * Passes the store of the objects as stored, whether or not that version is served. Undefined before {@link serve}.
   */
  async withInstances<R>(definition: Definition, use: (served: ServedResource) => Promise<R>): Promise<R> {
    const [first] = this.#versions.values();
    if (first !== undefined) return use(first.served);
    const storage = definition.spec.versions.find((version) => version.storage) ?? definition.spec.versions[0];
    if (storage === undefined) throw new TypeError('a definition without versions');
    const stack = await this.#openStack(this.#resourceOf(definition, storage));
    try {
      return await use(stack.served);
    } finally {
      await stack.close();
    }
  }

  /** Removes everything from the catalog and ends all watches. Idempotent. */
  async close(): Promise<void> {
    await Promise.all([...this.#versions.keys()].map((name) => this.#drop(name)));
  }

  async #serveVersion(definition: Definition, version: Version): Promise<void> {
    const present = this.#versions.get(version.name);
    const definitionKey = definitionKeyOf(definition);
    if (present?.definitionKey === definitionKey) return;
    const resource = this.#resourceOf(definition, version);
    // Kubernetes' own resources come first: a definition cannot replace them.
    const occupant = this.#options.catalog.find(resource.group, resource.version, resource.resource);
    if (occupant !== undefined && occupant.definition.isCustom !== true) return;
    const isKept = present !== undefined && isStoredAlike(present, { resource, version });
    const stack = isKept ? present.stack : await this.#openStack(resource);
    const served = isKept ? stack.servedAs(resource) : stack.served;
    this.#versions.set(version.name, { definitionKey, version, stack, served });
    this.#options.catalog.install(served);
    if (present !== undefined && !isKept) await present.stack.close();
  }

  async #openStack(resource: ResourceDefinition<UnstructuredObject>): Promise<ResourceStack> {
    const stack = this.#options.createStack(resource);
    try {
      await stack.waitUntilReady();
      return stack;
    } catch (error) {
      await stack.close();
      throw error;
    }
  }

  #resourceOf(definition: Definition, version: Version): ResourceDefinition<UnstructuredObject> {
    const asked = definition.spec.names;
    const accepted = definition.status?.acceptedNames;
    const names = accepted?.plural ? accepted : asked;
    return customResource({ definition, version, names, isTerminating: () => this.#isTerminating });
  }

  async #drop(name: string): Promise<void> {
    const entry = this.#versions.get(name);
    if (entry === undefined) return;
    this.#versions.delete(name);
    const { group, version, resource } = entry.served.definition;
    if (this.#options.catalog.find(group, version, resource) === entry.served) {
      this.#options.catalog.remove(group, version, resource);
    }
    await entry.stack.close();
  }
}

/** Returns equal keys for states that are served alike. The generation stands for the spec, which may be large. */
function definitionKeyOf({ metadata, status }: Definition): string {
  return stringifyJson([metadata?.uid, metadata?.generation ?? metadata?.resourceVersion, status?.acceptedNames]);
}

/** True when stored bytes are read and written as before, and the cache keeps the same fields of objects. */
function isStoredAlike(
  { served, version: before }: VersionStack,
  now: { readonly resource: ResourceDefinition<UnstructuredObject>; readonly version: Version },
): boolean {
  const kept = ({
    storagePrefix,
    storageVersion,
    kind,
    namespaced,
    selectableFields,
  }: typeof now.resource): unknown => [storagePrefix, storageVersion, kind, namespaced, selectableFields ?? null];
  const sameSchema = jsonEqual(before.schema ?? null, now.version.schema ?? null);
  return sameSchema && jsonEqual(kept(served.definition as typeof now.resource), kept(now.resource));
}
