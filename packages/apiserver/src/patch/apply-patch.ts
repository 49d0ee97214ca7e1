// Handles PATCH except apply: parses the patch once, applies it to the present object as often as the update loop
// requires, and decodes the result into the kind's types. Called by http/; server-side apply is in fieldmanager/.

import { StatusError, stringifyJson, type UnstructuredObject } from '@kapstan/api';
import { badRequest, internalError } from '@kapstan/api/errors';
import {
  copyInSlices,
  formatApiVersion,
  type GroupVersionKind,
  isJsonObject,
  JsonSyntaxError,
  type SlicedWork,
  setOwn,
} from '@kapstan/api/internal';
import { readBodyText } from '../schema/body-limits.ts';
import { decodeDocumentInSlices, interpretKind, kindRegistry, requireKind } from '../schema/decode-object.ts';
import { type FieldValidation, StrictErrors, strictDecodingText, warningTexts } from '../schema/field-validation.ts';
import { cutShort, shortGoValue } from '../schema/go/short-go-text.ts';
import { decodeText } from '../schema/json-reader.ts';
import type { SchemaNode } from '../schema/node/schema-node.ts';
import { sortedValue } from '../schema/sorted-value.ts';
import { DecodeError, decodeTypedInSlices } from '../schema/typed-decoder.ts';
import { applyJsonPatch, type JsonPatchOperation, readJsonPatch } from './json-patch.ts';
import { applyMergePatch } from './merge-patch.ts';
import { applyStrategicMerge } from './strategic-merge.ts';
import { StrategicMergeError } from './strategic-merge-error.ts';

/** 'strategic' is for built-in kinds only: http/ answers 415 for custom resources. */
export type PatchType = 'json' | 'merge' | 'strategic';

/** Media types by type of patch. */
export const patchMediaTypes: Readonly<Record<PatchType, string>> = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
};

/** Custom resources have no strategic merge patch. */
export function patchTypesOf(definition: { readonly isCustom?: boolean | undefined }): readonly PatchType[] {
  return definition.isCustom === true ? ['json', 'merge'] : ['json', 'merge', 'strategic'];
}

export interface PatchRequest {
  readonly type: PatchType;
  readonly body: Uint8Array;
}

export interface PatchOptions {
  readonly schema: SchemaNode;
  /** Kind of the object (for scale, of the subresource's object). */
  readonly gvk: GroupVersionKind;
  readonly fieldValidation: FieldValidation;
  /** Called with each complaint when `fieldValidation` is 'Warn'. */
  readonly warn: (text: string) => void;
}

/** Makes the patched object from the present one without changing that. May be called several times. */
export type ObjectPatcher = (present: UnstructuredObject) => SlicedWork<UnstructuredObject>;

/**
 * Returns a patcher for one request. It reads the body at its first call, so that a missing object is reported before a
 * bad patch. It throws StatusError: 400 for a patch that cannot be read, 413 for too many operations, 422 when it does
 * not apply or the result does not fit the kind, 500 when a strategic merge contradicts the schema (as Kubernetes
 * answers).
 */
export function createPatcher({ type, body }: PatchRequest, options: PatchOptions): ObjectPatcher {
  let read: ReadPatch | undefined;
  return function* (present) {
    read ??= yield* readPatch(type, decodeText(body));
    const patched = type === 'strategic' ? patchStrategically : patchDocument;
    return yield* patched(present, read, options);
  };
}

interface ReadPatch {
  readonly type: PatchType;
  readonly value: unknown;
  /** Complaints about the patch itself. */
  readonly complaints: readonly string[];
}

/** Maximum number of characters of an object in an error, which contains it twice and escaped. */
const maxShown: number = 64 * 1024;

const anyObject: SchemaNode = { additionalProperties: true };

function* readPatch(type: PatchType, text: string): SlicedWork<ReadPatch> {
  const strict = new StrictErrors();
  if (type === 'json') {
    const value = yield* readJsonPatch(text, strict);
    return { type, value, complaints: strict.texts() };
  }
  try {
    const { value, repeats } = yield* readBodyText(text);
    const patch = yield* decodeTypedInSlices(value, { schema: anyObject, strict, repeats, words: 'json' });
    if (patch === null && type === 'merge') throw badRequest('Invalid JSON Patch');
    return { type, value: patch ?? {}, complaints: strict.texts() };
  } catch (error) {
    if (!(error instanceof JsonSyntaxError) && !(error instanceof DecodeError)) throw error;
    throw badRequest(type === 'merge' ? `error decoding patch: ${error.message}` : error.message);
  }
}

function* patchDocument(
  present: UnstructuredObject,
  patch: ReadPatch,
  options: PatchOptions,
): SlicedWork<UnstructuredObject> {
  const document = yield* copyInSlices(present);
  const patched =
    patch.type === 'json'
      ? yield* applyJsonPatch(document, patch.value as readonly JsonPatchOperation[])
      : yield* applyMergePatch(document, yield* copyInSlices(patch.value));
  const strict = new StrictErrors();
  const isCustom = options.schema.goType === undefined;
  const written = (): string => stringifyJson(isCustom ? sortedValue(patched) : sortedMembers(patched));
  const shown = (): string => cutShort(written(), maxShown);
  const object = yield* invalidUnlessDecoded(shown, function* () {
    const gvk = interpretKind(patched, options.gvk);
    if (isCustom) requireKind(patched, written);
    if (isCustom) requireVersion(patched);
    if (!isVersioned(patched, options.schema)) return decodeInternal(patched, gvk, { options, strict });
    const decoding = { schema: options.schema, gvk, expected: options.gvk, strict };
    return yield* decodeDocumentInSlices({ value: sortedMembers(patched), repeats: new Map() }, decoding);
  });
  judge([...patch.complaints, ...strict.texts()], shown, options);
  return object;
}

/** Throws when the patch removed the apiVersion. Kubernetes converts a patched custom resource from that version. */
function requireVersion(patched: unknown): void {
  if (!isJsonObject(patched) || (patched.apiVersion !== undefined && patched.apiVersion !== '')) return;
  throw internalError(new Error("Object 'apiVersion' is missing in 'object has no apiVersion field'"));
}

function isVersioned(patched: unknown, schema: SchemaNode): boolean {
  return schema.goType === undefined || (isJsonObject(patched) && Boolean(patched.apiVersion));
}

/**
 * Go decodes a built-in object without a version into the internal type, whose members are spelled differently. All
 * members are lost, even the name, so the update is refused.
 */
function decodeInternal(
  patched: unknown,
  gvk: GroupVersionKind,
  { options, strict }: { readonly options: PatchOptions; readonly strict: StrictErrors },
): UnstructuredObject {
  if (gvk.kind !== options.gvk.kind) {
    const version = `the internal version of group ${JSON.stringify(gvk.group)}`;
    throw new DecodeError(`no kind ${JSON.stringify(gvk.kind)} is registered for ${version} ${kindRegistry}`);
  }
  for (const name of Object.keys(patched as object).sort()) {
    if (name !== 'apiVersion' && name !== 'kind') strict.unknownField(name);
  }
  return { apiVersion: formatApiVersion(gvk), kind: gvk.kind, metadata: {} };
}

function* patchStrategically(
  present: UnstructuredObject,
  patch: ReadPatch,
  options: PatchOptions,
): SlicedWork<UnstructuredObject> {
  const change = (yield* copyInSlices(patch.value)) as Record<string, unknown>;
  const merged = yield* mergeOrRefuse(yield* copyInSlices(present), change, options.schema);
  const strict = new StrictErrors();
  const shown = (): string => shortGoValue(patch.value, maxShown);
  const object = (yield* invalidUnlessDecoded(shown, () =>
    decodeTypedInSlices(merged, { schema: options.schema, strict, words: 'unstructured' }),
  )) as UnstructuredObject;
  judge([...patch.complaints, ...[...strict.texts()].sort()], shown, options);
  return { ...object, apiVersion: formatApiVersion(options.gvk), kind: options.gvk.kind };
}

function* mergeOrRefuse(
  present: UnstructuredObject,
  change: Record<string, unknown>,
  schema: SchemaNode,
): SlicedWork<Record<string, unknown>> {
  try {
    return yield* applyStrategicMerge(present, change, schema);
  } catch (error) {
    if (!(error instanceof StrategicMergeError)) throw error;
    throw strategicRefusal(error);
  }
}

/** Source: handlers.interpretStrategicMergePatchError. */
function strategicRefusal(error: StrategicMergeError): StatusError {
  switch (error.type) {
    case 'badRequest':
      return badRequest(error.message);
    case 'unprocessable': {
      const message = 'the server rejected our request due to an error in our request';
      return new StatusError({ code: 422, reason: 'Invalid', message, details: {} });
    }
    case 'internal':
      return new StatusError({ code: 500, reason: '', message: error.message }, { cause: error });
  }
}

function* invalidUnlessDecoded<T>(shown: () => string, decode: () => SlicedWork<T>): SlicedWork<T> {
  try {
    return yield* decode();
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw invalidPatch(shown(), error.message);
  }
}

function judge(complaints: readonly string[], shown: () => string, options: PatchOptions): void {
  if (complaints.length === 0) return;
  if (options.fieldValidation === 'Strict') throw invalidPatch(shown(), strictDecodingText(complaints));
  if (options.fieldValidation === 'Warn') for (const text of complaints.flatMap(warningTexts)) options.warn(text);
}

/** Returns 422 without a kind, as Kubernetes does when the result of a patch cannot be decoded. */
function invalidPatch(shown: string, why: string): StatusError {
  const message = `Invalid value: ${JSON.stringify(shown)}: ${why}`;
  return new StatusError({
    code: 422,
    reason: 'Invalid',
    message: ` "" is invalid: patch: ${message}`,
    details: { causes: [{ reason: 'FieldValueInvalid', message, field: 'patch' }] },
  });
}

/** Go writes the result of a patch from a map, so its members are sorted. */
function sortedMembers(value: unknown): unknown {
  if (!isJsonObject(value)) return value;
  const sorted: Record<string, unknown> = {};
  for (const name of Object.keys(value).sort()) setOwn(sorted, name, value[name]);
  return sorted;
}
