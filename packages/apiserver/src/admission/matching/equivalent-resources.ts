// EquivalentResources: the other versions and groups that serve the same objects, and how an object is converted to one
// of them and back. Used by request-matching.ts. Source: runtime.EquivalentResourceMapper, admission.VersionedAttributes.
import type { DeepReadonly, KubernetesObject, UnstructuredObject } from '@kapstan/api';
import { internalError } from '@kapstan/api/errors';
import {
  copyInSlices,
  formatApiVersion,
  type GroupVersionKind,
  type GroupVersionResource,
  type SlicedWork,
} from '@kapstan/api/internal';
import { runInTurns } from '@kapstan/storage';
import type { ResourceCatalog } from '../../registry/definition/catalog.ts';
import type { RequestContext } from '../../registry/definition/request-context.ts';
import type { ResourceDefinition } from '../../registry/definition/resource-definition.ts';
import { signalOf } from '../../registry/store/store-parts.ts';

export interface EquivalentResource {
  readonly definition: ResourceDefinition;
  readonly resource: GroupVersionResource;
  /** Kind of the objects there: the subresource's own kind if it has one. */
  readonly kind: GroupVersionKind;
}

export class EquivalentResources {
  readonly #catalog: ResourceCatalog;
  /** Definitions by the prefix of their keys, as of `#generation`. */
  readonly #definitions = new Map<string, ResourceDefinition[]>();
  #generation = -1;

  constructor(catalog: ResourceCatalog) {
    this.#catalog = catalog;
  }

  /** Rises whenever resources come or go. */
  get generation(): number {
    return this.#catalog.generation;
  }

  definitionOf({ group, version, resource }: GroupVersionResource): ResourceDefinition | undefined {
    return this.#catalog.find(group, version, resource)?.definition;
  }

  /** Returns all other equivalent resources, in the order in which they were installed. */
  of(definition: ResourceDefinition, subresource: string): readonly EquivalentResource[] {
    return this.#sameObjects(definition).flatMap((other) => {
      const kind = other === definition ? undefined : kindAt(other, subresource);
      return kind === undefined ? [] : [{ definition: other, resource: resourceOf(other), kind }];
    });
  }

  #sameObjects({ storagePrefix }: ResourceDefinition): readonly ResourceDefinition[] {
    if (this.#generation !== this.#catalog.generation) {
      this.#definitions.clear();
      this.#generation = this.#catalog.generation;
      for (const { definition } of this.#catalog.all()) {
        const same = this.#definitions.get(definition.storagePrefix);
        if (same === undefined) this.#definitions.set(definition.storagePrefix, [definition]);
        else same.push(definition);
      }
    }
    // Resources that store nothing have no prefix, and one version each.
    return storagePrefix === '' ? [] : (this.#definitions.get(storagePrefix) ?? []);
  }
}

function resourceOf({ group, version, resource }: ResourceDefinition): GroupVersionResource {
  return { group, version, resource };
}

/** Returns undefined where there is no such subresource. */
function kindAt(
  { group, version, kind, subresources }: ResourceDefinition,
  name: string,
): GroupVersionKind | undefined {
  if (name === '') return { group, version, kind };
  const part = subresources.find((subresource) => subresource.name === name);
  if (part === undefined) return undefined;
  return part.type === 'object' ? part.kind : { group, version, kind };
}

export interface Conversion {
  readonly from: ResourceDefinition;
  readonly to: ResourceDefinition;
  /** The request that is admitted. */
  readonly context: RequestContext;
}

/** Returns the object as the other resource has it. Rejects with StatusError when a conversion by other code fails. */
export async function convertBetween(
  object: DeepReadonly<KubernetesObject>,
  { from, to, context }: Conversion,
): Promise<KubernetesObject> {
  const source = object as DeepReadonly<UnstructuredObject>;
  if (from.conversion !== undefined) {
    const [converted] = await from.conversion.convert([source], formatApiVersion(to), signalOf(context));
    if (converted === undefined) throw internalError(new Error(`${from.kind} was not converted`));
    return converted;
  }
  return await runInTurns(convertInSlices(source, { from, to }), context.signal);
}

function* convertInSlices(
  source: DeepReadonly<UnstructuredObject>,
  { from, to }: Omit<Conversion, 'context'>,
): SlicedWork<KubernetesObject> {
  const copy = (yield* copyInSlices(source)) as UnstructuredObject;
  const stored = yield* storedForm(copy, from);
  const converted = to.convert === undefined ? stored : yield* servedForm(stored, to.convert);
  return { ...converted, apiVersion: formatApiVersion(to), kind: to.kind };
}

function* storedForm(
  copy: UnstructuredObject,
  { convert, storageVersion }: ResourceDefinition,
): SlicedWork<UnstructuredObject> {
  if (convert === undefined) return { ...copy, apiVersion: formatApiVersion(storageVersion) };
  return convert.toStoredInSlices === undefined ? convert.toStored(copy) : yield* convert.toStoredInSlices(copy);
}

function* servedForm(
  stored: UnstructuredObject,
  convert: NonNullable<ResourceDefinition['convert']>,
): SlicedWork<UnstructuredObject> {
  const copy = (yield* copyInSlices(stored)) as UnstructuredObject;
  return convert.fromStoredInSlices === undefined ? convert.fromStored(copy) : yield* convert.fromStoredInSlices(copy);
}
