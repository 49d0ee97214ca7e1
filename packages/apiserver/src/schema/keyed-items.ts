// KeyedItems: the items of a list with x-kubernetes-list-type "map", found by the values of their keys. Used to compare an item with its
// state before an update. Source: apiserver pkg/cel/common maplist.go.
import { ExactNumber } from '@kapstan/api';
import { getOwn, isJsonObject } from '@kapstan/api/internal';
import type { JsonSchema } from './structural-schema.ts';

export class KeyedItems {
  readonly #keys: readonly string[];
  readonly #list: readonly unknown[];
  #items: Map<string, unknown> | undefined;

  /** Items of any other list are never found. */
  constructor(schema: JsonSchema, list: readonly unknown[]) {
    const isKeyed = schema.type === 'array' && schema['x-kubernetes-list-type'] === 'map';
    const keys = schema['x-kubernetes-list-map-keys'];
    this.#keys = isKeyed && Array.isArray(keys) ? (keys as string[]) : [];
    this.#list = list;
  }

  /** The first item with the same keys, or undefined. */
  find(item: unknown): unknown {
    const key = this.#keyOf(item);
    return key === undefined ? undefined : this.#indexed().get(key);
  }

  #indexed(): Map<string, unknown> {
    if (this.#items !== undefined) return this.#items;
    const items = new Map<string, unknown>();
    for (const item of this.#list) {
      const key = this.#keyOf(item);
      if (key !== undefined && !items.has(key)) items.set(key, item);
    }
    this.#items = items;
    return items;
  }

  /** Undefined for an item that lacks a key, or has something other than a scalar there. */
  #keyOf(item: unknown): string | undefined {
    if (this.#keys.length === 0 || !isJsonObject(item)) return undefined;
    const texts: string[] = [];
    for (const key of this.#keys) {
      const value = getOwn(item, key);
      if (value instanceof ExactNumber) texts.push(value.text);
      else if (typeof value === 'object' || value === undefined) return undefined;
      else texts.push(JSON.stringify(value));
    }
    return texts.join(',');
  }
}
