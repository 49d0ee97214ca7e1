// CorrelatedObject pairs a value with the one in its place before an update, as far as the places can be matched. A value that did not
// change stays valid when its schema has become stricter. Used by value-validation.ts, and by rules. Source: apiserver pkg/cel/common
// equality.go; KEP 4008, CRD validation ratcheting.
import { isDeepStrictEqual } from 'node:util';
import { getOwn, isJsonObject } from '@kapstan/api/internal';
import { KeyedItems } from './keyed-items.ts';
import type { JsonSchema } from './structural-schema.ts';

export class CorrelatedObject {
  readonly value: unknown;
  readonly old: unknown;
  readonly #schema: JsonSchema;
  #isUnchanged: boolean | undefined;
  #oldItems: KeyedItems | undefined;
  #children: Map<string | number, CorrelatedObject> | undefined;

  constructor(value: unknown, old: unknown, schema: JsonSchema) {
    this.value = value;
    this.old = old;
    this.#schema = schema;
  }

  /**
   * Returns the member of that name; undefined where one of the values lacks it, or the schema does not describe it.
   */
  key(name: string): CorrelatedObject | undefined {
    const known = this.#children?.get(name);
    if (known !== undefined) return known;
    const { value, old } = this;
    if (!isJsonObject(value) || !isJsonObject(old) || !Object.hasOwn(value, name) || !Object.hasOwn(old, name)) {
      return undefined;
    }
    const schema = memberSchema(this.#schema, name);
    return schema === undefined
      ? undefined
      : this.#remember(name, new CorrelatedObject(value[name], old[name], schema));
  }

  /**
   * Returns the item at an index of the new list; undefined unless the list has keys and the old list has an item with
   * the same keys.
   */
  index(index: number): CorrelatedObject | undefined {
    const known = this.#children?.get(index);
    if (known !== undefined) return known;
    const { items } = this.#schema;
    if (!Array.isArray(this.value) || index >= this.value.length || !isJsonObject(items)) return undefined;
    const item: unknown = this.value[index];
    const old = this.oldItem(item);
    return old === undefined ? undefined : this.#remember(index, new CorrelatedObject(item, old, items));
  }

  /** The item of the old list with the same keys, or undefined. */
  oldItem(item: unknown): unknown {
    if (!Array.isArray(this.old)) return undefined;
    this.#oldItems ??= new KeyedItems(this.#schema, this.old);
    return this.#oldItems.find(item);
  }

  /**
   * Returns whether the value is unchanged. Members that the schema does not name cannot be compared: an object that has some always counts
   * as changed. Items of a list with keys may have changed places.
   */
  get isUnchanged(): boolean {
    this.#isUnchanged ??= this.#compare();
    return this.#isUnchanged;
  }

  #compare(): boolean {
    const { value, old } = this;
    if (Array.isArray(value) && Array.isArray(old)) return this.#compareLists(value, old);
    if (isJsonObject(value) && isJsonObject(old)) return this.#compareObjects(value, old);
    return isDeepStrictEqual(value, old);
  }

  #compareLists(value: readonly unknown[], old: readonly unknown[]): boolean {
    if (value.length !== old.length) return false;
    if (this.#schema['x-kubernetes-list-type'] !== 'map') return isDeepStrictEqual(value, old);
    return value.every((_, index) => this.index(index)?.isUnchanged === true);
  }

  #compareObjects(value: Readonly<Record<string, unknown>>, old: Readonly<Record<string, unknown>>): boolean {
    const names = Object.keys(value);
    if (names.length !== Object.keys(old).length) return false;
    return names.every((name) => this.key(name)?.isUnchanged === true);
  }

  #remember(place: string | number, child: CorrelatedObject): CorrelatedObject {
    this.#children ??= new Map();
    this.#children.set(place, child);
    return child;
  }
}

function memberSchema({ properties, additionalProperties }: JsonSchema, name: string): JsonSchema | undefined {
  const own = isJsonObject(properties) ? getOwn(properties, name) : undefined;
  if (isJsonObject(own)) return own;
  return isJsonObject(additionalProperties) ? additionalProperties : undefined;
}
