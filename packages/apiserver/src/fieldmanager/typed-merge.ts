// The live object with an applied configuration laid over it: what is applied wins, the rest stays, items of associative
// lists keep a common order. Source: structured-merge-diff typed.TypedValue.Merge.
import { deepCopy, getOwn, isJsonObject, setOwn } from '@kapstan/api';
import type { SchemaNode } from '../schema/schema-node.ts';
import type { PathElement } from './path-element.ts';
import { deduced, itemElement, itemSchema, itemsByElement, memberSchema, ownershipOf } from './schema-atom.ts';

/** A new value; neither argument is changed or shared. `applied` must be valid: see typed-validation.ts. */
export function mergeTyped(live: unknown, applied: unknown, node: SchemaNode): unknown {
  if (applied === undefined) return deepCopy(live);
  const ownership = ownershipOf(node, applied ?? live);
  if (ownership === 'map') return mergeMaps(live, applied, node);
  if (ownership === 'list') return mergeLists(live, applied, node);
  return deepCopy(applied);
}

function mergeMaps(live: unknown, applied: unknown, node: SchemaNode): unknown {
  const before = isJsonObject(live) ? live : {};
  const after = isJsonObject(applied) ? applied : {};
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  if (names.size === 0) return deepCopy(applied);
  const merged: Record<string, unknown> = {};
  for (const name of names) {
    setOwn(merged, name, mergeTyped(getOwn(before, name), getOwn(after, name), memberSchema(node, name) ?? deduced));
  }
  return merged;
}

function mergeLists(live: unknown, applied: unknown, node: SchemaNode): unknown {
  const before = Array.isArray(live) ? live : [];
  const after = Array.isArray(applied) ? applied : [];
  if (before.length === 0 && after.length === 0) return deepCopy(applied);
  return new ListMerge(before, after, node).run();
}

/** Walks both lists at once: live items keep their places, applied ones their order. */
class ListMerge {
  readonly #live: readonly (readonly [element: PathElement, item: unknown])[];
  readonly #applied: readonly PathElement[];
  readonly #liveItems: Map<PathElement, unknown[]>;
  readonly #appliedItems: Map<PathElement, unknown[]>;
  /** Applied items that are live too, in the applied order: the next one that a live item may be merged as. */
  readonly #shared: PathElement[];
  readonly #merged = new Set<PathElement>();
  readonly #node: SchemaNode;
  readonly #out: unknown[] = [];
  #at = 0;
  #next = 0;

  constructor(live: readonly unknown[], applied: readonly unknown[], node: SchemaNode) {
    this.#node = node;
    this.#liveItems = itemsByElement(live, node);
    this.#appliedItems = itemsByElement(applied, node);
    this.#applied = [...this.#appliedItems.keys()];
    this.#shared = this.#applied.filter((element) => this.#liveItems.has(element));
    this.#live = live.map((item) => [itemElement(node, item), item]);
  }

  run(): unknown[] {
    while (this.#at < this.#live.length || this.#next < this.#applied.length) this.#step();
    return this.#out;
  }

  #step(): void {
    const place = this.#live[this.#at];
    const wanted = this.#applied[this.#next];
    if (place === undefined) return this.#takeNext();
    const [element, item] = place;
    if (element === wanted) {
      this.#at++;
      this.#takeNext();
    } else if (this.#staysBehind(element, wanted)) this.#at++;
    else if (!this.#appliedItems.has(element)) {
      this.#at++;
      this.#out.push(deepCopy(item));
    } else {
      // A live item that was merged before makes room for the next applied one.
      if (this.#merged.has(element)) this.#at++;
      this.#takeNext();
    }
  }

  /** A live item that is applied too, but further down than another: it goes where the applied order has it. */
  #staysBehind(element: PathElement, wanted: PathElement | undefined): boolean {
    const nextShared = this.#shared[0];
    return (
      wanted !== undefined && this.#appliedItems.has(element) && nextShared !== undefined && nextShared !== element
    );
  }

  #takeNext(): void {
    const element = this.#applied[this.#next++];
    if (element === undefined) return;
    const live = this.#liveItems.get(element) ?? [];
    const applied = this.#appliedItems.get(element) ?? [];
    this.#merged.add(element);
    if (this.#shared[0] === element) this.#shared.shift();
    this.#out.push(mergeTyped(live.length === 1 ? live[0] : undefined, applied[0], itemSchema(this.#node)));
  }
}
