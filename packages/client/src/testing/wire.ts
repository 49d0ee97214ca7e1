// The wire that the suites of this package run over: HTTP/1.1 and plain bodies, unless a file of src/wires chose another before it imported
// them. Read by scripted-server.ts and wire-client.ts.
import { type TestAuthority, testAuthority } from './certificates.ts';

export interface Wire {
  readonly http2: boolean;
  readonly gzip: boolean;
}

let current: Wire = { http2: false, gzip: false };

function chooseWire(wire: Wire): void {
  current = wire;
}

export function currentWire(): Wire {
  return current;
}

interface Identity {
  /** PEM. */
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

let identity: Promise<Identity> | undefined;

/** Returns the certificate of servers that a test starts without one. */
export function wireIdentity(): Promise<Identity> {
  identity ??= testAuthority().then(async (authority: TestAuthority) => ({
    ...(await authority.issue('server', ['127.0.0.1'])),
    ca: authority.ca,
  }));
  return identity;
}

let authorityText: string | undefined;

/** Returns the authority of {@link wireIdentity}; undefined before a server has used it. */
export function wireAuthority(): string | undefined {
  return authorityText;
}

/** Makes the authority known, so that clients can be made without waiting. */
export async function prepareWire(wire: Wire): Promise<void> {
  chooseWire(wire);
  authorityText = (await wireIdentity()).ca;
}

/**
 * Returns the number of timers for a client's open connections: one for each HTTP/2 connection, which detects a dead peer.
 */
export function connectionTimers(connections: number): number {
  return current.http2 ? connections : 0;
}
