// What an update did: the fields added, changed and removed between two objects of one schema. Source:
// structured-merge-diff typed.TypedValue.Compare.
import { getOwn, isJsonObject } from '@kapstan/api';
import { jsonEqual } from '../registry/json-equality.ts';
import type { SchemaNode } from '../schema/schema-node.ts';
import { FieldSet } from './field-set.ts';
import { fieldElement, type PathElement } from './path-element.ts';
import { deduced, itemSchema, itemsByElement, memberSchema, ownershipOf } from './schema-atom.ts';

export interface Comparison {
  readonly added: FieldSet;
  readonly modified: FieldSet;
  readonly removed: FieldSet;
}

/** Compares two values of one schema. */
export function compareTyped(old: unknown, next: unknown, schema: SchemaNode): Comparison {
  const comparison = { added: new FieldSet(), modified: new FieldSet(), removed: new FieldSet() };
  new Comparer(comparison).compare({ old, next, node: schema });
  return comparison;
}

/** The comparison without fields that the endpoint ignores, and all below them. */
export function excludeFields({ added, modified, removed }: Comparison, ignored: FieldSet): Comparison {
  return {
    added: added.recursiveDifference(ignored),
    modified: modified.recursiveDifference(ignored),
    removed: removed.recursiveDifference(ignored),
  };
}

interface Place {
  /** Undefined = absent. */
  readonly old: unknown;
  readonly next: unknown;
  readonly node: SchemaNode;
}

class Comparer {
  readonly #comparison: Comparison;
  readonly #path: PathElement[] = [];

  constructor(comparison: Comparison) {
    this.#comparison = comparison;
  }

  compare(place: Place): void {
    const { old, next, node } = place;
    // Most of an object stays as it is in an update.
    if (old !== undefined && jsonEqual(old, next)) return;
    const oldOwnership = ownershipOf(node, old ?? next);
    const nextOwnership = ownershipOf(node, next ?? old);
    if (oldOwnership !== nextOwnership || nextOwnership === 'leaf' || !this.#descend(place)) this.#report(place);
    else if (next === undefined) this.#comparison.removed.insert(this.#path);
  }

  #compareAt(element: PathElement, place: Place): void {
    if (place.old === place.next) return;
    if (place.old === undefined) return addWhole(this.#addedHere(), element, place);
    this.#path.push(element);
    this.compare(place);
    this.#path.pop();
  }

  #addedHere(): FieldSet {
    let set = this.#comparison.added;
    for (const element of this.#path) set = set.child(element);
    return set;
  }

  #report({ next }: Place): void {
    if (next === undefined) this.#comparison.removed.insert(this.#path);
    else this.#comparison.modified.insert(this.#path);
  }

  /** False when both sides are empty or of no such form: the place itself is compared, which tells empty from null. */
  #descend(place: Place): boolean {
    const { old, next, node } = place;
    if (ownershipOf(node, next ?? old) === 'list') {
      return isListOrNull(old) && isListOrNull(next) && this.#descendList(old ?? [], next ?? [], node);
    }
    return isMapOrNull(old) && isMapOrNull(next) && this.#descendMap(old ?? {}, next ?? {}, node);
  }

  #descendMap(old: Record<string, unknown>, next: Record<string, unknown>, node: SchemaNode): boolean {
    const names = new Set([...Object.keys(old), ...Object.keys(next)]);
    for (const name of names) {
      const member = memberSchema(node, name) ?? deduced;
      this.#compareAt(fieldElement(name), { old: getOwn(old, name), next: getOwn(next, name), node: member });
    }
    return names.size > 0;
  }

  #descendList(old: readonly unknown[], next: readonly unknown[], node: SchemaNode): boolean {
    const before = itemsByElement(old, node);
    const after = itemsByElement(next, node);
    const elements = new Set([...before.keys(), ...after.keys()]);
    const items = itemSchema(node);
    for (const element of elements) {
      const was = before.get(element) ?? [];
      const is = after.get(element) ?? [];
      if (was.length <= 1 && is.length <= 1) this.#compareAt(element, { old: was[0], next: is[0], node: items });
      // Items with the same key are owned together, and not by their parts.
      else this.#compareAt(element, { old: listOrAbsent(was), next: listOrAbsent(is), node: whole });
    }
    return elements.size > 0;
  }
}

/** Adds a value that was not there before, and all that is in it: every part of it is new. */
function addWhole(set: FieldSet, element: PathElement, { next, node }: Omit<Place, 'old'>): void {
  set.members.add(element);
  const ownership = ownershipOf(node, next);
  if (ownership === 'list' && Array.isArray(next)) {
    const items = itemSchema(node);
    for (const [key, same] of itemsByElement(next, node)) {
      const item = same.length === 1 ? { next: same[0], node: items } : { next: same, node: whole };
      addWhole(set.child(element), key, item);
    }
  } else if (ownership === 'map' && isJsonObject(next)) {
    for (const name of Object.keys(next)) {
      if (next[name] === undefined) continue;
      addWhole(set.child(element), fieldElement(name), { next: next[name], node: memberSchema(node, name) ?? deduced });
    }
  }
}

const whole: SchemaNode = { type: 'array', items: deduced };

function listOrAbsent(items: readonly unknown[]): unknown {
  return items.length === 0 ? undefined : items;
}

function isMapOrNull(value: unknown): value is Record<string, unknown> | null | undefined {
  return value === null || value === undefined || isJsonObject(value);
}

function isListOrNull(value: unknown): value is unknown[] | null | undefined {
  return value === null || value === undefined || Array.isArray(value);
}
