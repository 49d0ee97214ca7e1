// FieldManager maintains metadata.managedFields in every write and does server-side apply. It implements the registry's
// port ManagedFieldsTracker; http/ calls apply through apply-request.ts. Source: apimachinery util/managedfields.

import {
  type Clock,
  type DeepReadonly,
  formatTime,
  type KubernetesObject,
  StatusError,
  systemClock,
  type UnstructuredObject,
} from '@kapstan/api';
import { badRequest } from '@kapstan/api/errors';
import {
  copyInSlices,
  formatApiVersion,
  type GroupVersionKind,
  isJsonObject,
  type ManagedFieldsEntry,
  type SlicedWork,
} from '@kapstan/api/internal';
import { runInTurns } from '@kapstan/storage';
import type { RequestContext } from '../registry/definition/request-context.ts';
import type { ResourceDefinition } from '../registry/definition/resource-definition.ts';
import type { FieldsCall, ManagedFieldsTracker } from '../registry/store/managed-fields-tracker.ts';
import { coerceCustom } from '../schema/decode-object.ts';
import { StrictErrors } from '../schema/field-validation.ts';
import type { SchemaNode } from '../schema/node/schema-node.ts';
import { DecodeError, decodeTypedInSlices } from '../schema/typed-decoder.ts';
import { type Conflicts, conflictError } from './conflicts.ts';
import { createdFields } from './created-fields.ts';
import { FieldSet } from './field-set.ts';
import { conflictsBesideLastApplied, kubectlManager, syncLastApplied } from './last-applied.ts';
import { watchingMembers } from './lost-members.ts';
import {
  capUpdateManagers,
  decodeManagedFields,
  encodeManagedFields,
  type ManagerName,
  type Managers,
  managedFieldsEntry,
} from './managed-fields.ts';
import { describeObject, formatKind, textOf } from './object-description.ts';
import { fieldElement } from './path-element.ts';
import { rootSchema } from './schema-atom.ts';
import { isTyped, typedFault } from './typed-validation.ts';
import { type OwnedApply, ownApply, ownUpdate, type UpdaterCall, unownedFields } from './updater.ts';
import { ConversionError, versionView } from './version-views.ts';

/** Options of a field manager. */
export interface FieldManagerOptions {
  /** Clock for the times of changes. Default: the system's clock. */
  readonly clock?: Clock;
  /** Returns another version of the same objects. Default: none, so nobody owns fields in other versions. */
  findVersion?(definition: ResourceDefinition, apiVersion: string): ResourceDefinition | undefined;
}

/** One apply. */
export interface ApplyCall extends FieldsCall {
  /** True = take over fields of other managers instead of answering 409. */
  readonly force: boolean;
}

/** Tracks managed fields. It has no state but its clock, so one instance serves all resources. */
export class FieldManager implements ManagedFieldsTracker {
  readonly #clock: Clock;
  readonly #findVersion: NonNullable<FieldManagerOptions['findVersion']>;

  constructor(options: FieldManagerOptions = {}) {
    this.#clock = options.clock ?? systemClock;
    this.#findVersion = options.findVersion ?? (() => undefined);
  }

  /** Records that the creator owns every field that is set. */
  onCreate(object: KubernetesObject, call: FieldsCall): void | Promise<void> {
    return runInTurns(this.#onCreate(object, call));
  }

  *#onCreate(object: KubernetesObject, call: FieldsCall): SlicedWork<void> {
    const sent = object.metadata?.managedFields;
    const managers = isReset(sent) ? new Map() : yield* decodeOrNone(sent);
    if (!(yield* isTyped(withoutManagedFields(object), call.definition))) yield* setManagedFields(object, new Map());
    else if (managers.size === 0) yield* this.#ownAll(object, call);
    else yield* this.#track(managers, object, { live: emptyObject(call.definition), call });
  }

  /** Does what {@link ownUpdate} does when nobody else owns anything, as for nearly every new object. */
  *#ownAll(object: KubernetesObject, call: FieldsCall): SlicedWork<void> {
    const { definition } = call;
    const fields = yield* createdFields(withoutManagedFields(object), {
      schema: rootSchema(definition.schema),
      zero: emptyObject(definition),
      ignored: ignoredFields(definition, call.subresource),
      unowned: unownedFields,
    });
    object.metadata ??= {};
    if (fields === undefined) delete object.metadata.managedFields;
    else {
      const name = managerName(call, 'Update');
      object.metadata.managedFields = [managedFieldsEntry(name, formatTime(this.#clock.now()), fields)];
    }
  }

  /**
   * Records that the updater owns the fields that it changed. A client may send other managedFields than it got; `[{}]`
   * and `[]` end the tracking of the object. Missing or malformed entries are replaced by the stored object's.
   */
  onUpdate(next: KubernetesObject, old: DeepReadonly<KubernetesObject>, call: FieldsCall): void | Promise<void> {
    return runInTurns(this.#onUpdate(next, old, call));
  }

  *#onUpdate(next: KubernetesObject, old: DeepReadonly<KubernetesObject>, call: FieldsCall): SlicedWork<void> {
    const managers = yield* managersOfUpdate(next, old, call.subresource);
    const live = withoutManagedFields(old);
    // An object that is not tracked stays so: apply then begins with "before-first-apply".
    const isTracked =
      managers.size > 0 &&
      (yield* isTyped(withoutManagedFields(next), call.definition)) &&
      (yield* isTyped(live, call.definition));
    if (!isTracked) yield* setManagedFields(next, new Map());
    else yield* this.#track(managers, next, { live, call });
  }

  /** Entries that admission has not replaced are not read again. Source: handlers/fieldmanager/admission.go. */
  afterAdmission(
    object: KubernetesObject,
    before: ManagedFieldsEntry[] | undefined,
    context: RequestContext,
  ): void | Promise<void> {
    if (object.metadata?.managedFields === before) return;
    return runInTurns(this.#checkAdmitted(object, before, context));
  }

  *#checkAdmitted(
    object: KubernetesObject,
    before: ManagedFieldsEntry[] | undefined,
    context: RequestContext,
  ): SlicedWork<void> {
    try {
      yield* decodeManagedFields(object.metadata?.managedFields);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      object.metadata = { ...object.metadata, managedFields: before ?? [] };
      context.warn(
        `.metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating admission controller; please fix your requests: ${error.message}`,
      );
    }
  }

  *#track(
    managers: Managers,
    next: KubernetesObject,
    { live, call }: { readonly live: unknown; readonly call: FieldsCall },
  ): SlicedWork<void> {
    try {
      yield* ownUpdate(managers, withoutManagedFields(next), this.#updaterCall(live, call, 'Update'));
    } catch (error) {
      if (!(error instanceof ConversionError)) throw error;
      managers.clear();
    }
    yield* capUpdateManagers(managers);
    yield* setManagedFields(next, managers);
  }

  /**
   * Does server-side apply. Returns the object with the configuration merged in and its managedFields, before defaults.
   * `live` undefined = it does not exist. Throws StatusError: 400 for another kind or managedFields in the body, 409
   * for conflicts, 500 for a configuration that contradicts the schema.
   */
  *apply(
    live: DeepReadonly<UnstructuredObject> | undefined,
    applied: UnstructuredObject,
    call: ApplyCall,
  ): SlicedWork<UnstructuredObject> {
    const schema = rootSchema(call.definition.schema);
    const kind = kindOf(call.definition);
    refuseOtherKind(applied, kind);
    refuseFault('patch', applied, { kind, fault: yield* typedFault(applied, schema, { duplicates: 'refuse' }) });
    const present = live === undefined ? emptyObject(call.definition) : withoutManagedFields(live);
    refuseFault('live', present, { kind, fault: yield* typedFault(present, schema, { duplicates: 'allow' }) });
    const managers = yield* decodeStored(live?.metadata?.managedFields);
    if (managers.size === 0) yield* this.#ownBefore(managers, present, call);
    const object = yield* orInternalError(this.#applyTo(managers, applied, { present, call, schema }));
    const next =
      object === undefined
        ? ((yield* copyInSlices(present)) as UnstructuredObject)
        : yield* toKind(object, applied, call.definition);
    if (call.context.fieldManager === kubectlManager) syncLastApplied(next, applied);
    yield* setManagedFields(next, managers);
    return next;
  }

  /** The fields of an object that was never applied belong to its earlier writers, under one name. */
  *#ownBefore(managers: Managers, present: unknown, call: FieldsCall): SlicedWork<void> {
    const updater = this.#updaterCall(emptyObject(call.definition), call, 'Update');
    const manager = { ...updater.manager, manager: 'before-first-apply' };
    yield* ownUpdate(managers, present, { ...updater, manager });
  }

  *#applyTo(
    managers: Managers,
    applied: unknown,
    { present, call, schema }: { readonly present: unknown; readonly call: ApplyCall; readonly schema: SchemaNode },
  ): SlicedWork<unknown> {
    const updater = this.#updaterCall(present, call, 'Apply');
    const before = new Map(managers);
    const first = yield* ownApply(managers, applied, { ...updater, force: call.force });
    if (first.conflicts.size === 0) return first.object;
    const conflicts = yield* this.#remainingConflicts(first, present, { call, schema });
    if (conflicts.size > 0) throw yield* conflictError(conflicts);
    managers.clear();
    for (const [id, set] of before) managers.set(id, set);
    return (yield* ownApply(managers, applied, { ...updater, force: true })).object;
  }

  *#remainingConflicts(
    { conflicts }: OwnedApply,
    present: unknown,
    { call, schema }: { readonly call: ApplyCall; readonly schema: SchemaNode },
  ): SlicedWork<Conflicts> {
    const isKubectl = call.context.fieldManager === kubectlManager;
    return isKubectl ? yield* conflictsBesideLastApplied(conflicts, present, schema) : conflicts;
  }

  #updaterCall(live: unknown, call: FieldsCall, operation: 'Apply' | 'Update'): UpdaterCall {
    const { definition, subresource } = call;
    return {
      live,
      schema: rootSchema(definition.schema),
      manager: managerName(call, operation),
      ignored: ignoredFields(definition, subresource),
      time: formatTime(this.#clock.now()),
      versions: {
        view: (apiVersion) => {
          const other = this.#findVersion(definition, apiVersion);
          return other && versionView(definition, other, ignoredFields(other, subresource));
        },
      },
    };
  }
}

function managerName({ definition, context, subresource }: FieldsCall, operation: 'Apply' | 'Update'): ManagerName {
  const manager = context.fieldManager === '' ? 'unknown' : context.fieldManager;
  return { manager, operation, apiVersion: formatApiVersion(definition), subresource };
}

function* orInternalError<T>(applying: SlicedWork<T>): SlicedWork<T> {
  try {
    return yield* applying;
  } catch (error) {
    if (!(error instanceof ConversionError)) throw error;
    throw new StatusError({ code: 500, reason: '', message: error.message }, { cause: error });
  }
}

function kindOf({ group, version, kind }: ResourceDefinition): GroupVersionKind {
  return { group, version, kind };
}

function ignoredFields(definition: ResourceDefinition, subresource: string): FieldSet {
  const sub = definition.subresources.find(({ name }) => name === subresource);
  const strategy = subresource === '' ? definition.strategy : sub?.type === 'strategy' ? sub.strategy : undefined;
  const { resetFields } = strategy ?? {};
  if (resetFields === undefined) return nothing;
  const known = ignoredByReset.get(resetFields);
  if (known !== undefined) return known;
  const ignored = FieldSet.of(...resetFields.map((names) => names.map(fieldElement)));
  ignoredByReset.set(resetFields, ignored);
  return ignored;
}

const nothing = new FieldSet();
const ignoredByReset = new WeakMap<readonly (readonly string[])[], FieldSet>();

/** Returns the object before its creation: the zero value of its Go type; empty for a custom resource. */
function emptyObject(definition: ResourceDefinition): UnstructuredObject {
  const apiVersion = formatApiVersion(definition);
  const { types } = definition.schema;
  const name = types?.nameOf(apiVersion, definition.kind);
  return { ...(name === undefined ? {} : types?.zero(name)), apiVersion, kind: definition.kind };
}

type Entries = DeepReadonly<readonly ManagedFieldsEntry[]> | undefined;

/** True for `[]` or `[{}]`, by which a client gives up all ownership. */
function isReset(entries: Entries): boolean {
  if (!Array.isArray(entries)) return false;
  const [only] = entries;
  return entries.length === 0 || (entries.length === 1 && isJsonObject(only) && Object.keys(only).length === 0);
}

function* managersOfUpdate(
  next: KubernetesObject,
  old: DeepReadonly<KubernetesObject>,
  subresource: string,
): SlicedWork<Managers> {
  if (subresource !== '') return yield* decodeOrNone(old.metadata?.managedFields);
  const sent = next.metadata?.managedFields;
  if (isReset(sent)) return new Map();
  const managers = yield* decodeOrNone(sent);
  return managers.size === 0 ? yield* decodeOrNone(old.metadata?.managedFields) : managers;
}

function* decodeOrNone(entries: Entries): SlicedWork<Managers> {
  try {
    return yield* decodeManagedFields(entries);
  } catch (error) {
    if (error instanceof TypeError) return new Map();
    throw error;
  }
}

function* decodeStored(entries: Entries): SlicedWork<Managers> {
  try {
    return yield* decodeManagedFields(entries);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const message = `failed to decode managed fields: ${error.message}`;
    throw new StatusError({ code: 500, reason: '', message }, { cause: error });
  }
}

/** Returns the object without managedFields; everything else is shared with the argument. */
function withoutManagedFields(object: DeepReadonly<KubernetesObject>): DeepReadonly<UnstructuredObject> {
  if (object.metadata === undefined) return object as DeepReadonly<UnstructuredObject>;
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

function* setManagedFields(object: KubernetesObject, managers: Managers): SlicedWork<void> {
  object.metadata ??= {};
  if (managers.size === 0) delete object.metadata.managedFields;
  else object.metadata.managedFields = yield* encodeManagedFields(managers);
}

/** Decodes the merged object into the Go types of a built-in kind; gives a custom resource its canonical form. */
function* toKind(
  merged: unknown,
  applied: UnstructuredObject,
  definition: ResourceDefinition,
): SlicedWork<UnstructuredObject> {
  const { schema } = definition;
  const strict = new StrictErrors();
  try {
    if (schema.goType === undefined) {
      // Ownership knows fields below places that keep unknown ones, which pruning still removes. Faults of embedded
      // objects and nulls are left to validation.
      const object = merged as UnstructuredObject;
      yield* watchingMembers(object, coerceCustom(object, schema, strict));
      return object;
    }
    const options = { schema, strict, words: 'unstructured' } as const;
    return (yield* decodeTypedInSlices(merged, options)) as UnstructuredObject;
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    const place = describeObject(applied, kindOf(definition));
    const form = formatKind(textOf(applied.apiVersion), textOf(applied.kind));
    const message = `failed to convert new object (${place}) to proper version: unable to convert unstructured object to ${form}: ${error.message}`;
    throw new StatusError({ code: 500, reason: '', message }, { cause: error });
  }
}

/** Refuses an object of another kind. Source: managedfields versionCheckManager and structuredMergeManager.Apply. */
function refuseOtherKind(applied: UnstructuredObject, expected: GroupVersionKind): void {
  const kind = textOf(applied.kind);
  const apiVersion = textOf(applied.apiVersion);
  if (apiVersion !== formatApiVersion(expected) || kind !== expected.kind) {
    throw badRequest(`invalid object type: ${formatKind(apiVersion, kind)}`);
  }
  const metadata: unknown = applied.metadata;
  if (isJsonObject(metadata) && metadata.managedFields !== undefined && metadata.managedFields !== null) {
    throw badRequest('metadata.managedFields must be nil');
  }
}

function refuseFault(
  which: 'patch' | 'live',
  object: DeepReadonly<UnstructuredObject>,
  { kind, fault }: { readonly kind: GroupVersionKind; readonly fault: string | undefined },
): void {
  if (fault === undefined) return;
  const message = `failed to create typed ${which} object (${describeObject(object, kind)}): ${fault}`;
  throw new StatusError({ code: 500, reason: '', message });
}
