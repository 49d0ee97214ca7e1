// Turns the body of a request into an object of the endpoint's kind: parses it, checks kind and version, decodes it by
// its types, and treats complaints according to ?fieldValidation=. Called by http/ for creates and updates; the patches
// use parts of it.

import { isStatusError, stringifyJson, type UnstructuredObject } from '@kapstan/api';
import { badRequest, type FieldError, formatFieldError, invalidField } from '@kapstan/api/errors';
import {
  fitsOneSlice,
  formatApiVersion,
  type GroupVersion,
  type GroupVersionKind,
  getOwn,
  isJsonObject,
  parseApiVersion,
  type SlicedWork,
} from '@kapstan/api/internal';
import { readBodyText } from './body-limits.ts';
import {
  type FieldValidation,
  StrictErrors,
  strictDecodingText,
  warningTexts,
  yamlDuplicatesText,
} from './field-validation.ts';
import { jsonKind } from './go/go-types.ts';
import { decodeText, isShortText, type JsonDocument, readJson } from './json-reader.ts';
import { metaTypes } from './meta-types.ts';
import type { SchemaNode } from './node/schema-node.ts';
import { dropNullsInSlices } from './null-pruning.ts';
import { pruneInSlices } from './pruning.ts';
import { sortedValue } from './sorted-value.ts';
import { DecodeError, decodeTyped, decodeTypedInSlices } from './typed-decoder.ts';
import { readYamlBody, type YamlReading } from './yaml-body.ts';
import { YamlSyntaxError } from './yaml-reader.ts';

export interface DocumentForm {
  readonly mediaType: 'application/json' | 'application/yaml';
  /** Returns the YAML body, when it was read before. Absent = the text is parsed when it is needed. */
  readonly readYaml?: YamlReading | undefined;
}

export interface DecodeObjectOptions extends DocumentForm {
  /** Schema of the expected kind. A schema with a Go type decodes by that type; others belong to custom resources. */
  readonly schema: SchemaNode;
  /** The kind that the endpoint accepts. It fills in an apiVersion or kind that the body leaves out. */
  readonly gvk: GroupVersionKind;
  readonly fieldValidation: FieldValidation;
  /** Called with each complaint when `fieldValidation` is 'Warn'. */
  readonly warn: (text: string) => void;
  /** Accepts other versions of the same kind, as for DeleteOptions. Absent = none. */
  readonly acceptsVersion?: ((version: GroupVersion) => boolean) | undefined;
}

/**
 * Decodes a body of any size. The object always has apiVersion and kind. Throws StatusError: 400 with Go's texts for
 * everything that Go's decoders refuse. A custom resource of another kind is left to validation. Short texts are
 * parsed, and small values decoded, without generators.
 */
export function* decodeObjectInSlices(body: Uint8Array, options: DecodeObjectOptions): SlicedWork<UnstructuredObject> {
  const strict = new StrictErrors();
  let gvk: GroupVersionKind | undefined;
  try {
    const text = decodeText(body);
    const document = isShortText(text)
      ? readDocument(text, options, strict)
      : yield* readDocumentInSlices(text, options, strict);
    const said = interpretKind(document.value, options.gvk);
    // A lenient reader of Kubernetes determines the expected kind before it finds that the body names none.
    if (options.fieldValidation === 'Ignore') gvk = said;
    if (options.schema.goType === undefined) requireKind(document.value, () => bodyText(body, document, options));
    gvk = asSaid(document.value, said, options);
    const object = yield* decodeDocumentInSlices(document, decodingOf(gvk, strict, options));
    judge(strict.texts(), options);
    refuseOtherVersion(gvk, options);
    return object;
  } catch (error) {
    throw gvk === undefined ? unread(error, body, options) : undecoded(error, gvk, options);
  }
}

function unread(error: unknown, body: Uint8Array, { gvk }: DecodeObjectOptions): unknown {
  if (!isReadError(error)) return error;
  const what = `the object provided is unrecognized (must be of type ${gvk.kind})`;
  return badRequestError(`${what}: ${error.message} (${summarizeBody(body)})`, error);
}

function undecoded(error: unknown, { kind, version }: GroupVersionKind, options: DecodeObjectOptions): unknown {
  if (!(error instanceof DecodeError)) return error;
  return badRequestError(
    `${kind} in version "${version}" cannot be handled as a ${options.gvk.kind}: ${error.message}`,
    error,
  );
}

/** Custom resources must name their kind. Source: runtime.NewMissingKindErrWithBody. */
export function requireKind(value: unknown, shown: () => string): void {
  if (isJsonObject(value) && textMember(value, 'kind') !== '') return;
  throw new DecodeError(`Object 'Kind' is missing in '${shown()}'`);
}

function bodyText(body: Uint8Array, { value }: JsonDocument, { mediaType }: DecodeObjectOptions): string {
  return mediaType === 'application/json' ? decodeText(body) : stringifyJson(isJsonObject(value) ? value : {});
}

/** Returns `said`, but without group and version for a custom resource that does not name them. */
function asSaid(value: unknown, said: GroupVersionKind, { schema }: DecodeObjectOptions): GroupVersionKind {
  if (schema.goType !== undefined) return said;
  const root = isJsonObject(value) ? value : {};
  return textMember(root, 'apiVersion') === '' ? { ...said, group: '', version: '' } : said;
}

function isReadError(error: unknown): error is Error {
  return error instanceof DecodeError || error instanceof YamlSyntaxError;
}

/** Returns the form of a body; `readYaml` absent = JSON. */
export function documentForm(readYaml: YamlReading | undefined): DocumentForm {
  return readYaml === undefined ? { mediaType: 'application/json' } : { mediaType: 'application/yaml', readYaml };
}

/** Parses JSON or YAML. Throws {@link DecodeError} and {@link YamlSyntaxError} with Go's texts. */
export function readDocument(text: string, form: DocumentForm, strict: StrictErrors): JsonDocument {
  if (form.mediaType === 'application/yaml') return readYamlDocument(text, form, strict);
  try {
    return readJson(text);
  } catch (error) {
    throw noJson(error);
  }
}

/** Does what {@link readDocument} does, for a text of any length. */
export function* readDocumentInSlices(
  text: string,
  form: DocumentForm,
  strict: StrictErrors,
): SlicedWork<JsonDocument> {
  if (form.mediaType === 'application/yaml') return readYamlDocument(text, form, strict);
  try {
    return yield* readBodyText(text);
  } catch (error) {
    throw noJson(error);
  }
}

function readYamlDocument(
  text: string,
  { readYaml = () => readYamlBody(text) }: DocumentForm,
  strict: StrictErrors,
): JsonDocument {
  const { document, duplicates } = readYaml();
  if (duplicates.length > 0) strict.add(yamlDuplicatesText(duplicates));
  return document;
}

function noJson(error: unknown): unknown {
  if (isStatusError(error)) return error;
  return new DecodeError(`couldn't get version/kind; json parse error: ${(error as Error).message}`, { cause: error });
}

/** Go type into which an object is first read, as errors name it. */
export const typeMeta: string =
  'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }';

/**
 * Returns the kind that a document names. Throws {@link DecodeError}. Source: json SimpleMetaFactory.Interpret,
 * gvkWithDefaults.
 */
export function interpretKind(value: unknown, expected: GroupVersionKind): GroupVersionKind {
  const root = value ?? {};
  if (!isJsonObject(root)) {
    throw new DecodeError(
      `couldn't get version/kind; json parse error: json: cannot unmarshal ${jsonKind(root)} into Go value of type ${typeMeta}`,
    );
  }
  const apiVersion = textMember(root, 'apiVersion');
  const kind = textMember(root, 'kind');
  const { group, version } = apiVersion === '' ? expected : groupVersionOf(apiVersion);
  return { group, version, kind: kind === '' ? expected.kind : kind };
}

function groupVersionOf(apiVersion: string): GroupVersion {
  try {
    return parseApiVersion(apiVersion);
  } catch (error) {
    throw new DecodeError((error as Error).message, { cause: error });
  }
}

function textMember(root: Record<string, unknown>, name: string): string {
  const value = Object.hasOwn(root, name) ? root[name] : undefined;
  if (typeof value === 'string') return value;
  if (value === undefined || value === null) return '';
  throw new DecodeError(
    `couldn't get version/kind; json parse error: json: cannot unmarshal ${jsonKind(value)} into Go struct field .${name} of type string`,
  );
}

/** Shortens a body for an error text. Source: handlers.summarizeData. */
export function summarizeBody(body: Uint8Array): string {
  const longest = 30;
  if (body.length === 0) return '<empty>';
  const start = body.subarray(0, longest);
  const text = body[0] === 0x7b ? decodeText(start) : Buffer.from(start).toString('hex');
  return body.length > longest ? `${text} ...` : text;
}

function decodingOf(gvk: GroupVersionKind, strict: StrictErrors, options: DecodeObjectOptions): DocumentDecoding {
  const { schema } = options;
  const isTaken = gvk.kind === options.gvk.kind && options.acceptsVersion?.(gvk) === true;
  return { schema, gvk, strict, expected: isTaken ? gvk : options.gvk };
}

export interface DocumentDecoding {
  readonly schema: SchemaNode;
  /** The kind that the document names, from {@link interpretKind}. */
  readonly gvk: GroupVersionKind;
  readonly expected: GroupVersionKind;
  readonly strict: StrictErrors;
}

/** Decodes a parsed document into its kind. Throws {@link DecodeError}. */
export function* decodeDocumentInSlices(
  document: JsonDocument,
  decoding: DocumentDecoding,
): SlicedWork<UnstructuredObject> {
  const isCustom = decoding.schema.goType === undefined;
  const decoded = yield* isCustom ? decodeCustom(document, decoding) : decodeBuiltin(document, decoding);
  return { ...decoded, apiVersion: formatApiVersion(decoding.gvk), kind: decoding.gvk.kind };
}

/** Place where Go registers its kinds, as errors name it. */
export const kindRegistry = 'in scheme "pkg/runtime/scheme.go:111"';

function* decodeBuiltin(
  document: JsonDocument,
  { schema, gvk, expected, strict }: DocumentDecoding,
): SlicedWork<UnstructuredObject> {
  const apiVersion = formatApiVersion(gvk);
  const isExpected = gvk.kind === expected.kind && apiVersion === formatApiVersion(expected);
  const known = isExpected ? schema : schema.types?.schemaOfKind(apiVersion, gvk.kind);
  const target = known ?? retiredSchema(gvk, expected, schema);
  if (target === undefined)
    throw new DecodeError(`no kind "${gvk.kind}" is registered for version "${apiVersion}" ${kindRegistry}`);
  const value = document.value ?? {};
  const typed = { schema: target, strict, repeats: document.repeats, words: 'json' } as const;
  const decoded = fitsOneSlice(value) ? decodeTyped(value, typed) : yield* decodeTypedInSlices(value, typed);
  if (gvk.kind !== expected.kind) {
    const internal = `${internalPackage(expected.group)}.${expected.kind}`;
    throw new DecodeError(`converting (${target.goType}) to (${internal}): unknown conversion`);
  }
  return decoded as UnstructuredObject;
}

/**
 * A kind in a version without a schema is decoded as the expected kind and then refused for its version. For another
 * kind only the name is checked.
 */
function retiredSchema(gvk: GroupVersionKind, expected: GroupVersionKind, schema: SchemaNode): SchemaNode | undefined {
  if (schema.types?.isRetired(gvk) !== true) return undefined;
  return gvk.kind === expected.kind ? schema : { goType: `${gvk.version}.${gvk.kind}`, preserveUnknownFields: true };
}

/** Returns the name of the Go package with a group's internal types: the group's first label. */
function internalPackage(group: string): string {
  return group === '' ? 'core' : (group.split('.')[0] ?? group);
}

/** Decodes a custom resource. Outside metadata, wrong types are left to validation. */
function* decodeCustom(
  document: JsonDocument,
  { schema, gvk, expected, strict }: DocumentDecoding,
): SlicedWork<UnstructuredObject> {
  const untyped = { schema: {}, strict, repeats: document.repeats, words: 'json' } as const;
  const object = ((yield* decodeTypedInSlices(document.value, untyped)) ?? {}) as UnstructuredObject;
  if (object.apiVersion === null) {
    throw new DecodeError('.apiVersion accessor error: <nil> is of the type <nil>, expected string');
  }
  // The schema does not describe objects of another kind. They are refused because of their version or by validation.
  if (gvk.kind !== expected.kind || gvk.group !== expected.group) coerceMetadata(object, '', strict);
  else {
    for (const fault of yield* coerceCustom(object, schema, strict)) throw new DecodeError(formatFieldError(fault));
    yield* dropNullsInSlices(schema, object);
  }
  return object;
}

/**
 * Gives a custom resource its canonical form: typed metadata, no unknown fields, embedded objects likewise. Returns the errors of the
 * embedded objects. Throws DecodeError for faults of the resource's own metadata. Source: apiextensions schemaCoercingConverter.
 */
export function* coerceCustom(
  object: Record<string, unknown>,
  schema: SchemaNode,
  strict: StrictErrors,
): SlicedWork<readonly FieldError[]> {
  coerceMetadata(object, '', strict);
  const pruned = yield* pruneInSlices(object, schema);
  for (const path of pruned.unknown) strict.add(`unknown field ${plainlyQuoted(path)}`);
  const faults = pruned.embedded.map((embedded) => embeddedFault(embedded.object, `${embedded.path}.`, strict));
  return faults.filter((fault) => fault !== undefined);
}

/**
 * Gives the metadata of an embedded object its canonical form. Returns the fault of its type or metadata; `prefix` is its path with a dot.
 * Source: objectmeta.CoerceWithOptions.
 */
export function embeddedFault(
  object: Record<string, unknown>,
  prefix: string,
  strict: StrictErrors,
): FieldError | undefined {
  for (const member of ['apiVersion', 'kind']) {
    const value = getOwn(object, member);
    if (!Object.hasOwn(object, member) || typeof value === 'string') continue;
    return invalidField(`${prefix}${member}`, value, 'must be a string');
  }
  try {
    coerceMetadata(object, prefix, strict);
    return undefined;
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    // Go writes the value from a map, so its members are sorted.
    return invalidField(`${prefix}metadata`, sortedValue(object.metadata), error.message);
  }
}

const objectMeta = 'meta/v1.ObjectMeta';

/** Names of unknown fields of a custom resource are shown as they are. */
const plainlyQuoted = (path: string): string => `"${path}"`;

function coerceMetadata(object: Record<string, unknown>, prefix: string, complaints: StrictErrors): void {
  if (!Object.hasOwn(object, 'metadata')) return;
  const strict = new StrictErrors(plainlyQuoted);
  const options = { schema: metaTypes.schema(objectMeta), strict, words: 'json', path: `${prefix}metadata` } as const;
  const metadata = decodeTyped(object.metadata ?? {}, options) as Record<string, unknown>;
  for (const text of strict.texts()) complaints.add(text);
  metaTypes.normalize(objectMeta, metadata);
  if (metadata.creationTimestamp === null) delete metadata.creationTimestamp;
  object.metadata = metadata;
}

/** Clients' names may have any length; complaints longer than this are not sorted but come first. */
const longestPlaced = 1024;

/** Go converts YAML to JSON with sorted keys, so complaints have that order. JSON sent as YAML keeps its own order. */
function inKeyOrder(complaints: readonly string[]): readonly string[] {
  const placed = complaints.map((text) => ({ text, path: text.length > longestPlaced ? [] : pathIn(text) }));
  return placed.sort((a, b) => comparePaths(a.path, b.path)).map(({ text }) => text);
}

/** Returns the names in `unknown field "spec.a[0].b"`; none for other complaints. */
function pathIn(complaint: string): readonly string[] {
  if (!complaint.endsWith('"')) return [];
  return complaint.slice(complaint.indexOf('"') + 1, -1).match(/[^.[\]]+/g) ?? [];
}

function comparePaths(a: readonly string[], b: readonly string[]): number {
  for (const [index, name] of a.entries()) {
    const other = b[index];
    if (other === undefined) return 1;
    if (name === other) continue;
    const areIndexes = /^\d+$/.test(name) && /^\d+$/.test(other);
    return areIndexes ? Number(name) - Number(other) : name < other ? -1 : 1;
  }
  return a.length - b.length;
}

function judge(found: readonly string[], options: DecodeObjectOptions): void {
  if (found.length === 0 || options.fieldValidation === 'Ignore') return;
  const complaints = options.mediaType === 'application/yaml' ? inKeyOrder(found) : found;
  if (options.fieldValidation === 'Strict') throw new DecodeError(strictDecodingText(complaints));
  for (const text of complaints.flatMap(warningTexts)) options.warn(text);
}

function refuseOtherVersion(gvk: GroupVersionKind, options: DecodeObjectOptions): void {
  const said = formatApiVersion(gvk);
  const expected = formatApiVersion(options.gvk);
  if (said === expected || options.acceptsVersion?.(gvk) === true) return;
  throw badRequest(`the API version in the data (${said}) does not match the expected API version (${expected})`);
}

function badRequestError(message: string, cause: Error): Error {
  const error = badRequest(message);
  error.cause = cause;
  return error;
}
