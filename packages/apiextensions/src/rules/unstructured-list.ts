// Lists of an object as values of expressions. Sets are equal in any order, and adding to them adds only new items;
// lists with keys are compared and merged by these. Source: apiserver pkg/cel/common unstructuredList,
// unstructuredSetList, unstructuredMapList.
import { ExactNumber } from '@kapstan/api';
import { getOwn, isJsonObject } from '@kapstan/api/internal';
import {
  type AnyList,
  CelDouble,
  CelFailure,
  CelList,
  equalValues,
  escapeName,
  isList,
  kindOf,
  listItems,
  listSize,
  overloadFailure,
} from '@kapstan/cel';
import { dataOf } from './unstructured-data.ts';

type ToValue = (data: unknown) => unknown;

export class UnstructuredList extends CelList {
  readonly data: readonly unknown[];
  protected readonly toItem: ToValue;
  #items: readonly unknown[] | undefined;

  constructor(data: readonly unknown[], toItem: ToValue) {
    super();
    this.data = data;
    this.toItem = toItem;
  }

  get size(): number {
    return this.data.length;
  }

  at(index: number): unknown {
    return this.#items === undefined ? this.toItem(this.data[index]) : this.#items[index];
  }

  toArray(): readonly unknown[] {
    this.#items ??= this.data.map((item) => this.toItem(item));
    return this.#items;
  }

  override equals(other: unknown): boolean | CelFailure {
    if (!isList(other)) return overloadFailure(other);
    const others = listItems(other);
    if (this.size !== others.length) return false;
    for (const [index, item] of this.toArray().entries()) {
      const equal = item instanceof CelFailure ? item : equalValues(item, others[index]);
      if (equal !== true) return equal;
    }
    return true;
  }

  /** An element that cannot be compared is an error only if no other element equals the value. */
  override contains(value: unknown): boolean | CelFailure {
    let failure: CelFailure | undefined;
    for (const item of this.toArray()) {
      const equal = item instanceof CelFailure ? item : equalValues(item, value);
      if (equal === true) return true;
      if (equal !== false) failure ??= equal;
    }
    return failure ?? false;
  }
}

export class SetListValue extends UnstructuredList {
  #members: Set<string> | undefined;

  override equals(other: unknown): boolean | CelFailure {
    if (!isList(other)) return overloadFailure(other);
    return this.size === listSize(other) && listItems(other).every((item) => this.#has(valueKey(item)));
  }

  override concat(other: AnyList): AnyList {
    const members = new Set(this.#keys());
    const data = [...this.data];
    for (const item of listItems(other)) {
      const key = valueKey(item);
      if (members.has(key)) continue;
      members.add(key);
      data.push(dataOf(item));
    }
    return new SetListValue(data, this.toItem);
  }

  #has(key: string): boolean {
    return this.#keys().has(key);
  }

  #keys(): ReadonlySet<string> {
    this.#members ??= new Set(this.data.map(dataKey));
    return this.#members;
  }
}

export class MapListValue extends UnstructuredList {
  readonly #keys: readonly string[];
  #byKey: Map<string, unknown> | undefined;

  constructor(data: readonly unknown[], toItem: ToValue, keys: readonly string[]) {
    super(data, toItem);
    this.#keys = keys;
  }

  override equals(other: unknown): boolean | CelFailure {
    if (!isList(other)) return overloadFailure(other);
    if (this.size !== listSize(other)) return false;
    this.#byKey ??= new Map(this.data.map((item) => [this.#keyOf(item), item]));
    for (const item of listItems(other)) {
      const key = this.#keyOf(dataOf(item));
      if (!this.#byKey.has(key)) return false;
      const own = this.toItem(this.#byKey.get(key));
      const equal = own instanceof CelFailure ? own : equalValues(own, item);
      if (equal !== true) return equal;
    }
    return true;
  }

  /** Items of the other list replace those with the same keys. */
  override concat(other: AnyList): AnyList {
    const data = [...this.data];
    const places = new Map(data.map((item, index) => [this.#keyOf(item), index]));
    for (const item of listItems(other)) {
      const own = dataOf(item);
      const place = places.get(this.#keyOf(own));
      if (place === undefined) data.push(own);
      else data[place] = own;
    }
    return new MapListValue(data, this.toItem, this.#keys);
  }

  #keyOf(item: unknown): string {
    return this.#keys.map((key) => dataKey(isJsonObject(item) ? getOwn(item, key) : undefined)).join(',');
  }
}

/**
 * Returns the names under which Kubernetes looks for keys in items: the escaped names, although items have the plain
 * ones.
 */
export function escapedKeys(keys: readonly string[]): readonly string[] {
  return keys.map((key) => escapeName(key) ?? key);
}

/** Distinguishes data like keys of Go's maps: a whole number never equals a double. */
function dataKey(data: unknown): string {
  if (data instanceof ExactNumber) return `${/^-?\d+$/.test(data.text) ? 'int' : 'double'} ${data.text}`;
  if (typeof data === 'number') return `${Number.isInteger(data) ? 'int' : 'double'} ${data}`;
  return JSON.stringify(data) ?? 'null';
}

function valueKey(value: unknown): string {
  if (value instanceof CelDouble) return `double ${value.value}`;
  switch (kindOf(value)) {
    case 'int':
      return `int ${value}`;
    case 'double':
      return `double ${value}`;
    case 'string':
    case 'bool':
    case 'null':
      return JSON.stringify(value);
    default:
      return dataKey(dataOf(value));
  }
}
