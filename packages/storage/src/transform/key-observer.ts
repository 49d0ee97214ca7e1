// KeyObserver receives the names of the keys of a key service that are in use, for metrics. Called by
// envelope-transformer.ts and data-key.ts. Source: value/encrypt/envelope/metrics.

/**
 * Receives uses of keys. Every value that is read or written makes such a call, so it must be quick and must not throw.
 * Show the hash of a key's name, never the name.
 */
export interface KeyObserver {
  /** Reports that a value was read or written under this key. */
  onUse(direction: 'from_storage' | 'to_storage', keyId: string): void;
  /** Reports the key that the key service uses now. */
  onStatus(keyId: string): void;
  /** Reports that the key service gave its key an invalid name. */
  onInvalidKeyId(why: 'empty' | 'too_long'): void;
  /** Reports how many opened keys are kept, whenever one is added. */
  onKept(count: number): void;
}
