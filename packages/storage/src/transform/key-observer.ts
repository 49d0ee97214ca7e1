// KeyObserver: hears by name which keys of a key service are in use, for metrics. Told by envelope-transformer.ts and data-key.ts.
// Source: value/encrypt/envelope/metrics.

/** Calls are in the way of every value: they must be quick and must not throw. Show no name, but its hash. */
export interface KeyObserver {
  /** A value is read, or was written, under this key. */
  onUse(direction: 'from_storage' | 'to_storage', keyId: string): void;
  /** The key service said that this is its key now. */
  onStatus(keyId: string): void;
  /** The key service gave its key a name that cannot be. */
  onInvalidKeyId(why: 'empty' | 'too_long'): void;
  /** How many opened keys are kept. Told whenever one is. */
  onKept(count: number): void;
}
