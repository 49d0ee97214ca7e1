// Connection: the target of faults, the same over HTTP (a pair of sockets in byte-proxy.ts) and in process (test-client.ts).

/** Kind of traffic on a connection; 'unknown' until its first request is seen. */
export type ConnectionKind = 'watch' | 'call' | 'unknown';

/** A connection of a test's client. */
export interface Connection {
  readonly kind: ConnectionKind;
  /** Ends the connection at once, so both sides see a reset. */
  cut(): void;
  /** Stops carrying anything, silently. */
  hold(): void;
  /** Continues, beginning with the held data. */
  release(): void;
  /** Delay of all data that it carries, in milliseconds. 0 = none. */
  delayMs: number;
}
