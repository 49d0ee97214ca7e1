// AbsentOwners remembers owners that the server reported missing, so that the server is asked once rather than for each dependent. A uid is
// never used twice, so an absent owner stays absent. Source: garbagecollector ReferenceCache.
import { identityKey, type ObjectIdentity } from './object-identity.ts';

const capacity = 500;

/** Holds the last 500 owners; the least recently used one is dropped first. */
export class AbsentOwners {
  readonly #keys = new Set<string>();

  add(owner: ObjectIdentity): void {
    const key = identityKey(owner);
    this.#keys.delete(key);
    this.#keys.add(key);
    const [oldest] = this.#keys;
    if (this.#keys.size > capacity && oldest !== undefined) this.#keys.delete(oldest);
  }

  has(owner: ObjectIdentity): boolean {
    const key = identityKey(owner);
    if (!this.#keys.delete(key)) return false;
    this.#keys.add(key);
    return true;
  }
}
