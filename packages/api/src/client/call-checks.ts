// Checks a call on a ResourceClient before anything is sent or read. Every client uses it, so a wrong call is the same
// TypeError over HTTP, in process and in a test cluster. resource-client.ts has the port.

import { type OptionNames, requireKnownOptions } from '../guards/known-options.ts';
import { type OptionCheck, type OptionTable, objectWith, optional } from '../guards/option-table.ts';
import { requireFunction, requireNotNegative, requireResource, requireSignal } from '../guards/required.ts';
import type { KubernetesObject } from '../objects/kubernetes-object.ts';
import { requireObject, requireSegment, requireString, requireTarget, shown } from '../objects/object-target.ts';
import { apiVersionOf, type Resource } from '../resources/resource.ts';
import type {
  ApplyOptions,
  CallOptions,
  DeleteOptions,
  GetOptions,
  ListOptions,
  WatchOptions,
  WriteOptions,
} from './call-options.ts';
import type { ListerWatcherScope, ObjectTarget, Patch, ResourceClient, SubresourceOptions } from './resource-client.ts';

const callOptions: OptionTable<CallOptions> = {
  signal: requireSignal,
  timeoutMs: requireNotNegative,
  beforeAttempt: requireFunction,
  trace: optional(objectWith('startCall')),
};
const selection = { namespace: requireNamespace, labelSelector: requireString, fieldSelector: requireString };
const version = { resourceVersion: requireString, resourceVersionMatch: requireString };
const listOptions: OptionTable<ListOptions> = {
  ...selection,
  ...callOptions,
  ...version,
  limit: requireNotNegative,
  continue: requireString,
};
const writeOptions: OptionTable<WriteOptions> = {
  ...callOptions,
  dryRun: requireBoolean,
  fieldManager: requireString,
  fieldValidation: requireString,
};
const deleteOptions: OptionTable<DeleteOptions> = {
  ...callOptions,
  gracePeriodSeconds: requireFinite,
  preconditions: requireObject,
  propagationPolicy: requireString,
  dryRun: requireBoolean,
};
const part: OptionTable<SubresourceOptions> = { subresource: requireSubresource };
const anything: OptionCheck = () => undefined;
const applyOptions: OptionTable<ApplyOptions & SubresourceOptions> = {
  ...writeOptions,
  ...part,
  force: requireBoolean,
  owner: requireObject,
};

/**
 * The options of each verb, and an example of them for errors. The compiler checks the names against the types of the
 * port.
 */
const optionsOf: {
  readonly get: OptionTable<GetOptions & SubresourceOptions>;
  readonly list: OptionTable<ListOptions>;
  readonly watch: OptionTable<WatchOptions>;
  readonly create: OptionTable<WriteOptions>;
  readonly update: OptionTable<WriteOptions & SubresourceOptions>;
  readonly patch: OptionTable<WriteOptions & SubresourceOptions>;
  readonly apply: OptionTable<ApplyOptions & SubresourceOptions>;
  readonly delete: OptionTable<DeleteOptions>;
  readonly deleteCollection: OptionTable<ListOptions & DeleteOptions>;
  readonly createSubresource: OptionTable<CallOptions & { readonly body: unknown }>;
  readonly listerWatcher: OptionTable<ListerWatcherScope>;
} = {
  get: { ...callOptions, resourceVersion: requireString, ...part },
  list: listOptions,
  watch: {
    ...selection,
    ...version,
    signal: requireSignal,
    timeoutMs: requireNotNegative,
    sendInitialEvents: requireBoolean,
    allowWatchBookmarks: requireBoolean,
    timeoutSeconds: requireNotNegative,
    onOpen: requireFunction,
  },
  create: writeOptions,
  update: { ...writeOptions, ...part },
  patch: { ...writeOptions, ...part },
  apply: applyOptions,
  delete: deleteOptions,
  deleteCollection: { ...listOptions, ...deleteOptions },
  createSubresource: { ...callOptions, body: anything },
  listerWatcher: { namespace: requireNamespace, metadataOnly: requireBoolean },
};
const examples: Readonly<Record<keyof typeof optionsOf, string>> = {
  get: 'options, such as { resourceVersion },',
  list: 'options, such as { namespace },',
  watch: 'options, such as { namespace },',
  create: 'options, such as { dryRun },',
  update: 'options, such as { dryRun },',
  patch: 'options, such as { dryRun },',
  apply: 'options, such as { fieldManager },',
  delete: 'options, such as { propagationPolicy },',
  deleteCollection: 'options, such as { namespace },',
  createSubresource: 'a call, such as { body },',
  listerWatcher: 'a scope, such as { namespace },',
};

type CheckedVerb = Exclude<keyof ResourceClient, 'list'>;
type CallCheck<V extends CheckedVerb> = (...call: Parameters<ResourceClient[V]>) => void;

/**
 * One function per verb, with the verb's arguments. It throws TypeError for a missing resource or name, an unknown
 * option or a malformed body. `list` makes its calls through `listPage`.
 */
export const callChecks: Readonly<
  Omit<{ [V in CheckedVerb]: CallCheck<V> }, 'patch'> & {
    patch(resource: Resource, target: ObjectTarget, ...call: readonly [patch: unknown, options?: unknown]): void;
    watch(resource: Resource, options?: WatchOptions): void;
  }
> = {
  get(resource, target, options = {}) {
    requireCallOptions('get', options);
    requireItem(resource, target);
  },
  listPage(resource, options = {}) {
    requireCollection(resource, 'list', options);
  },
  watch(resource, options = {}) {
    requireCollection(resource, 'watch', options);
  },
  listerWatcher(resource, scope = {}) {
    requireCollection(resource, 'listerWatcher', scope);
  },
  create(resource, object, options = {}) {
    requireResource(resource, 'a call');
    requireCallOptions('create', options);
    const { name, namespace } = requireWritten(resource, object);
    if (namespace) requireSegment('namespace', namespace);
    if (resource.scope === 'Namespaced' && !namespace)
      throw new TypeError(`${subjectOf(resource, name)}: an empty namespace may not be set during creation`);
  },
  update(resource, object, options = {}) {
    requireResource(resource, 'a call');
    requireCallOptions('update', options);
    const target = requireWritten(resource, object, options.subresource);
    if (!target.name) throw new TypeError('name is required');
    requireItem(resource, target as ObjectTarget);
  },
  patch(resource, target, ...[patch, options = {}]) {
    requirePatch(patch);
    requireCallOptions('patch', options);
    requireItem(resource, target);
  },
  apply(resource, object, options) {
    requireResource(resource, 'a call');
    requireCallOptions('apply', options);
    if (!options.fieldManager) throw new TypeError('apply needs a fieldManager');
    const metadata = requireWritten(resource, object, options.subresource);
    if (!metadata.name) throw new TypeError('metadata.name must be provided to apply');
    if (metadata.managedFields !== undefined)
      throw new TypeError('cannot apply an object with managed fields already set');
    requireItem(resource, metadata as ObjectTarget);
  },
  delete(resource, target, options = {}) {
    requireCallOptions('delete', options);
    requireItem(resource, target);
  },
  deleteCollection(resource, options = {}) {
    requireCollection(resource, 'deleteCollection', options);
  },
  createSubresource(resource, target, call) {
    requireItem(resource, target);
    requireSubresource(target.subresource);
    requireCallOptions('createSubresource', call);
    requireObject(call.body, 'the body of a call');
  },
};

/** Throws TypeError for the first option that the verb does not know or whose value is wrong. */
function requireCallOptions(verb: keyof typeof optionsOf, options: unknown): void {
  requireObject(options, examples[verb]);
  const checks: Readonly<Record<string, OptionCheck>> = optionsOf[verb];
  requireKnownOptions(options as object, checks, verb);
  for (const name in options as object) {
    const value = (options as Readonly<Record<string, unknown>>)[name];
    if (value !== undefined) checks[name]?.(value, name);
  }
}

function requireItem(resource: Resource, target: ObjectTarget): void {
  requireResource(resource, 'a call');
  requireTarget(target);
  if (resource.scope === 'Namespaced' && !target.namespace)
    throw new TypeError(
      `${subjectOf(resource, target.name)}: an empty namespace may not be set when a resource name is provided`,
    );
}

function requireCollection(resource: Resource, verb: keyof typeof optionsOf, options: object): void {
  requireResource(resource, 'a call');
  requireCallOptions(verb, options);
}

/**
 * Returns the object's metadata. The body of scale and similar subresources has another kind, which the sender knows.
 */
function requireWritten(
  resource: Resource,
  object: KubernetesObject,
  subresource?: string,
): NonNullable<KubernetesObject['metadata']> {
  requireObject(object, 'what is written');
  const metadata = object.metadata ?? {};
  requireObject(metadata, 'metadata');
  const isOwnKind = subresource === undefined || subresource === 'status' || subresource === 'finalize';
  const apiVersion = object.apiVersion || apiVersionOf(resource);
  const kind = object.kind || resource.kind;
  if (isOwnKind && (kind !== resource.kind || apiVersion !== apiVersionOf(resource)))
    throw new TypeError(`${subjectOf(resource, metadata.name)}: the object is a ${kind} of ${apiVersion}`);
  return metadata;
}

const patchTypes: readonly unknown[] = ['merge', 'json', 'strategic'] satisfies Patch['type'][];

const patchNames: OptionNames<Patch> = { type: true, body: true };

/** Throws TypeError for a malformed patch, and for options inside it, because an ignored dry run would write. */
function requirePatch(patch: unknown): void {
  requireObject(patch, 'a patch');
  const { type, body } = patch as Partial<Patch>;
  if (!patchTypes.includes(type))
    throw new TypeError(
      `a patch is { type: 'merge' | 'json' | 'strategic', body }, not one of the type ${shown(type)}`,
    );
  if (body === undefined) throw new TypeError('a patch needs a body in addition to its type');
  if (type === 'json' && !Array.isArray(body))
    throw new TypeError(`the body of a JSON patch is a list of operations, not ${shown(body)}`);
  // Inherited members count too, as they do among options.
  for (const name in patch as object)
    if (!Object.hasOwn(patchNames, name))
      throw new TypeError(
        `a patch is { type, body }: ${JSON.stringify(name)} belongs to the options, the argument after it`,
      );
}

/** Names the subject of an error, for example `deployments.apps "web"`. */
function subjectOf({ plural, group }: Resource, name: string | undefined): string {
  const resource = group === '' ? plural : `${plural}.${group}`;
  return name === undefined ? resource : `${resource} ${JSON.stringify(name)}`;
}

function requireNamespace(value: unknown): void {
  requireString(value, 'namespace');
  if (value !== '') requireSegment('namespace', value);
}

function requireSubresource(value: unknown): void {
  requireString(value, 'subresource');
  for (const segment of (value as string).split('/'))
    if (!/^[A-Za-z0-9][A-Za-z0-9._:-]*$/.test(segment))
      throw new TypeError(`invalid subresource ${JSON.stringify(segment)}`);
}

function requireBoolean(value: unknown, name: string): void {
  if (typeof value !== 'boolean') throw new TypeError(`${name} must be true or false, not ${shown(value)}`);
}

/** Checks a grace period. It may be below 0, which the server reads as 1. */
function requireFinite(value: unknown, name: string): void {
  if (!Number.isFinite(value)) throw new TypeError(`${name} must be a number, not ${shown(value)}`);
}
