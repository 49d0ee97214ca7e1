// Brings an object that a webhook or a policy changed back into the form of its kind, and copies it into the object that all steps of the
// request share. Used by mutating-webhooks.ts and policy/. Source: plugin/webhook/mutating callAttrMutatingHook, plugin/policy/mutating
// dispatchOne.
import { type KubernetesObject, StatusError, type UnstructuredObject } from '@kapstan/api';
import { internalError } from '@kapstan/api/errors';
import { formatApiVersion, type GroupVersionKind, getOwn, type SlicedWork, setOwn } from '@kapstan/api/internal';
import type { ObjectSubresource, ResourceDefinition } from '../../registry/definition/resource-definition.ts';
import { jsonEqualInSlices } from '../../registry/meta/json-equality.ts';
import { decodeDocumentInSlices, interpretKind } from '../../schema/decode-object.ts';
import { StrictErrors, strictDecodingText } from '../../schema/field-validation.ts';
import { carryEmpties } from '../../schema/go/decoded-empties.ts';
import { metaTypes } from '../../schema/meta-types.ts';
import type { SchemaNode } from '../../schema/node/schema-node.ts';
import { DecodeError } from '../../schema/typed-decoder.ts';
import { connectOptionsSchema } from './connect-options.ts';

/** The kind that a patched object must still have. */
export interface PatchedKind {
  readonly kind: GroupVersionKind;
  readonly definition: ResourceDefinition | undefined;
  /** "" = the object itself. */
  readonly subresource: string;
  /** True = unknown fields are an error, except in custom resources. Default false: they are dropped. */
  readonly isStrict?: boolean;
}

/** Returns the schema of the object, or of the kind that its subresource has; undefined = it has none. */
export function schemaOfPatched(of: PatchedKind): SchemaNode | undefined {
  const part = partOf(of);
  return part === undefined ? of.definition?.schema : partSchema(part, of);
}

/** Returns the subresource if it has its own kind. */
function partOf({ definition, subresource }: PatchedKind): ObjectSubresource<UnstructuredObject> | undefined {
  const part = definition?.subresources.find(({ name }) => name === subresource);
  return part?.type === 'object' ? part : undefined;
}

/** Decodes a changed object into its kind and sets defaults. Throws 500 for an object of another kind. */
export function* changedObject(value: unknown, of: PatchedKind): SlicedWork<KubernetesObject> {
  const object = yield* decodedObject(value, of);
  yield* defaultObject(object, of);
  return object;
}

/** Decodes a changed object into its kind. Throws 500 for an object of another kind. */
function* decodedObject(value: unknown, of: PatchedKind): SlicedWork<UnstructuredObject> {
  const { kind, definition, isStrict = false } = of;
  const part = partOf(of);
  const strict = new StrictErrors();
  try {
    const gvk = interpretKind(value, kind);
    if (definition?.isCustom === true && part === undefined) requireVersion(gvk, kind);
    const decoding = {
      schema: schemaOfPatched(of) ?? { preserveUnknownFields: true },
      gvk,
      expected: kind,
      strict,
    };
    const object = yield* decodeDocumentInSlices({ value, repeats: new Map() }, decoding);
    if (formatApiVersion(gvk) !== formatApiVersion(kind)) throw otherVersion(gvk, kind);
    const faults = isStrict && definition?.isCustom !== true ? strict.texts() : [];
    if (faults.length > 0) throw internalError(new Error(strictDecodingText(faults)));
    return object;
  } catch (error) {
    throw error instanceof DecodeError ? wrongKind(error) : error;
  }
}

function* defaultObject(object: UnstructuredObject, of: PatchedKind): SlicedWork<void> {
  const { definition } = of;
  const part = partOf(of);
  part?.applyDefaults?.(object);
  if (part !== undefined || definition === undefined) return;
  if (definition.applyDefaultsInSlices === undefined) definition.applyDefaults(object);
  else yield* definition.applyDefaultsInSlices(object);
}

/**
 * Does what {@link changedObject} does, and reports whether the value differs from the previous object. They are compared as Go's structs,
 * before defaults: amounts by their value, times by their instant, empty lists like absent ones. Source: callAttrMutatingHook.
 */
export function* comparedObject(
  value: unknown,
  of: PatchedKind,
  before: KubernetesObject,
): SlicedWork<{ readonly object: KubernetesObject; readonly isChanged: boolean }> {
  const object = yield* decodedObject(value, of);
  const types = of.definition?.schema.types;
  const name = types?.nameOf(formatApiVersion(of.kind), of.kind.kind);
  if (types !== undefined && name !== undefined) yield* types.normalizeInSlices(name, object);
  const isChanged = !(yield* jsonEqualInSlices(before, object));
  yield* defaultObject(object, of);
  return { object, isChanged };
}

function partSchema(
  { schema, connect }: ObjectSubresource<UnstructuredObject>,
  { kind, definition }: PatchedKind,
): SchemaNode | undefined {
  const types = definition?.schema.types ?? metaTypes;
  if (connect !== undefined) return connectOptionsSchema(connect, kind, types);
  return schema ?? types.schemaOfKind(formatApiVersion(kind), kind.kind);
}

/** Source: apiextensions-apiserver crConverter.Convert. */
function requireVersion(said: GroupVersionKind, expected: GroupVersionKind): void {
  const [is, must] = [formatApiVersion(said), formatApiVersion(expected)];
  if (is === must) return;
  const message = `request to convert CR from an invalid group/version: ${is}`;
  throw new StatusError({ code: 500, reason: '', message });
}

/**
 * Returns the error for an object of another version. kube-apiserver converts such an object; here its fields would be
 * read as fields of the request's version.
 */
function otherVersion(said: GroupVersionKind, expected: GroupVersionKind): StatusError {
  const versions = `from ${formatApiVersion(expected)} to ${formatApiVersion(said)}`;
  return internalError(new Error(`an admission webhook changed the version of the object ${versions}`));
}

/** Kubernetes detects a known but different kind later than an unknown one, so its error has no reason. */
function wrongKind(error: DecodeError): StatusError {
  const { message } = error;
  if (!message.startsWith('converting (')) return internalError(error);
  return new StatusError({ code: 500, reason: '', message }, { cause: error });
}

/** The object of a request is changed in place, because all steps of the request share it. */
export function replaceMembers(target: KubernetesObject, source: KubernetesObject): void {
  const [to, from] = [target as Record<string, unknown>, source as Record<string, unknown>];
  for (const name of Object.keys(to)) if (!Object.hasOwn(from, name)) delete to[name];
  for (const name of Object.keys(from)) setOwn(to, name, getOwn(from, name));
  carryEmpties(source, target);
}
