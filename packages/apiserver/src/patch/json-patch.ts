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
import { StrictErrors } from '../schema/field-validation.ts';
import { readJsonText } from '../schema/json-reader.ts';
import type { SchemaNode } from '../schema/schema-node.ts';
import { DecodeError, decodeTypedInSlices } from '../schema/typed-decoder.ts';

/** Most operations of one patch. Source: handlers.maxJSONPatchOperations. */
const maxJsonPatchOperations = 10_000;
/** Most bytes that the copy operations of one patch may add. Source: server.Config.JSONPatchMaxCopyBytes. */
const maxJsonPatchCopyBytes = 3 * 1024 * 1024;

/** Most list items that one patch may shift: each operation at the front of a long list shifts them all. */
const maxShiftedItems = 100_000_000;

/** One operation as it came. Members may be missing or have any value; that fails when it is applied. */
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
    const { value, repeats } = yield* readJsonText(body);
    return ((yield* decodeTypedInSlices(value, { schema: patchSchema, strict, repeats, words: 'json' })) ??
      []) as JsonPatchOperation[];
  } catch (error) {
    if (!(error instanceof JsonSyntaxError) && !(error instanceof DecodeError)) throw error;
    throw badRequest(`error decoding patch: ${error.message}`);
  }
}

/**
 * Applies the operations in order to `document`, which it changes, and returns it (or its replacement). Throws
 * StatusError 422.
 */
export function* applyJsonPatch(document: unknown, operations: readonly JsonPatchOperation[]): SlicedWork<unknown> {
  const patcher = new JsonPatcher(document);
  try {
    for (const operation of operations) yield* patcher.apply(operation);
  } catch (error) {
    if (error instanceof RangeError) refuse();
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
    if (depth > maxJsonDepth) refuse();
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

/** The one answer to every failed operation. */
function refuse(): never {
  throw new StatusError({
    code: 422,
    reason: 'Invalid',
    message: 'the server rejected our request due to an error in our request',
    details: {},
  });
}

type Container = Record<string, unknown> | unknown[];

class JsonPatcher {
  document: unknown;
  #copiedBytes = 0;
  #shiftedItems = 0;
  readonly #pace = new SlicePace();
  /** Objects and lists that a path led into. */
  readonly #opened = new Set<unknown>();

  constructor(document: unknown) {
    this.document = document;
  }

  *apply({ op, path, from, value }: JsonPatchOperation): SlicedWork<void> {
    if (this.#pace.isDue()) yield;
    if (typeof path !== 'string') refuse();
    switch (op) {
      case 'add':
        return this.#add(path, yield* this.#copy(value ?? null));
      case 'remove':
        return this.#remove(path);
      case 'replace':
        return this.#replace(path, yield* this.#copy(value ?? null));
      case 'test':
        return (yield* this.#equals(this.#get(path) ?? null, value ?? null)) ? undefined : refuse();
      case 'move': {
        const moved = this.#get(from);
        this.#remove(from);
        return this.#add(path, moved);
      }
      case 'copy':
        return this.#add(path, yield* this.#copyOf(from));
      default:
        return refuse();
    }
  }

  /**
   * Returns the document as Go writes it: objects on a path are written from maps, so their members are sorted, which
   * decides the error reported first. An object inside a sorted one is on a path too.
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
   * Costs as much as the value in the patch if they are equal, otherwise as much as both, once, because the patch then
   * fails.
   */
  *#equals(present: unknown, wanted: unknown): SlicedWork<boolean> {
    return yield* findDifferences(present, wanted, { found: new Map(), pace: this.#pace });
  }

  *#copy(value: unknown): SlicedWork<unknown> {
    return typeof value === 'object' ? yield* copyAtPace(value, this.#pace) : value;
  }

  *#copyOf(from: string | undefined): SlicedWork<unknown> {
    // kube-apiserver's library accepts the empty path, which is the whole document, for "test" only.
    if (from === '') refuse();
    const value = this.#get(from) ?? null;
    this.#copiedBytes += stringifyJson(value).length;
    return this.#copiedBytes > maxJsonPatchCopyBytes ? refuse() : yield* this.#copy(value);
  }

  #get(path: string | undefined): unknown {
    if (path === '') return this.document;
    const { container, key } = this.#locate(path);
    return Array.isArray(container) ? container[indexIn(key, container.length)] : getOwn(container, key);
  }

  #add(path: string, value: unknown): void {
    const { container, key } = this.#locate(path);
    if (!Array.isArray(container)) setOwn(container, key, value);
    else if (key === '-') container.push(value);
    else container.splice(this.#shift(container, indexIn(key, container.length + 1)), 0, value);
  }

  #remove(path: string | undefined): void {
    const { container, key } = this.#locate(path);
    if (Array.isArray(container)) container.splice(this.#shift(container, indexIn(key, container.length)), 1);
    else if (Object.hasOwn(container, key)) delete container[key];
    else refuse();
  }

  /** Returns the index if the items behind it may still be shifted. */
  #shift(list: readonly unknown[], index: number): number {
    this.#shiftedItems += list.length - index;
    return this.#shiftedItems > maxShiftedItems ? refuse() : index;
  }

  #replace(path: string, value: unknown): void {
    if (path === '') {
      this.document = isContainer(value) ? value : refuse();
      return;
    }
    const { container, key } = this.#locate(path);
    if (Array.isArray(container)) container[indexIn(key, container.length)] = value;
    else setOwn(container, key, value);
  }

  #open(container: unknown): void {
    if (isContainer(container)) this.#opened.add(container);
  }

  /** Returns the object or list that contains the last part of a path. Text before the first slash is ignored. */
  #locate(path: string | undefined): { readonly container: Container; readonly key: string } {
    const parts = typeof path === 'string' ? path.split('/') : refuse();
    if (parts.length < 2) refuse();
    let container: unknown = this.document;
    this.#open(container);
    for (const part of parts.slice(1, -1)) {
      const key = unescapePart(part);
      container = Array.isArray(container)
        ? container[indexIn(key, container.length)]
        : isJsonObject(container)
          ? getOwn(container, key)
          : refuse();
      this.#open(container);
    }
    return isContainer(container) ? { container, key: unescapePart(parts.at(-1) ?? '') } : refuse();
  }
}

function isContainer(value: unknown): value is Container {
  return Array.isArray(value) || isJsonObject(value);
}

function unescapePart(part: string): string {
  return part.replaceAll('~1', '/').replaceAll('~0', '~');
}

function indexIn(key: string, length: number): number {
  const given = /^[+-]?\d+$/.test(key) ? Number(key) : Number.NaN;
  const index = given < 0 ? given + length : given;
  return index >= 0 && index < length ? index : refuse();
}
