// ObjectWrites carries a create, update, patch or apply of an object or its subresource from the decoded request to the
// store. Shared by the handlers of http/ and in-process-client.ts. Source: apiserver handlers/create.go, update.go,
// patch.go.

import { type KubernetesObject, type Patch, StatusError, type UnstructuredObject } from '@kapstan/api';
import { badRequest, conflict, notImplemented } from '@kapstan/api/errors';
import { fitsOneSlice, formatApiVersion, type GroupVersionKind, type SlicedWork } from '@kapstan/api/internal';
import { runInTurns, type Stored } from '@kapstan/storage';
import { type DocumentForm, decodeObjectInSlices, kindRegistry } from '../../schema/decode-object.ts';
import { metaTypes } from '../../schema/meta-types.ts';
import type { SchemaNode } from '../../schema/node/schema-node.ts';
import type { YamlReading } from '../../schema/yaml-body.ts';
import type { ServedResource } from '../definition/catalog.ts';
import type { RequestContext } from '../definition/request-context.ts';
import type { Subresource, SubresourceChange } from '../definition/resource-definition.ts';
import type { SentPart, UpdateRequest } from '../definition/resource-store.ts';
import { methodNotAllowed } from '../definition/route-errors.ts';
import { checkNamespace, checkObjectName } from '../meta/object-name.ts';
import { copyFor } from '../store/create-flow.ts';
import { type FieldsCall, partDefinition } from '../store/managed-fields-tracker.ts';
import { dedupeOwners } from '../store/store-parts.ts';

/** The target of a write and the context of its request. The router has checked the names. */
export interface WriteTarget {
  readonly served: ServedResource;
  /** Absent = the object itself. */
  readonly part: Subresource<UnstructuredObject> | undefined;
  /** "" for a new object. */
  readonly name: string;
  readonly context: RequestContext;
}

/** stored: the stored form; object: the answer of a subresource that has its own object. */
export type WriteAnswer =
  | { readonly type: 'stored'; readonly stored: Stored<UnstructuredObject>; readonly created: boolean }
  | { readonly type: 'object'; readonly object: KubernetesObject; readonly created: boolean };

/** A patch as received. */
export interface PatchBody {
  readonly type: Patch['type'] | 'apply';
  readonly body: Uint8Array;
  /** Apply only: take over fields from other managers. */
  readonly force: boolean;
  /** Apply only. Absent = the body is parsed when needed. */
  readonly readYaml?: YamlReading | undefined;
}

interface PatchCall extends FieldsCall {
  /** Name of the object. */
  readonly name: string;
  /** Kind whose schema the patch follows: the resource's, or the kind of an object subresource (Scale). */
  readonly kind: GroupVersionKind;
  readonly schema: SchemaNode;
}

/** Patches and applies objects. Implemented over patch/ and fieldmanager/, which the registry does not import. */
export interface ObjectPatching {
  /**
   * Returns a function that makes the new object from the present one without changing the latter. It may be called
   * several times; large objects are made in slices. Given `undefined`, which means that there is no object, an apply
   * makes one and all others throw 404. Throws StatusError.
   */
  prepare(
    patch: PatchBody,
    call: PatchCall,
  ): (present: UnstructuredObject | undefined) => SlicedWork<UnstructuredObject>;
}

/** Returns the endpoint's kind: the resource's, or the kind of an object subresource. */
export function kindOf({ served, part }: Pick<WriteTarget, 'served' | 'part'>): GroupVersionKind {
  if (part?.type === 'object') return part.kind;
  const { group, version, kind } = served.definition;
  return { group, version, kind };
}

/** Decodes the object in a body. Throws 400. */
export function* decodeBody(
  target: Omit<WriteTarget, 'name'>,
  body: Uint8Array,
  form: DocumentForm,
): SlicedWork<UnstructuredObject> {
  try {
    return yield* decodedBody(target, body, form);
  } catch (error) {
    const isForeign = target.part?.type === 'object' && target.served.definition.isCustom === true;
    if (!isForeign || !(error instanceof StatusError)) throw error;
    // Kubernetes fails to describe the fault, since the types of a custom resource include no Scale.
    throw badRequest(`no kind is registered for the type v1.${kindOf(target).kind} ${kindRegistry}`);
  }
}

function decodedBody(
  target: Omit<WriteTarget, 'name'>,
  body: Uint8Array,
  form: DocumentForm,
): SlicedWork<UnstructuredObject> {
  const { part, context } = target;
  const acceptsVersion = part?.type === 'object' ? part.acceptsVersion : undefined;
  return decodeObjectInSlices(body, {
    ...form,
    schema: schemaOf(target),
    gvk: kindOf(target),
    fieldValidation: context.fieldValidation,
    warn: (text) => context.warn(text),
    acceptsVersion,
  });
}

/** Creates the object, which it takes over and changes. */
export async function createAt(target: WriteTarget, object: UnstructuredObject): Promise<WriteAnswer> {
  const { served, part, context, name } = target;
  checkNamespace(object, context.namespace);
  if (part?.type === 'object') {
    if (part.create === undefined) throw methodNotAllowed();
    part.applyDefaults?.(object);
    const asked = partOf(target, 'CREATE', object);
    await served.store.admitPart?.(context, { ...asked, phase: 'admit' });
    const validate = async (): Promise<void> => {
      await served.store.admitPart?.(context, { ...asked, phase: 'validate' });
    };
    const answer = await part.create(served.store, context, { name, body: object, validate });
    return { type: 'object', object: answer, created: true };
  }
  const defaulting = applyDefaults(target, object);
  if (defaulting !== undefined) await defaulting;
  return { type: 'stored', stored: await served.store.create(context, object), created: true };
}

function partOf(
  { part, name }: Pick<WriteTarget, 'part' | 'name'>,
  operation: SentPart['operation'],
  object: UnstructuredObject,
): SentPart {
  if (part?.type !== 'object') throw methodNotAllowed();
  return { operation, name, subresource: part.name, kind: part.kind, object };
}

/** Updates the resource to the object, which this function may change; the caller must not use it afterwards. */
export async function updateAt(target: WriteTarget, object: UnstructuredObject): Promise<WriteAnswer> {
  const { part, context, name } = target;
  checkObjectName(object, { name, namespace: context.namespace });
  // Duplicate owners in a patch are reported after admission. Source: handlers/update.go, patch.go.
  dedupeOwners(object, context, '');
  const uid = object.metadata?.uid ?? '';
  const preconditions = uid === '' ? {} : { preconditions: { uid } };
  if (part?.type === 'object')
    return updatePart(target, { next: () => copyFor(context, object), fields: 'tracked', ...preconditions });
  const defaulting = applyDefaults(target, object);
  if (defaulting !== undefined) await defaulting;
  return updateStored(target, { transform: () => copyFor(context, object), ...preconditions });
}

/** Sets defaults in place, for a large object in several turns. */
function applyDefaults({ served, context }: WriteTarget, object: UnstructuredObject): void | Promise<void> {
  const { definition } = served;
  // A small custom resource may get thousands of defaults.
  const isSmall = context.nextTurn === undefined && definition.isCustom !== true;
  if (isSmall || definition.applyDefaultsInSlices === undefined) return definition.applyDefaults(object);
  return runInTurns(definition.applyDefaultsInSlices(object), context.signal);
}

/** Patches the object. Throws 501 for an apply to a subresource that cannot be applied. */
export async function patchAt(target: WriteTarget, patching: ObjectPatching, patch: PatchBody): Promise<WriteAnswer> {
  const { served, part, context, name } = target;
  const { definition } = served;
  const isApply = patch.type === 'apply';
  if (isApply && part?.type === 'object' && part.isApplicable !== true) {
    throw notImplemented(`server-side apply to ${definition.resource}/${part.name} is not served`);
  }
  const applyFault = isApply && part?.type === 'object' ? part.applyFault : undefined;
  if (applyFault !== undefined) throw new StatusError({ code: 500, reason: '', message: applyFault });
  const subresource = part?.name ?? '';
  const change = patching.prepare(patch, {
    definition: isApply && part?.type === 'object' ? partDefinition(definition, part) : definition,
    context,
    subresource,
    name,
    kind: kindOf(target),
    schema: schemaOf(target),
  });
  const patched = function* (present: UnstructuredObject | undefined): SlicedWork<UnstructuredObject> {
    const next = yield* change(present);
    checkObjectName(next, { name, namespace: context.namespace });
    if (isApply && present === undefined) refuseUid(target, next);
    return next;
  };
  if (part?.type === 'object') {
    const next = (present: UnstructuredObject): Changed => runInTurns(patched(present), context.signal);
    return updatePart(target, { next, fields: isApply ? 'given' : 'tracked' });
  }
  const defaulted = function* (present: UnstructuredObject | undefined): SlicedWork<UnstructuredObject> {
    const next = yield* patched(present);
    const { applyDefaultsInSlices } = definition;
    const isSmall = definition.isCustom !== true && fitsOneSlice(next);
    if (isSmall || applyDefaultsInSlices === undefined) definition.applyDefaults(next);
    else yield* applyDefaultsInSlices(next);
    return next;
  };
  const transform = (present: UnstructuredObject | undefined): Changed =>
    runInTurns(defaulted(present), context.signal);
  if (!isApply) return updateStored(target, { transform });
  // Writes to subresources never create. Source: the kinds' StatusREST.Update.
  return updateStored(target, { transform, managedFields: 'given', forceAllowCreate: subresource === '' });
}

/** A uid requires that the object exists. Source: applyPatcher.createNewObject. */
function refuseUid({ served, name }: WriteTarget, { metadata }: UnstructuredObject): void {
  if (!metadata?.uid) return;
  const { group, resource } = served.definition;
  const why = `uid mismatch: the provided object specified uid ${metadata.uid}, and no existing object was found`;
  throw conflict({ group, resource }, name, why);
}

function schemaOf({ served, part }: Omit<WriteTarget, 'name'>): SchemaNode {
  const { schema } = served.definition;
  if (part?.type !== 'object') return schema;
  const { kind } = part;
  return (
    part.schema ??
    (schema.types ?? metaTypes).schemaOfKind(formatApiVersion(kind), kind.kind) ?? { preserveUnknownFields: true }
  );
}

async function updateStored(
  { served, part, context, name }: WriteTarget,
  request: Pick<
    UpdateRequest<UnstructuredObject>,
    'transform' | 'preconditions' | 'managedFields' | 'forceAllowCreate'
  >,
): Promise<WriteAnswer> {
  const endpoint = part?.type === 'strategy' ? { strategy: part.strategy, subresource: part.name } : {};
  const { stored, created } = await served.store.update(context, { name, ...request, ...endpoint });
  return { type: 'stored', stored, created };
}

/** The new object, or a promise of it if it is large. */
type Changed = UnstructuredObject | Promise<UnstructuredObject>;

interface PartUpdate {
  readonly next: (present: UnstructuredObject) => Changed;
  /** 'given' for an apply, which has written the managedFields itself. */
  readonly fields: 'given' | 'tracked';
  readonly preconditions?: { readonly uid: string };
}

async function updatePart(
  { served, part, context, name }: WriteTarget,
  { next, fields, ...preconditions }: PartUpdate,
): Promise<WriteAnswer> {
  if (part?.type !== 'object' || part.update === undefined) throw methodNotAllowed();
  const change: SubresourceChange = async (present, track) => {
    const changed = await next(present);
    part.applyDefaults?.(changed);
    if (fields === 'tracked' && part.isApplicable === true) await track?.(changed, present, part);
    // The subresource validates the resulting object, which may have more than the client sent.
    const asked = partOf({ part, name }, 'UPDATE', changed);
    await served.store.admitPart?.(context, { ...asked, oldObject: present, phase: 'admit' });
    return changed;
  };
  const object = await part.update(served.store, context, { name, change, ...preconditions });
  return { type: 'object', object, created: false };
}
