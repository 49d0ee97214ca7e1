// AbsentOwners: owners of whom the server has said that they do not exist, so that it is asked once and not for each of
// their dependents. uids are never used twice: what is absent stays so. Source: garbagecollector ReferenceCache.
import { identityKey, type ObjectIdentity } from './object-identity.ts';

const capacity = 500;

/** The last 500; those asked for least recently go first. */
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
