// Checks a converted object: a conversion may change the content, the labels and the annotations, but no other
// metadata. Used by definition-conversion.ts. Source: apiextensions-apiserver conversion validateConvertedObject,
// restoreObjectMeta.
import type { DeepReadonly, ObjectMeta, UnstructuredObject } from '@kapstan/api';
import { type FieldError, formatFieldErrors } from '@kapstan/api/errors';
import { copyInSlices, isJsonObject, type SlicedWork } from '@kapstan/api/internal';
import { annotationErrors, labelErrors } from '@kapstan/apiserver/internal';

type Original = DeepReadonly<UnstructuredObject>;

/** The reason why a converted value cannot be used. `what` names the faulty part: "object" or "metadata". */
export class ConvertedFault extends Error {
  override readonly name = 'ConvertedFault';
  readonly what: 'object' | 'metadata';
  /**
   * True when the value is not an object or has a wrong version or kind. Kubernetes' error then shows the index even
   * for a single object.
   */
  readonly hasIndex: boolean;

  constructor(message: string, { what, hasIndex = false }: { what: 'object' | 'metadata'; hasIndex?: boolean }) {
    super(message);
    this.what = what;
    this.hasIndex = hasIndex;
  }
}

/** Returns the converted object with the metadata of the original. Changes `converted`. Throws ConvertedFault. */
export function* acceptConverted(
  original: Original,
  converted: unknown,
  apiVersion: string,
): SlicedWork<UnstructuredObject> {
  const object = requireObject(original, converted, apiVersion);
  requireSame(original, object);
  yield* restoreMetadata(original, object);
  return object;
}

function requireObject(original: Original, converted: unknown, apiVersion: string): UnstructuredObject {
  if (!isJsonObject(converted)) {
    throw new ConvertedFault(`expected an object, received ${goTypeOf(converted)}`, { what: 'object', hasIndex: true });
  }
  const object = converted as UnstructuredObject;
  if (object.apiVersion !== apiVersion) {
    const text = `invalid groupVersion (expected ${apiVersion}, received ${String(object.apiVersion ?? '')})`;
    throw new ConvertedFault(text, { what: 'object', hasIndex: true });
  }
  if (object.kind !== original.kind) {
    const text = `invalid kind (expected ${original.kind ?? ''}, received ${String(object.kind ?? '')})`;
    throw new ConvertedFault(text, { what: 'object', hasIndex: true });
  }
  return object;
}

function requireSame(original: Original, converted: UnstructuredObject): void {
  const before: Record<string, unknown> = { ...original.metadata };
  const after: Record<string, unknown> = isJsonObject(converted.metadata) ? converted.metadata : {};
  for (const [member, told] of [
    ['name', 'name'],
    ['namespace', 'namespace'],
    ['uid', 'UID'],
  ] as const) {
    const [expected, actual] = [textOf(before[member]), textOf(after[member])];
    if (expected === actual) continue;
    throw new ConvertedFault(`must have the same ${told}: ${expected} != ${actual}`, { what: 'object' });
  }
}

function* restoreMetadata(original: Original, converted: UnstructuredObject): SlicedWork<void> {
  const answered: unknown = converted.metadata;
  if (answered === undefined) throw faultyMetadata('missing metadata in converted object');
  if (!isJsonObject(answered)) {
    throw faultyMetadata(`invalid metadata of type ${goTypeOf(answered)} in converted object`);
  }
  const metadata: Record<string, unknown> = yield* copyInSlices(original.metadata ?? {});
  for (const member of ['labels', 'annotations'] as const) {
    const texts = answered[member];
    delete metadata[member];
    if (texts === undefined || texts === null) continue;
    metadata[member] = acceptTexts(member, texts, original.metadata?.[member]);
  }
  converted.metadata = metadata as ObjectMeta;
}

type Texts = Readonly<Record<string, string>>;

function acceptTexts(member: 'labels' | 'annotations', texts: unknown, before: Texts = {}): Texts {
  if (!isJsonObject(texts)) {
    throw faultyMetadata(`invalid metadata.${member} of type ${goTypeOf(texts)} in converted object`);
  }
  const entries = Object.entries(texts);
  for (const [key, value] of entries) {
    if (typeof value === 'string') continue;
    const text = `metadata.${member}[${key}] must be a string, but is ${goTypeOf(value)} in converted object`;
    throw faultyMetadata(text);
  }
  const isSame =
    entries.length === Object.keys(before).length && entries.every(([key, value]) => before[key] === value);
  if (!isSame) requireValid(member, texts as Texts);
  return texts as Texts;
}

/** Texts that were valid before are not checked again. The path of annotations is wrong in Kubernetes, too. */
function requireValid(member: 'labels' | 'annotations', texts: Texts): void {
  const errors: readonly FieldError[] =
    member === 'labels' ? labelErrors(texts, 'metadata.labels') : annotationErrors(texts, 'metadata.annotation');
  if (errors.length > 0) throw faultyMetadata(formatFieldErrors(errors));
}

function faultyMetadata(message: string): ConvertedFault {
  return new ConvertedFault(message, { what: 'metadata' });
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Returns the type of a JSON value as Go prints it. */
function goTypeOf(value: unknown): string {
  if (value === null || value === undefined) return '<nil>';
  if (Array.isArray(value)) return '[]interface {}';
  if (isJsonObject(value)) return 'map[string]interface {}';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'string') return 'string';
  return Number.isInteger(Number(value)) ? 'int64' : 'float64';
}
