// Connection: what faults act upon, the same over HTTP (a pair of sockets in byte-proxy.ts) and in process (test-client.ts).

/** What a connection carries; 'unknown' until its first request is seen. */
export type ConnectionKind = 'watch' | 'call' | 'unknown';

export interface Connection {
  readonly kind: ConnectionKind;
  /** Ends it at once: both sides see a reset. */
  cut(): void;
  /** Carries nothing any more, and says nothing about it. */
  hold(): void;
  /** Carries on, with what was held first. */
  release(): void;
  /** Delay of whatever it carries, in milliseconds. 0 = none. */
  delayMs: number;
}
