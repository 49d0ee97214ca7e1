// Maps. A JSON object is a map with string keys; a CelMap has keys of any type. Numbers of different types are the same
// key when their values are equal. A CelMapping computes its values, as objects of a schema do.

import { CelBox } from './cel-box.ts';
import { type CelFailure, EvaluationStop } from './failure.ts';
import { type Int, int64Range, intOf, uint64Range } from './integers.ts';
import { CelUint, numberOfDouble } from './numbers.ts';
import { type JsonMap, kindOf } from './value.ts';

const internal = 'internal error: runtime error:';

export interface Entry {
  readonly key: unknown;
  readonly value: unknown;
}

/** A map that is not a JSON object. */
export abstract class CelMapping extends CelBox {
  readonly kind = 'map';
  abstract readonly size: number;
  /** Returns the value of a key, an error, or undefined when there is no such entry. */
  abstract find(key: unknown): unknown;
  abstract entries(): Iterable<Entry>;

  /** Compares with any other value; undefined when maps of this kind are compared entry by entry. */
  equals(_other: unknown): boolean | CelFailure | undefined {
    return undefined;
  }
}

export class CelMap extends CelMapping {
  /** Entries by key: texts, booleans, ints and null as they are; uints and doubles by their text. */
  readonly #plain = new Map<unknown, Entry>();
  readonly #boxed = new Map<string, Entry>();

  get size(): number {
    return this.#plain.size + this.#boxed.size;
  }

  set(key: unknown, value: unknown): void {
    const text = boxedKey(key);
    if (text === undefined) this.#plain.set(key, { key, value });
    else this.#boxed.set(text, { key, value });
  }

  delete(key: unknown): void {
    const text = boxedKey(key);
    if (text === undefined) this.#plain.delete(key);
    else this.#boxed.delete(text);
  }

  /** Returns the value of a key, or undefined when there is no such entry. */
  find(key: unknown): unknown {
    // In Go, looking up bytes in a map that is not empty ends the evaluation.
    if (key instanceof Uint8Array && this.size > 0)
      throw new EvaluationStop(`${internal} hash of unhashable type types.Bytes`);
    const entry = this.#entry(key) ?? this.#numberEntry(key);
    return entry?.value;
  }

  *entries(): IterableIterator<Entry> {
    yield* this.#plain.values();
    yield* this.#boxed.values();
  }

  #entry(key: unknown): Entry | undefined {
    const text = boxedKey(key);
    return text === undefined ? this.#plain.get(key) : this.#boxed.get(text);
  }

  #numberEntry(key: unknown): Entry | undefined {
    for (const same of equalNumbers(key)) {
      const entry = this.#entry(same);
      if (entry !== undefined) return entry;
    }
    return undefined;
  }
}

function boxedKey(key: unknown): string | undefined {
  if (key instanceof CelUint) return `u${key.value}`;
  if (kindOf(key) !== 'double') return undefined;
  const value = numberOfDouble(key);
  return Number.isNaN(value) ? `d${value}${nans++}` : `d${value}`;
}

/** NaN equals nothing, so each one is a separate key that no lookup finds. */
let nans = 0;

/**
 * Returns the same number as an int and as a uint, if there is one. Doubles are keys that other numbers do not find.
 */
export function equalNumbers(key: unknown): readonly unknown[] {
  const kind = kindOf(key);
  if (kind === 'int') {
    const value = BigInt(key as Int);
    return value >= 0n ? [new CelUint(value)] : [];
  }
  if (kind === 'uint') {
    const { value } = key as CelUint;
    return int64Range.has(value) ? [intOf(value)] : [];
  }
  return kind === 'double' ? integersOf(numberOfDouble(key)) : [];
}

function integersOf(value: number): readonly unknown[] {
  if (!Number.isInteger(value)) return [];
  const whole = BigInt(value);
  const same: unknown[] = [];
  if (isInnerInt(value)) same.push(intOf(whole));
  if (uint64Range.has(whole)) same.push(new CelUint(whole));
  return same;
}

/** Go refuses doubles at both ends of the range of ints, because their neighbours do not fit. */
function isInnerInt(value: number): boolean {
  return value > -(2 ** 63) && value < 2 ** 63;
}

/** A map of an expression, or of JSON. */
export type AnyMap = CelMapping | JsonMap;

/** Returns whether a value of an expression is a map. */
export function isMap(value: unknown): value is AnyMap {
  return kindOf(value) === 'map';
}

/** Returns the number of entries of a map. */
export function mapSize(map: AnyMap): number {
  return map instanceof CelMapping ? map.size : Object.keys(map).length;
}

/** Returns the value of a key, or undefined when there is no such entry. */
export function mapFind(map: AnyMap, key: unknown): unknown {
  if (map instanceof CelMapping) return map.find(key);
  return typeof key === 'string' && Object.hasOwn(map, key) ? map[key] : undefined;
}

/** Returns the keys of a map. */
export function mapKeys(map: AnyMap): unknown[] {
  return map instanceof CelMapping ? Array.from(map.entries(), ({ key }) => key) : Object.keys(map);
}
