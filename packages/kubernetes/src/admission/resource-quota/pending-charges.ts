// PendingCharges knows which quotas were charged for writes that have not ended yet. Told by quota-charger.ts; the control loop that counts
// anew waits for them, because it cannot see their objects, and looks again at quotas whose write failed.

/** A quota. */
interface Target {
  readonly namespace: string;
  readonly name: string;
}

export type UnusedChargeListener = (namespace: string, name: string) => void;

export class PendingCharges {
  readonly #counts = new Map<string, number>();
  readonly #listeners = new Set<UnusedChargeListener>();

  /** Notes a charge that is about to be written. End it with {@link end}. */
  begin(target: Target): void {
    const key = keyOf(target);
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
  }

  /** `isUsed` is false when the quota was charged and the object not written. */
  end(target: Target, isUsed: boolean): void {
    const key = keyOf(target);
    const left = (this.#counts.get(key) ?? 1) - 1;
    if (left === 0) this.#counts.delete(key);
    else this.#counts.set(key, left);
    if (!isUsed) for (const listener of this.#listeners) listener(target.namespace, target.name);
  }

  /** True while a write for which that quota was charged has not ended. */
  has(target: Target): boolean {
    return this.#counts.has(keyOf(target));
  }

  /** Calls the listener for each charge whose write failed, until the returned function is called. */
  onUnused(listener: UnusedChargeListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

function keyOf({ namespace, name }: Target): string {
  return `${namespace}/${name}`;
}
