// VirtualStore: the store of a resource that keeps nothing. Its creates only compute an answer, as for reviews; its
// reads are computed too. The catalog holds it next to stored resources.

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
import type { RequestContext } from '../definition/request-context.ts';
import type { ResourceDefinition } from '../definition/resource-definition.ts';
import type { DeleteAnswer, ResourceStore, SelectRequest, UpdateAnswer } from '../definition/resource-store.ts';
import { ensureNamespace, metaOf } from '../meta/object-meta.ts';
import type { AdmissionAttributes, AdmissionControl } from './admission-control.ts';
import type { ManagedFieldsTracker } from './managed-fields-tracker.ts';
import { selectionPredicate } from './selection.ts';

/** Functions that answer creates and reads. Verbs without a function answer 405. */
export interface VirtualRules<T extends KubernetesObject = UnstructuredObject> {
  /** Throws StatusError for objects that do not reach validating admission. */
  validate?(object: DeepReadonly<T>, context: RequestContext): void;
  /** Returns the answer, often the object itself with its status filled in; this may be done in place. */
  answer?(object: T, context: RequestContext): Promise<KubernetesObject> | KubernetesObject;
  /** Returns the names of all objects in the order of a list. */
  names?(): readonly string[];
  /** Returns undefined when there is no object of that name. */
  read?(name: string): Promise<T | undefined>;
  /** Resource that its 404 names. Default: the resource itself. */
  readonly notFoundAs?: string;
}

/** Options of a store whose objects are computed and not stored. */
export interface VirtualStoreOptions {
  readonly managedFields?: ManagedFieldsTracker;
  readonly admission?: AdmissionControl;
}

function unstored(
  { group, version, kind }: ResourceDefinition,
  object: UnstructuredObject,
): Stored<UnstructuredObject> {
  return new Stored('', 0 as Revision, { kind, apiVersion: formatApiVersion({ group, version }), ...object });
}

export class VirtualStore implements ResourceStore {
  readonly #rules: VirtualRules;
  readonly #definition: ResourceDefinition;
  readonly #options: VirtualStoreOptions;

  constructor(rules: VirtualRules, definition: ResourceDefinition, options: VirtualStoreOptions) {
    this.#rules = rules;
    this.#definition = definition;
    this.#options = options;
  }

  async create(context: RequestContext, object: UnstructuredObject): Promise<Stored<UnstructuredObject>> {
    const { managedFields, admission } = this.#options;
    const definition = this.#definition;
    if (this.#rules.answer === undefined) return this.#refuse('create');
    ensureNamespace(metaOf(object), definition.namespaced ? context.namespace : '');
    await managedFields?.onCreate(object, { context, definition, subresource: '' });
    const { name = '' } = metaOf(object);
    await admission?.admit(this.#attributes(context, object, name));
    this.#rules.validate?.(object, context);
    if (admission?.validates(definition) === true) await admission.validate(this.#attributes(context, object, name));
    const answer = await this.#rules.answer(object, context);
    return new Stored('', 0 as Revision, answer as UnstructuredObject);
  }

  async get(_context: RequestContext, name: string): Promise<Stored<UnstructuredObject>> {
    if (this.#rules.read === undefined) return this.#refuse('get');
    const object = await this.#rules.read(name);
    if (object !== undefined) return unstored(this.#definition, object);
    const { group, resource } = this.#definition;
    throw notFound({ group, resource: this.#rules.notFoundAs ?? resource }, name);
  }

  async list(_context: RequestContext, request: SelectRequest): Promise<StoredList<UnstructuredObject>> {
    const { names, read } = this.#rules;
    if (names === undefined || read === undefined) return this.#refuse('list');
    const predicate = selectionPredicate(this.#definition, request);
    const objects = await Promise.all(names().map((name) => read(name)));
    const items = objects.filter((object) => object !== undefined && matches(predicate, object));
    // Computed objects have no version, and their lists have one page.
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

  /** `name`: the requested one, whatever admission makes of it. */
  #attributes(context: RequestContext, object: UnstructuredObject, name: string): AdmissionAttributes {
    const { group, version, resource, kind } = this.#definition;
    return {
      operation: 'CREATE',
      resource: { group, version, resource },
      subresource: '',
      kind: { group, version, kind },
      name: name || (object.metadata?.name ?? ''),
      namespace: object.metadata?.namespace ?? '',
      object,
      oldObject: undefined,
      context,
    };
  }
}
