// Applies application/json-patch+json: RFC 6902 with kube-apiserver's deviations: replace adds, absent equals null,
// negative indexes count from the end. Used by apply-patch.ts.

import { StatusError, stringifyJson } from '@kapstan/api';
import { badRequest } from '@kapstan/api/errors';
import {
  copyAtPace,
  getOwn,
  isJsonObject,
  JsonSyntaxError,
  maxJsonDepth,
  type SlicedWork,
  SlicePace,
  setOwn,
  sortInSlices,
} from '@kapstan/api/internal';
import { findDifferences } from '../registry/meta/json-equality.ts';
import { readBodyText } from '../schema/body-limits.ts';
import { StrictErrors } from '../schema/field-validation.ts';
import type { SchemaNode } from '../schema/node/schema-node.ts';
import { DecodeError, decodeTypedInSlices } from '../schema/typed-decoder.ts';

/** Maximum number of operations in one patch. Source: handlers.maxJSONPatchOperations. */
const maxJsonPatchOperations = 10_000;
/**
 * Maximum number of bytes that the copy operations of one patch may add. Source: server.Config.JSONPatchMaxCopyBytes.
 */
const maxJsonPatchCopyBytes = 3 * 1024 * 1024;

/**
 * Maximum number of list items that one patch may shift, because each operation at the front of a long list shifts them
 * all.
 */
const maxShiftedItems = 100_000_000;

/** One operation as received. Members may be missing or have any value, which fails when it is applied. */
export interface JsonPatchOperation {
  readonly op?: string;
  readonly path?: string;
  readonly from?: string;
  readonly value?: unknown;
}

const text: SchemaNode = { type: 'string' };
const patchSchema: SchemaNode = {
  goType: '[]handlers.jsonPatchOp',
  items: {
    goType: 'handlers.jsonPatchOp',
    properties: new Map<string, SchemaNode>([
      ['op', text],
      ['path', text],
      ['from', text],
      ['value', {}],
    ]),
  },
};

/** Parses a patch. Complaints about unknown and repeated members go to `strict`. Throws StatusError 400 and 413. */
export function* readJsonPatch(body: string, strict: StrictErrors): SlicedWork<readonly JsonPatchOperation[]> {
  const complaints = new StrictErrors();
  const operations = yield* decodeOperations(body, complaints);
  for (const complaint of complaints.texts()) strict.add(`json patch ${complaint}`);
  if (operations.length > maxJsonPatchOperations) {
    throw new StatusError({
      code: 413,
      reason: 'RequestEntityTooLarge',
      message: `Request entity too large: The allowed maximum operations in a JSON patch is ${maxJsonPatchOperations}, got ${operations.length}`,
    });
  }
  return operations;
}

function* decodeOperations(body: string, strict: StrictErrors): SlicedWork<readonly JsonPatchOperation[]> {
  try {
    const { value, repeats } = yield* readBodyText(body);
    return ((yield* decodeTypedInSlices(value, { schema: patchSchema, strict, repeats, words: 'json' })) ??
      []) as JsonPatchOperation[];
  } catch (error) {
    if (!(error instanceof JsonSyntaxError) && !(error instanceof DecodeError)) throw error;
    throw badRequest(`error decoding patch: ${error.message}`);
  }
}

/** The reason why an operation does not apply, in the words of Go's library. */
export class JsonPatchFault extends Error {
  override readonly name = 'JsonPatchFault';
  /** True = all that failed is a test of a value. */
  readonly isFailedTest: boolean;

  constructor(message: string, isFailedTest: boolean = false) {
    super(message);
    this.isFailedTest = isFailedTest;
  }
}

/**
 * Applies the operations in order to `document`, which it changes, and returns it (or its replacement). Throws
 * StatusError 422, the answer to every failed operation of a client.
 */
export function* applyJsonPatch(document: unknown, operations: readonly JsonPatchOperation[]): SlicedWork<unknown> {
  try {
    return yield* applyOperations(document, operations);
  } catch (error) {
    if (!(error instanceof JsonPatchFault)) throw error;
    const message = 'the server rejected our request due to an error in our request';
    throw new StatusError({ code: 422, reason: 'Invalid', message, details: {} }, { cause: error });
  }
}

/** Does what {@link applyJsonPatch} does, but throws {@link JsonPatchFault}. */
export function* applyOperations(document: unknown, operations: readonly JsonPatchOperation[]): SlicedWork<unknown> {
  const patcher = new JsonPatcher(document);
  try {
    for (const operation of operations) yield* patcher.apply(operation);
  } catch (error) {
    if (error instanceof RangeError) refuse('the document becomes too large');
    throw error;
  }
  yield* refuseDeepNesting(patcher.document);
  return yield* patcher.sorted();
}

/** Operations can nest a document deeper than any text that is read, and later steps recurse over it. */
function* refuseDeepNesting(document: unknown): SlicedWork<void> {
  const pace = new SlicePace();
  let level = isContainer(document) ? [document] : [];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > maxJsonDepth) refuse('exceeded max depth');
    const next: Container[] = [];
    for (const container of level) yield* addContainers(next, container, pace);
    level = next;
  }
}

function* addContainers(found: Container[], container: Container, pace: SlicePace): SlicedWork<void> {
  if (pace.isDue()) yield;
  for (const member of Array.isArray(container) ? container : Object.values(container)) {
    if (isContainer(member)) found.push(member);
    if (pace.isDue()) yield;
  }
}

function refuse(why: string): never {
  throw new JsonPatchFault(why);
}

type Container = Record<string, unknown> | unknown[];

class JsonPatcher {
  document: unknown;
  #copiedBytes = 0;
  #shiftedItems = 0;
  readonly #pace = new SlicePace();
  /** Objects and lists that are on the path of an operation. */
  readonly #opened = new Set<unknown>();

  constructor(document: unknown) {
    this.document = document;
  }

  *apply({ op, path, from, value }: JsonPatchOperation): SlicedWork<void> {
    if (this.#pace.isDue()) yield;
    switch (op) {
      case 'add':
        return this.#add(pathOf(path, op), yield* this.#copy(value ?? null));
      case 'remove':
        return this.#remove(pathOf(path, op));
      case 'replace':
        return this.#replace(pathOf(path, op), yield* this.#copy(value ?? null));
      case 'test':
        return yield* this.#test(pathOf(path, op), value ?? null);
      case 'move':
        return this.#move(fromOf(from, op), path);
      case 'copy':
        return yield* this.#copyTo(fromOf(from, op), path);
      default:
        return refuse(`Unexpected kind: ${typeof op === 'string' ? op : 'unknown'}`);
    }
  }

  /**
   * Returns the document as Go writes it. Go writes objects on a path from maps, so their members are sorted, which
   * decides the error that is reported first. An object inside a sorted one counts as on a path too.
   */
  sorted(): SlicedWork<unknown> {
    return this.#sort(this.document);
  }

  *#sort(value: unknown): SlicedWork<unknown> {
    if (!this.#opened.has(value)) return value;
    if (Array.isArray(value)) {
      for (const [index, item] of value.entries()) {
        if (this.#opened.has(item)) value[index] = yield* this.#sort(item);
        if (this.#pace.isDue()) yield;
      }
      return value;
    }
    const object = value as Record<string, unknown>;
    const sorted: Record<string, unknown> = {};
    for (const name of yield* sortInSlices(Object.keys(object))) {
      const member = getOwn(object, name);
      setOwn(sorted, name, this.#opened.has(member) ? yield* this.#sort(member) : member);
      if (this.#pace.isDue()) yield;
    }
    return sorted;
  }

  /**
   * If the values are equal, this costs as much as the value in the patch; otherwise as much as both, but only once,
   * because the patch then fails.
   */
  *#equals(present: unknown, wanted: unknown): SlicedWork<boolean> {
    return yield* findDifferences(present, wanted, { found: new Map(), pace: this.#pace });
  }

  *#copy(value: unknown): SlicedWork<unknown> {
    return typeof value === 'object' ? yield* copyAtPace(value, this.#pace) : value;
  }

  *#test(path: string, wanted: unknown): SlicedWork<void> {
    let present: unknown = this.document;
    if (path !== '') {
      const place = this.#find(path) ?? refuse(`test operation does not apply: is missing path: ${path}: ${missing}`);
      present = memberOf(place, `error in test for path: '${path}'`);
    }
    if (!(yield* this.#equals(present ?? null, wanted)))
      throw new JsonPatchFault(`testing value ${path} failed: test failed`, true);
  }

  #move(from: string, to: unknown): void {
    const place =
      this.#find(from) ?? refuse(`move operation does not apply: doc is missing from path: ${from}: ${missing}`);
    const where = `error in move for path: '${place.key}'`;
    const moved = memberOf(place, where);
    this.#take(place, where);
    const path = pathOf(to, 'move');
    const target =
      this.#find(path) ?? refuse(`move operation does not apply: doc is missing destination path: ${path}: ${missing}`);
    this.#put(target, moved, `error in move for path: '${path}'`);
  }

  *#copyTo(from: string, to: unknown): SlicedWork<void> {
    const place =
      this.#find(from) ?? refuse(`copy operation does not apply: doc is missing from path: ${from}: ${missing}`);
    const value = memberOf(place, `error in copy for from: '${from}'`) ?? null;
    const path = pathOf(to, 'copy');
    const target =
      this.#find(path) ?? refuse(`copy operation does not apply: doc is missing destination path: ${path}: ${missing}`);
    this.#copiedBytes += stringifyJson(value).length;
    if (this.#copiedBytes > maxJsonPatchCopyBytes) {
      refuse(
        `Unable to complete the copy, the accumulated size increase of copy is ${this.#copiedBytes}, exceeding the limit ${maxJsonPatchCopyBytes}`,
      );
    }
    this.#put(target, yield* this.#copy(value), 'error while adding value during copy');
  }

  #add(path: string, value: unknown): void {
    const place =
      this.#find(path) ?? refuse(`add operation does not apply: doc is missing path: "${path}": ${missing}`);
    this.#put(place, value, `error in add for path: '${path}'`);
  }

  #remove(path: string): void {
    const place =
      this.#find(path) ?? refuse(`remove operation does not apply: doc is missing path: "${path}": ${missing}`);
    this.#take(place, `error in remove for path: '${path}'`);
  }

  #replace(path: string, value: unknown): void {
    if (path === '') {
      this.document = isContainer(value)
        ? value
        : refuse('replace operation value must be object or array: %!w(<nil>)');
      return;
    }
    const place =
      this.#find(path) ?? refuse(`replace operation does not apply: doc is missing path: ${path}: ${missing}`);
    const { container, key } = place;
    if (!Array.isArray(container)) return setOwn(container, key, value);
    const index = indexOf(key, container.length);
    if (typeof index === 'string') refuse(`replace operation does not apply: doc is missing key: ${path}: ${missing}`);
    container[index] = value;
  }

  #put({ container, key }: Place, value: unknown, where: string): void {
    if (!Array.isArray(container)) return setOwn(container, key, value);
    if (key === '-') return void container.push(value);
    if (!isIndex(key)) refuse(`${where}: value was not a proper array index: '${key}': ${notANumber(key)}`);
    container.splice(this.#shift(container, indexIn(key, { length: container.length + 1, where })), 0, value);
  }

  #take({ container, key }: Place, where: string): void {
    if (Array.isArray(container)) {
      container.splice(this.#shift(container, indexIn(key, { length: container.length, where })), 1);
    } else if (Object.hasOwn(container, key)) delete container[key];
    else refuse(`${where}: Unable to remove nonexistent key: ${key}: ${missing}`);
  }

  /** Returns the index if the items behind it may still be shifted. */
  #shift(list: readonly unknown[], index: number): number {
    this.#shiftedItems += list.length - index;
    return this.#shiftedItems > maxShiftedItems ? refuse('the operations shift too many items of lists') : index;
  }

  #open(container: unknown): void {
    if (isContainer(container)) this.#opened.add(container);
  }

  /**
   * Returns the object or list that contains the last part of a path, and undefined when there is none. Text before the
   * first slash is ignored.
   */
  #find(path: string): Place | undefined {
    const parts = path.split('/');
    if (parts.length < 2) return undefined;
    let container: unknown = this.document;
    this.#open(container);
    for (const part of parts.slice(1, -1)) {
      const key = unescapePart(part);
      if (Array.isArray(container)) {
        const index = indexOf(key, container.length);
        container = typeof index === 'string' ? undefined : container[index];
      } else container = isJsonObject(container) ? getOwn(container, key) : undefined;
      if (container === undefined) return undefined;
      this.#open(container);
    }
    return isContainer(container) ? { container, key: unescapePart(parts.at(-1) ?? '') } : undefined;
  }
}

/** The place to which the last part of a path points. */
interface Place {
  readonly container: Container;
  readonly key: string;
}

const missing = 'missing value';

/** The library hides the reason for some operations. */
function pathOf(path: unknown, op: string): string {
  if (typeof path === 'string') return path;
  const why = op === 'add' || op === 'remove' || op === 'copy' ? missing : `operation missing path field: ${missing}`;
  return refuse(`${op} operation failed to decode path: ${why}`);
}

function fromOf(from: unknown, op: string): string {
  if (typeof from === 'string') return from;
  return refuse(`${op} operation failed to decode from: operation, missing from field: ${missing}`);
}

function memberOf({ container, key }: Place, where: string): unknown {
  if (!Array.isArray(container)) return getOwn(container, key);
  return container[indexIn(key, { length: container.length, where })];
}

function isContainer(value: unknown): value is Container {
  return Array.isArray(value) || isJsonObject(value);
}

function unescapePart(part: string): string {
  return part.replaceAll('~1', '/').replaceAll('~0', '~');
}

function isIndex(key: string): boolean {
  return /^[+-]?\d+$/.test(key);
}

function notANumber(key: string): string {
  return `strconv.Atoi: parsing ${JSON.stringify(key)}: invalid syntax`;
}

/** Returns the index for a part of a path, or the reason why there is none. Negative indices count from the end. */
function indexOf(key: string, length: number): number | string {
  if (!isIndex(key)) return notANumber(key);
  const given = Number(key);
  const index = given < 0 ? given + length : given;
  return index >= 0 && index < length ? index : `Unable to access invalid index: ${given}: invalid index referenced`;
}

function indexIn(key: string, { length, where }: { readonly length: number; readonly where: string }): number {
  const index = indexOf(key, length);
  return typeof index === 'string' ? refuse(`${where}: ${index}`) : index;
}
