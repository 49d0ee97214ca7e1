// PendingCharges knows the quotas that were charged for writes that have not ended yet. quota-charger.ts reports them. The control loop
// that counts usage waits for them, because it cannot see their objects yet, and counts again after a failed write.

export interface QuotaName {
  readonly namespace: string;
  readonly name: string;
}

export type RecountListener = (namespace: string, name: string) => void;

/** The charges to quotas by requests under way. */
export class PendingCharges {
  readonly #counts = new Map<string, number>();
  /** Quotas whose count waits for the end of their charges. */
  readonly #awaited = new Set<string>();
  readonly #listeners = new Set<RecountListener>();

  /** Notes a charge that is about to be written. End it with {@link end}. */
  begin(target: QuotaName): void {
    const key = keyOf(target);
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
  }

  /** `isUsed` is false when the quota was charged and the object not written. */
  end(target: QuotaName, isUsed: boolean): void {
    const key = keyOf(target);
    const left = (this.#counts.get(key) ?? 1) - 1;
    if (left > 0) this.#counts.set(key, left);
    else this.#counts.delete(key);
    const isAwaited = left === 0 && this.#awaited.delete(key);
    if (isUsed && !isAwaited) return;
    for (const listener of this.#listeners) listener(target.namespace, target.name);
  }

  /**
   * Returns true while a write for which that quota was charged has not ended. Its listeners are then called when all
   * have.
   */
  isBusy(target: QuotaName): boolean {
    const key = keyOf(target);
    const isBusy = this.#counts.has(key);
    if (isBusy && this.#listeners.size > 0) this.#awaited.add(key);
    return isBusy;
  }

  /**
   * Calls the listener with each quota that should be counted again, because a write failed for which it was charged,
   * or because it is no longer busy. The returned function ends this.
   */
  onRecount(listener: RecountListener): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }
}

function keyOf({ namespace, name }: QuotaName): string {
  return `${namespace}/${name}`;
}
