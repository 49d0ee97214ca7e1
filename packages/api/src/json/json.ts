// JSON whose numbers keep all digits. Used wherever objects of users are read or written.

import { fitsOneSlice, membersPerSlice, namesInSlices, rememberCopy, type SlicedWork } from '../time/sliced-work.ts';
import { parseText } from './json-text.ts';

/**
 * A number that a JavaScript double cannot hold, kept as written.
 *
 * @example
 * ```ts
 * import { ExactNumber, parseJson } from '@kapstan/api';
 *
 * const id = parseJson('12345678901234567890');
 * if (id instanceof ExactNumber) console.log(String(id)); // 12345678901234567890
 * ```
 */
export class ExactNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  valueOf(): number {
    return Number(this.text);
  }

  toString(): string {
    return this.text;
  }

  /**
   * Returns a mark that {@link stringifyJson} turns into the exact text; under a plain JSON.stringify, the nearest
   * double.
   */
  toJSON(): string | number {
    if (!isStringifying) return Number(this.text);
    exactNumberSeen = true;
    return `${sentinel}${this.text}`;
  }
}

let isStringifying = false;
let exactNumberSeen = false;
// A new secret in each process, so that no user can choose a text that looks like a mark.
const sentinel = `\uE000${Math.random().toString(36).slice(2)}${Math.random().toString(36).slice(2)}:`;
const longRun = 16;
// A number starts after one of these characters; digits inside strings mostly do not.
const manyDigits = /(?:^|[\s:,[-])\d[\d.]{15}/;
// Matches strings by runs of plain characters: one step per character would exhaust the stack on long ones.
const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const quotedSentinel = new RegExp(`"${sentinel}(-?[0-9.eE+-]+)"`, 'g');

/**
 * Parses JSON. A number of more than 15 digits whose double prints differently becomes an {@link ExactNumber}. Throws
 * SyntaxError. `__proto__` and the like are plain own keys.
 *
 * @example
 * ```ts
 * import { parseJson, stringifyJson } from '@kapstan/api';
 *
 * const text = '{"id":12345678901234567890}';
 * stringifyJson(parseJson(text)) === text; // true; JSON.parse would have changed the number
 * ```
 */
export function parseJson(text: string): unknown {
  if (!hasLongRun(text) || !manyDigits.test(text)) return parseText(text);
  let replaced = false;
  const marked = text.replace(tokens, (token) => {
    if (token.startsWith('"') || isExactAsDouble(token)) return token;
    replaced = true;
    return `"${sentinel}${token}"`;
  });
  const value = parseText(replaced ? marked : text);
  return replaced ? restoreNumbers(value) : value;
}

/**
 * Returns false when no number in the text has 16 digits. A run of 16 covers at least one of every 16 positions, so
 * only those are examined.
 */
function hasLongRun(text: string): boolean {
  for (let at = longRun - 1; at < text.length; at += longRun) {
    if (isDigitOrDot(text.charCodeAt(at)) && isLongRun(text, at)) return true;
  }
  return false;
}

function isLongRun(text: string, at: number): boolean {
  let start = at;
  let end = at + 1;
  while (start > 0 && isDigitOrDot(text.charCodeAt(start - 1))) start--;
  while (end < text.length && isDigitOrDot(text.charCodeAt(end))) end++;
  return end - start >= longRun;
}

function isDigitOrDot(code: number): boolean {
  return (code >= 0x30 && code <= 0x39) || code === 0x2e;
}

/** Does the inverse of {@link parseJson}. Like JSON.stringify it drops members that are undefined. */
export function stringifyJson(value: unknown, indent?: number): string {
  exactNumberSeen = false;
  isStringifying = true;
  try {
    const text = JSON.stringify(value, undefined, indent);
    return exactNumberSeen ? text.replace(quotedSentinel, '$1') : text;
  } finally {
    isStringifying = false;
  }
}

/** The type of a copy of a shared value, which its owner may change. Undoes `DeepReadonly`. */
export type DeepWritable<T> = T extends (...args: never[]) => unknown
  ? T
  : T extends object
    ? { -readonly [K in keyof T]: DeepWritable<T[K]> }
    : T;

/**
 * Returns a deep copy of JSON data that may be changed (keeps {@link ExactNumber}, own keys only): a cached
 * `DeepReadonly<Pod>` becomes a `Pod`. In a generic function, write `deepCopy(object) as T`. Several times faster than
 * structuredClone.
 */
export function deepCopy<T>(value: T): DeepWritable<T> {
  return copyValue(value) as DeepWritable<T>;
}

function copyValue(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || value instanceof ExactNumber) return value;
  if (Array.isArray(value)) return value.map(copyValue);
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(value)) setOwn(copy, key, copyValue((value as Record<string, unknown>)[key]));
  return copy;
}

/** Does what {@link deepCopy} does, for a value of any size. */
export function* copyInSlices<T>(value: T): SlicedWork<DeepWritable<T>> {
  return (yield* copyLarge(value)) as DeepWritable<T>;
}

function* copyLarge(value: unknown): SlicedWork<unknown> {
  if (fitsOneSlice(value)) return copyValue(value);
  // A deep value has few members at each level, and each level looks at some hundred nodes, so each is a step of its own.
  yield;
  if (Array.isArray(value)) return yield* copyItems(value);
  return isJsonObject(value) ? yield* copyMembers(value) : value;
}

function* copyItems(list: readonly unknown[]): SlicedWork<unknown[]> {
  const copy: unknown[] = [];
  for (const item of list) {
    copy.push(isLeaf(item) ? item : yield* copyLarge(item));
    if (copy.length % itemsPerSlice === 0) yield;
  }
  return copy;
}

function* copyMembers(object: Record<string, unknown>): SlicedWork<Record<string, unknown>> {
  const copy: Record<string, unknown> = {};
  let count = 0;
  for (const key of yield* namesInSlices(object)) {
    const member = object[key];
    setOwn(copy, key, isLeaf(member) ? member : yield* copyLarge(member));
    if (++count % membersPerSlice === 0) yield;
  }
  rememberCopy(copy, object, count);
  return copy;
}

/** Items of a list between two yields. An item may be an object with some members. */
export const itemsPerSlice = 64;

/** True for a value that is neither a list nor an object. */
export function isLeaf(value: unknown): boolean {
  return typeof value !== 'object' || value === null;
}

/** Sets an own property of any name: `copy['__proto__'] = x` would set the prototype instead. */
export function setOwn(target: Record<string, unknown>, key: string, value: unknown): void {
  if (key !== '__proto__') target[key] = value;
  else Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
}

/** Returns the own property of that name, or undefined; never one of the prototype. */
export function getOwn(target: object, key: string): unknown {
  return Object.hasOwn(target, key) ? (target as Record<string, unknown>)[key] : undefined;
}

/** True for a plain JSON object: not null, no array, no {@link ExactNumber}. */
export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber);
}

/** True when a double keeps all digits of the number, or prints like it. */
export function isExactAsDouble(token: string): boolean {
  const digits = token
    .replace(/^-/, '')
    .replace(/[eE].*$/, '')
    .replace('.', '');
  return digits.length <= 15 || String(Number(token)) === token;
}

function restoreNumbers(value: unknown): unknown {
  if (typeof value === 'string')
    return value.startsWith(sentinel) ? new ExactNumber(value.slice(sentinel.length)) : value;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(restoreNumbers);
  for (const key of Object.keys(value))
    setOwn(value as Record<string, unknown>, key, restoreNumbers(getOwn(value, key)));
  return value;
}
