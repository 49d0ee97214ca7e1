// Lists. An array is a list; a CelList computes its elements or has a special equality.
import { CelBox } from './cel-box.ts';
import type { CelFailure } from './failure.ts';

/** A list of an expression. */
export abstract class CelList extends CelBox {
  readonly kind = 'list';
  abstract readonly size: number;
  /** Returns the element at an index between 0 and size - 1. */
  abstract at(index: number): unknown;
  abstract toArray(): readonly unknown[];

  /** Compares with any value on the right side; undefined when lists of this kind are compared element by element. */
  equals(_other: unknown): boolean | CelFailure | undefined {
    return undefined;
  }

  /** Returns whether an element equals the value; undefined when lists of this kind are searched element by element. */
  contains(_value: unknown): boolean | CelFailure | undefined {
    return undefined;
  }

  /** Returns this list followed by another one; undefined when this kind of list needs no special rule. */
  concat(_other: AnyList): AnyList | undefined {
    return undefined;
  }
}

/** A list of an expression, or of JSON. */
export type AnyList = readonly unknown[] | CelList;

/** Returns whether a value of an expression is a list. */
export function isList(value: unknown): value is AnyList {
  return Array.isArray(value) || value instanceof CelList;
}

/** Returns the number of elements of a list. */
export function listSize(list: AnyList): number {
  return list instanceof CelList ? list.size : list.length;
}

export function listAt(list: AnyList, index: number): unknown {
  return list instanceof CelList ? list.at(index) : list[index];
}

/** Returns the elements of a list. */
export function listItems(list: AnyList): readonly unknown[] {
  return list instanceof CelList ? list.toArray() : list;
}

/** Number of nested joins after which a join copies, so that reading an element stays cheap. */
const maxDepth = 32;

/** Two lists one after the other. A join costs one unit for lists of any size, so it must copy nothing. */
class JoinedList extends CelList {
  readonly #left: AnyList;
  readonly #right: AnyList;
  readonly size: number;
  readonly depth: number;
  #items: readonly unknown[] | undefined;

  constructor(left: AnyList, right: AnyList) {
    super();
    this.#left = left;
    this.#right = right;
    this.size = listSize(left) + listSize(right);
    this.depth = Math.max(depthOf(left), depthOf(right)) + 1;
  }

  at(index: number): unknown {
    if (this.#items !== undefined) return this.#items[index];
    if (this.depth > maxDepth) return this.toArray()[index];
    const leftSize = listSize(this.#left);
    return index < leftSize ? listAt(this.#left, index) : listAt(this.#right, index - leftSize);
  }

  toArray(): readonly unknown[] {
    if (this.#items !== undefined) return this.#items;
    const items: unknown[] = [];
    const waiting: AnyList[] = [this];
    for (let list = waiting.pop(); list !== undefined; list = waiting.pop()) {
      if (list instanceof JoinedList && list.#items === undefined) waiting.push(list.#right, list.#left);
      else for (const item of listItems(list)) items.push(item);
    }
    this.#items = items;
    return items;
  }
}

function depthOf(list: AnyList): number {
  return list instanceof JoinedList ? list.depth : 0;
}

/** Joins both lists. */
export function joinLists(left: AnyList, right: AnyList): AnyList {
  const own = left instanceof CelList ? left.concat(right) : undefined;
  if (own !== undefined) return own;
  if (listSize(left) === 0) return right;
  if (listSize(right) === 0) return left;
  return new JoinedList(left, right);
}
