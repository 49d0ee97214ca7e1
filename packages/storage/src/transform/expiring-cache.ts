// ExpiringCache forgets an entry some time after it was last set. All entries have the same lifetime, so the oldest
// expire first.
import type { Clock } from '@kapstan/api';

interface Entry<V> {
  readonly value: V;
  readonly expiresAtMs: number;
}

export class ExpiringCache<V> {
  readonly #clock: Clock;
  readonly #ttlMs: number;
  /** Invariant: ordered by expiry, because setting an entry moves it to the end. */
  readonly #entries = new Map<string, Entry<V>>();

  constructor(clock: Clock, ttlMs: number) {
    this.#clock = clock;
    this.#ttlMs = ttlMs;
  }

  get(key: string): V | undefined {
    const entry = this.#entries.get(key);
    return entry === undefined || entry.expiresAtMs <= this.#clock.monotonicNow() ? undefined : entry.value;
  }

  set(key: string, value: V): void {
    const now = this.#clock.monotonicNow();
    for (const [old, { expiresAtMs }] of this.#entries) {
      if (expiresAtMs > now) break;
      this.#entries.delete(old);
    }
    this.#entries.delete(key);
    this.#entries.set(key, { value, expiresAtMs: now + this.#ttlMs });
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }

  get size(): number {
    return this.#entries.size;
  }
}
