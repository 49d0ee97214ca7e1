// CertificateSource is the port between the webhooks and their certificates: self-made ones (own-certificates.ts) or
// files (file-certificates.ts).
import type { KeyPair } from '../certificates/key-pair.ts';

export interface ServedCertificates {
  readonly serving: KeyPair;
  /** Authorities that API servers should trust, PEM. Undefined = something else tells them. */
  readonly bundle: string | undefined;
}

export interface CertificateEvents {
  /** Called with the first certificates and after each change. */
  onChange(certificates: ServedCertificates): void;
  /** True = the API servers have this bundle. */
  isTrusted(bundle: string): boolean;
}

export interface CertificateSource {
  /** Resolves with the first certificates, and keeps them until the signal aborts. */
  start(events: CertificateEvents, signal: AbortSignal): Promise<ServedCertificates>;
  /** Resolves when a change that another process made is known here. */
  refresh(): Promise<void>;
  /** Checks at once whether there is something to do. */
  wake(): void;
  /** Resolves when nothing is under way any more, after the signal has aborted. */
  ended(): Promise<void>;
}
