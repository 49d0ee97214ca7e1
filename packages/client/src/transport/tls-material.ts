// Certificates and keys of a connection: inline, or from files that are re-read so that rotation needs no restart.
import { X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import type { Clock, Logger } from '@kapstan/api';
import { readConfigFile } from '../connection/config-file.ts';
import type { TlsConfig } from '../connection/tls-config.ts';
import type { Credentials } from '../credentials/credentials.ts';

// The first request after this time checks the files again.
const rereadAfterMs = 60_000;
// Pause after a failure, when the files may just be being replaced.
const retryAfterMs = 1_000;

/** PEM texts of one connection. */
export interface TlsTexts {
  readonly ca: string | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
}

export interface TlsMaterialOptions {
  readonly tls: TlsConfig;
  readonly credentials: Credentials;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class TlsMaterial {
  /** True if the client certificate may change by itself, so that its files must be checked regularly. */
  readonly hasCertificateFiles: boolean;
  readonly #options: TlsMaterialOptions;
  readonly #hasFiles: boolean;
  #texts: TlsTexts | undefined;
  #rereadAtMs = 0;
  #reading: Promise<TlsTexts> | undefined;

  /** Throws TypeError for a contradictory configuration. */
  constructor(options: TlsMaterialOptions) {
    const { tls } = options;
    const hasCa = tls.ca !== undefined || tls.caFile !== undefined;
    if (tls.insecureSkipVerify === true && hasCa)
      throw new TypeError('specifying a root certificates file with the insecure flag is not allowed');
    const hasCert = tls.cert !== undefined || tls.certFile !== undefined;
    const hasKey = tls.key !== undefined || tls.keyFile !== undefined;
    if (hasCert !== hasKey) throw new TypeError('a client certificate and its key must be specified together');
    this.#options = options;
    this.hasCertificateFiles = tls.certFile !== undefined && tls.keyFile !== undefined;
    this.#hasFiles = [tls.caFile, tls.certFile, tls.keyFile].some((file) => file !== undefined);
  }

  /**
   * Returns the current texts. The first load rejects when a file cannot be read (the authority's error comes before the certificate's and
   * the key's), and with TypeError when no connection could use them; later failures keep the last texts.
   */
  async load(): Promise<TlsTexts> {
    const texts = await this.#fileTexts();
    const own = texts.cert === undefined ? await this.#options.credentials.clientCertificate?.() : undefined;
    return own === undefined ? texts : { ca: texts.ca, cert: own.cert, key: own.key };
  }

  #fileTexts(): TlsTexts | Promise<TlsTexts> {
    const isFresh = !this.#hasFiles || this.#options.clock.monotonicNow() < this.#rereadAtMs;
    if (this.#texts !== undefined && isFresh) return this.#texts;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #read(): Promise<TlsTexts> {
    const { tls, clock, logger } = this.#options;
    this.#rereadAtMs = clock.monotonicNow() + rereadAfterMs;
    try {
      const ca = tls.ca ?? (await textOf(tls, 'caFile'));
      const cert = tls.cert ?? (await textOf(tls, 'certFile'));
      const key = tls.key ?? (await textOf(tls, 'keyFile'));
      checkUsable({ ca, cert, key }, tls);
      this.#texts = { ca, cert, key };
    } catch (error) {
      if (this.#texts === undefined) throw error;
      this.#rereadAtMs = clock.monotonicNow() + retryAfterMs;
      logger.error('cannot use TLS files that have changed; the last ones stay in use', { error });
    }
    return this.#texts;
  }
}

/**
 * Throws TypeError for an invalid authority, and for a key that does not match its certificate. Source: client-go transport.TLSConfigFor.
 */
function checkUsable({ ca, cert, key }: TlsTexts, { caFile, certFile, keyFile }: TlsConfig): void {
  if (ca !== undefined) check(`root certificates${placeOf(caFile)}`, () => new X509Certificate(ca));
  if (cert !== undefined && key !== undefined)
    check(`the client certificate and its key${placeOf(certFile, keyFile)}`, () => createSecureContext({ cert, key }));
}

/** Returns "" for a value given as text. */
function placeOf(...files: readonly (string | undefined)[]): string {
  const names = files.filter((file) => file !== undefined);
  return names.length === 0 ? '' : ` of ${names.join(' and ')}`;
}

function check(what: string, read: () => unknown): void {
  try {
    read();
  } catch (error) {
    throw new TypeError(`unable to load ${what}: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}

async function textOf(tls: TlsConfig, member: 'caFile' | 'certFile' | 'keyFile'): Promise<string | undefined> {
  const path = tls[member];
  return path === undefined ? undefined : await readConfigFile(path, `tls.${member}`);
}
