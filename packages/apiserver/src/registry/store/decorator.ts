// Decorator fills in fields that a kind computes on read, once per stored object. Source: registry.Store.Decorator.
import { type DeepReadonly, deepCopy, type KubernetesObject } from '@kapstan/api';
import { TurnSlice } from '@kapstan/api/internal';
import { type ChangeEvent, Stored } from '@kapstan/storage';

/** Returns the same decorated twin for a Stored each time, so that all readers and watchers share its bytes. */
export class Decorator<T extends KubernetesObject> {
  readonly #decorate: ((object: T) => void) | undefined;
  readonly #twins = new WeakMap<Stored<T>, Stored<T>>();

  /** `decorate` changes the object in place. Absent = objects are not decorated. */
  constructor(decorate: ((object: T) => void) | undefined) {
    this.#decorate = decorate;
  }

  of(stored: Stored<T>): Stored<T> {
    if (this.#decorate === undefined) return stored;
    const known = this.#twins.get(stored);
    if (known !== undefined) return known;
    const object = stored.view((plain) => deepCopy(plain)) as T;
    this.#decorate(object);
    const twin = new Stored<T>(stored.key, stored.revision, object as DeepReadonly<T>);
    twin.storedBytes = stored.storedBytes;
    this.#twins.set(stored, twin);
    return twin;
  }

  ofEvent(event: ChangeEvent<T>): ChangeEvent<T> {
    const stored = this.of(event.stored);
    return stored === event.stored ? event : { type: event.type, stored };
  }

  /** Returns the twins of a list in slices, because the list may be long. */
  async ofAll(items: readonly Stored<T>[]): Promise<readonly Stored<T>[]> {
    if (this.#decorate === undefined) return items;
    const twins: Stored<T>[] = [];
    const slice = new TurnSlice();
    for (const item of items) {
      twins.push(this.of(item));
      if (slice.endsHere()) await slice.nextTurn();
    }
    return twins;
  }
}
