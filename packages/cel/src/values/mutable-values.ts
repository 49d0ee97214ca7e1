// Lists and maps that macros fill. No other code sees them before the loop is over, so elements are added in place.
import { type AnyList, CelList, listItems, listSize } from './cel-list.ts';
import { CelMap } from './cel-map.ts';

class GrowingList extends CelList {
  readonly #items: unknown[] = [];

  get size(): number {
    return this.#items.length;
  }

  at(index: number): unknown {
    return this.#items[index];
  }

  toArray(): readonly unknown[] {
    return this.#items;
  }

  override concat(other: AnyList): AnyList {
    for (const item of listItems(other)) this.#items.push(item);
    return this;
  }
}

export class GrowingMap extends CelMap {}

/** Returns the initial value of an accumulator: an empty literal becomes one that can grow. */
export function mutableStart(value: unknown): unknown {
  if (value instanceof CelMap && value.size === 0) return new GrowingMap();
  return Array.isArray(value) && listSize(value) === 0 ? new GrowingList() : value;
}

/** Returns the result of a loop as an immutable value. */
export function finished(value: unknown): unknown {
  return value instanceof GrowingList ? value.toArray() : value;
}
