// VirtualResource: a built-in resource that keeps nothing: what is created is answered, and that is all (reviews, bindings), or what
// is read is found out right then (component statuses). Made by authz/, authn/ and registry/core; installed in the catalog beside
// the stored ones.

import type {
  DeepReadonly,
  GroupResource,
  KubernetesObject,
  ResourceVersion,
  Revision,
  UnstructuredObject,
} from '@kapstan/api';
import { methodNotSupported, notFound } from '@kapstan/api/errors';
import { formatApiVersion } from '@kapstan/api/internal';
import { matches, type StorageWatch, Stored, type StoredList } from '@kapstan/storage';
import type { AdmissionAttributes, AdmissionControl } from './admission-control.ts';
import { defineBuiltin } from './builtin-resource.ts';
import type { ServedResource } from './catalog.ts';
import type { ManagedFieldsTracker } from './managed-fields-tracker.ts';
import { ensureNamespace, metaOf } from './object-meta.ts';
import type { RequestContext } from './request-context.ts';
import type { ResourceDefinition } from './resource-definition.ts';
import type { DeleteAnswer, ResourceStore, SelectRequest, UpdateAnswer } from './resource-store.ts';
import { selectionPredicate } from './selection.ts';

/** What is created through it and what that is answered with, or what can be read. What is absent is refused with 405. */
export interface VirtualKind<T extends KubernetesObject = UnstructuredObject> {
  /** As the facts name it: "v1/bindings". */
  readonly id: string;
  /** Throws StatusError for what the server does not even pass on to validating admission. */
  validate?(object: DeepReadonly<T>, context: RequestContext): void;
  /** The answer: often the object itself with its status filled in, which may be done in place. */
  answer?(object: T, context: RequestContext): Promise<KubernetesObject> | KubernetesObject;
  /** Of all that can be read, in the order of a list. */
  names?(): readonly string[];
  /** Undefined when there is none of the name. */
  read?(name: string): Promise<T | undefined>;
  /** What its 404 calls it. Default: the resource. */
  readonly notFoundAs?: string;
}

export interface VirtualResourceOptions {
  readonly managedFields?: ManagedFieldsTracker;
  readonly admission?: AdmissionControl;
}

/** Throws TypeError when the facts do not know the kind, or know it as a stored one. */
export function virtualResource<T extends KubernetesObject>(
  kind: VirtualKind<T>,
  options: VirtualResourceOptions = {},
): ServedResource {
  const definition = defineBuiltin({ id: kind.id });
  if (definition.storagePrefix !== '') throw new TypeError(`${kind.id} is stored`);
  // As in defineBuiltin: the server handles all kinds alike.
  return { definition, store: new VirtualStore(kind as unknown as VirtualKind, definition, options) };
}

function unstored(
  { group, version, kind }: ResourceDefinition,
  object: UnstructuredObject,
): Stored<UnstructuredObject> {
  return new Stored('', 0 as Revision, { kind, apiVersion: formatApiVersion({ group, version }), ...object });
}

class VirtualStore implements ResourceStore {
  readonly #kind: VirtualKind;
  readonly #definition: ResourceDefinition;
  readonly #options: VirtualResourceOptions;

  constructor(kind: VirtualKind, definition: ResourceDefinition, options: VirtualResourceOptions) {
    this.#kind = kind;
    this.#definition = definition;
    this.#options = options;
  }

  async create(context: RequestContext, object: UnstructuredObject): Promise<Stored<UnstructuredObject>> {
    const { managedFields, admission } = this.#options;
    const definition = this.#definition;
    if (this.#kind.answer === undefined) return this.#refuse('create');
    ensureNamespace(metaOf(object), definition.namespaced ? context.namespace : '');
    await managedFields?.onCreate(object, { context, definition, subresource: '' });
    await admission?.admit(this.#attributes(context, object));
    this.#kind.validate?.(object, context);
    if (admission?.validates(definition) === true) await admission.validate(this.#attributes(context, object));
    const answer = await this.#kind.answer(object, context);
    return new Stored('', 0 as Revision, answer as UnstructuredObject);
  }

  async get(_context: RequestContext, name: string): Promise<Stored<UnstructuredObject>> {
    if (this.#kind.read === undefined) return this.#refuse('get');
    const object = await this.#kind.read(name);
    if (object !== undefined) return unstored(this.#definition, object);
    const { group, resource } = this.#definition;
    throw notFound({ group, resource: this.#kind.notFoundAs ?? resource }, name);
  }

  async list(_context: RequestContext, request: SelectRequest): Promise<StoredList<UnstructuredObject>> {
    const { names, read } = this.#kind;
    if (names === undefined || read === undefined) return this.#refuse('list');
    const predicate = selectionPredicate(this.#definition, request);
    const objects = await Promise.all(names().map((name) => read(name)));
    const items = objects.filter((object) => object !== undefined && matches(predicate, object));
    // It is of no version, and never cut.
    const resourceVersion = '' as ResourceVersion;
    return { resourceVersion, continue: '', items: items.map((object) => unstored(this.#definition, object ?? {})) };
  }

  watch(): StorageWatch {
    throw methodNotSupported(this.#definition, 'watch');
  }

  update(): Promise<UpdateAnswer<UnstructuredObject>> {
    return this.#refuse('update');
  }

  delete(): Promise<DeleteAnswer<UnstructuredObject>> {
    return this.#refuse('delete');
  }

  deleteCollection(): Promise<StoredList<UnstructuredObject>> {
    return this.#refuse('deletecollection');
  }

  #refuse(verb: string): Promise<never> {
    const resource: GroupResource = this.#definition;
    return Promise.reject(methodNotSupported(resource, verb));
  }

  #attributes(context: RequestContext, object: UnstructuredObject): AdmissionAttributes {
    const { group, version, resource, kind } = this.#definition;
    return {
      operation: 'CREATE',
      resource: { group, version, resource },
      subresource: '',
      kind: { group, version, kind },
      name: object.metadata?.name ?? '',
      namespace: object.metadata?.namespace ?? '',
      object,
      oldObject: undefined,
      context,
    };
  }
}
