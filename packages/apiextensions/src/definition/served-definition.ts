// ServedDefinition holds the stores of one CustomResourceDefinition, one per version, in the catalog or not. Owned by
// the definition controller; it uses ResourceStack and custom-resource.ts.
import { type DeepReadonly, stringifyJson, type UnstructuredObject } from '@kapstan/api';
import { nextTurn } from '@kapstan/api/internal';
import type { ResourceDefinition, ResourceStack, ServedResource } from '@kapstan/apiserver';
import { jsonEqual, type ObjectConversion } from '@kapstan/apiserver/internal';
import type { CustomResourceDefinition, CustomResourceDefinitionVersion } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { type ConversionPorts, converterOf, DefinitionConversion } from '../conversion/definition-conversion.ts';
import { customResource, versionSchemas } from '../resource/custom-resource.ts';
import { type FixedKindsOptions, isFixedResource } from './fixed-kinds.ts';

type Definition = DeepReadonly<CustomResourceDefinition>;
type Version = DeepReadonly<CustomResourceDefinitionVersion>;

export interface ServedDefinitionOptions extends FixedKindsOptions {
  /** Opens the storage of a resource. */
  createStack(definition: ResourceDefinition<UnstructuredObject>): ResourceStack;
  /** Absent = versions differ in their apiVersion alone, whatever the definitions say. */
  readonly conversions?: ConversionPorts;
}

interface VersionStack {
  /** Identifies the state of the definition that it serves. */
  readonly definitionKey: string;
  /** Identifies the stack that all versions share. Undefined in definitions without a conversion. */
  readonly sharedKey: string | undefined;
  /**
   * The version that the store was made from. If a newer state of the definition leads to the same storage, the storage
   * is kept with its watches.
   */
  readonly version: Version;
  readonly stack: ResourceStack;
  readonly served: ServedResource;
}

export class ServedDefinition {
  readonly #options: ServedDefinitionOptions;
  readonly #versions = new Map<string, VersionStack>();
  /** Stacks that serve no version any more and are not closed yet. */
  readonly #unused = new Set<ResourceStack>();
  #conversion: { readonly key: string; readonly value: DefinitionConversion } | undefined;
  #isTerminating = false;

  constructor(options: ServedDefinitionOptions) {
    this.#options = options;
  }

  /** Serves the present definition. Resolves when all its versions can be read. */
  async serve(definition: Definition): Promise<void> {
    this.#isTerminating = definition.metadata?.deletionTimestamp !== undefined;
    const versions = definition.spec.versions.filter((version) => version.served);
    const names = new Set(versions.map(({ name }) => name));
    const obsolete = [...this.#versions.keys()].filter((name) => !names.has(name));
    const conversion = this.#conversionOf(definition);
    const sharedKey = conversion && this.#sharedKeyOf(definition);
    const { plural: resource } = namesOf(definition);
    // Resources of the program come first too. Looking for them goes through all served resources.
    const isFixed = isFixedResource(this.#options, { group: definition.spec.group, resource });
    for (const version of isFixed ? [] : versions) {
      await this.#serveVersion({ definition, version, conversion, sharedKey });
      // The schemas and stores of dozens of versions take longer than a turn may.
      if (versions.length > 1) await nextTurn();
    }
    for (const name of obsolete) await this.#drop(name);
  }

  #sharedKeyOf(definition: Definition): string {
    return `${sharedKeyOf(definition)}/${this.#functionOf(definition)}`;
  }

  #functionOf({ metadata }: Definition): number {
    return this.#options.conversions?.functions.revisionOf(metadata?.name ?? '') ?? 0;
  }

  /** Undefined where versions differ in their apiVersion alone. */
  #conversionOf(definition: Definition): ObjectConversion | undefined {
    const ports = this.#options.conversions;
    const converter = ports && converterOf(definition, ports);
    if (ports === undefined || converter === undefined) return undefined;
    const key = this.#sharedKeyOf(definition);
    if (this.#conversion?.key === key) {
      // The store keeps serving its requests and watches, and its conversions continue with the new authorities.
      this.#conversion.value.use(converter);
      return this.#conversion.value;
    }
    const value = new DefinitionConversion({ definition, converter, schemaOf: versionSchemas(definition), ports });
    this.#conversion = { key, value };
    return value;
  }

  /**
   * Passes the store of the objects as stored, whether or not that version is served. Undefined before {@link serve}.
   */
  async withInstances<R>(definition: Definition, use: (served: ServedResource) => Promise<R>): Promise<R> {
    const [first] = this.#versions.values();
    if (first !== undefined) return use(first.served);
    const storage = definition.spec.versions.find((version) => version.storage) ?? definition.spec.versions[0];
    if (storage === undefined) throw new TypeError('a definition without versions');
    const stack = await this.#openStack(this.#resourceOf(definition, storage, this.#conversionOf(definition)));
    try {
      return await use(stack.served);
    } finally {
      await stack.close();
    }
  }

  /**
   * Removes everything from the catalog and ends all watches. Idempotent. Throws when a store could not be closed; the next call tries to
   * close it again.
   */
  async close(): Promise<void> {
    const errors: unknown[] = [];
    for (const stack of [...this.#unused]) await this.#release(stack).catch((error: unknown) => errors.push(error));
    for (const name of [...this.#versions.keys()]) {
      await this.#drop(name).catch((error: unknown) => errors.push(error));
      if (this.#versions.size > 0) await nextTurn();
    }
    if (errors.length > 0) throw errors.length === 1 ? errors[0] : new AggregateError(errors, 'stores stay open');
  }

  async #serveVersion({ definition, version, conversion, sharedKey }: WantedVersion): Promise<void> {
    const present = this.#versions.get(version.name);
    const definitionKey = `${definitionKeyOf(definition)}/${this.#functionOf(definition)}`;
    if (present?.definitionKey === definitionKey) return;
    const resource = this.#resourceOf(definition, version, conversion);
    if (this.#isTaken(resource)) return;
    const stack = await this.#stackFor(definition, { present, resource, version, sharedKey });
    const served = stack.servedAs(resource);
    this.#versions.set(version.name, { definitionKey, sharedKey, version, stack, served });
    this.#options.catalog.install(served);
    if (present !== undefined && present.stack !== stack) await this.#release(present.stack);
  }

  /** Resources of Kubernetes come first: a definition cannot replace them. */
  #isTaken(wanted: ResourceDefinition<UnstructuredObject>): boolean {
    const occupant = this.#options.catalog.find(wanted.group, wanted.version, wanted.resource)?.definition;
    return occupant !== undefined && occupant.isCustom !== true;
  }

  /**
   * Returns the present stack when nothing changes, so that its watches continue. With a conversion, all versions are
   * served from one stack.
   */
  async #stackFor(definition: Definition, wanted: WantedStack): Promise<ResourceStack> {
    const { present, resource, sharedKey } = wanted;
    if (sharedKey !== undefined) {
      const sharer = [...this.#versions.values()].find((entry) => entry.sharedKey === sharedKey);
      if (sharer !== undefined) return sharer.stack;
      const storage = definition.spec.versions.find((version) => version.storage) ?? wanted.version;
      return this.#openStack(this.#resourceOf(definition, storage, resource.conversion));
    }
    const isKept = present !== undefined && present.sharedKey === undefined && isStoredAlike(present, wanted);
    return isKept ? present.stack : this.#openStack(resource);
  }

  /** Closes a stack when no version is served from it any more. */
  async #release(stack: ResourceStack): Promise<void> {
    const isUsed = [...this.#versions.values()].some((entry) => entry.stack === stack);
    if (isUsed) return;
    this.#unused.add(stack);
    await stack.close();
    this.#unused.delete(stack);
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

  #resourceOf(
    definition: Definition,
    version: Version,
    conversion: ObjectConversion | undefined,
  ): ResourceDefinition<UnstructuredObject> {
    return customResource({
      definition,
      version,
      names: namesOf(definition),
      conversion,
      isTerminating: () => this.#isTerminating,
    });
  }

  async #drop(name: string): Promise<void> {
    const entry = this.#versions.get(name);
    if (entry === undefined) return;
    this.#versions.delete(name);
    const { group, version, resource } = entry.served.definition;
    if (this.#options.catalog.find(group, version, resource) === entry.served) {
      this.#options.catalog.remove(group, version, resource);
    }
    await this.#release(entry.stack);
  }
}

interface WantedVersion {
  readonly definition: Definition;
  readonly version: Version;
  readonly conversion: ObjectConversion | undefined;
  /** See {@link VersionStack.sharedKey}. */
  readonly sharedKey: string | undefined;
}

interface WantedStack {
  readonly present: VersionStack | undefined;
  readonly resource: ResourceDefinition<UnstructuredObject>;
  readonly version: Version;
  readonly sharedKey: string | undefined;
}

function namesOf({ spec, status }: Definition): Definition['spec']['names'] {
  const accepted = status?.acceptedNames;
  return accepted?.plural ? accepted : spec.names;
}

/** Returns equal keys for states that are served alike. The generation represents the spec, which may be large. */
function definitionKeyOf({ metadata, status }: Definition): string {
  return stringifyJson([metadata?.uid, metadata?.generation ?? metadata?.resourceVersion, status?.acceptedNames]);
}

/**
 * This key is equal for two states whose objects are stored, read and converted alike. Watches end when it changes. Authorities do not
 * count, because they are changed while the webhook stays the same.
 */
function sharedKeyOf({ spec }: Definition): string {
  const { group, names, scope, conversion, versions } = spec;
  const schemas = versions.map(({ name, storage, schema }) => [name, storage, schema ?? null]);
  const { webhook } = conversion ?? {};
  const { caBundle: _authorities, ...clientConfig } = webhook?.clientConfig ?? {};
  const converted = conversion && { ...conversion, ...(webhook && { webhook: { ...webhook, clientConfig } }) };
  return stringifyJson([group, names.plural, names.kind, scope, converted ?? null, schemas]);
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
