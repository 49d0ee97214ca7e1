// Certificates and keys of a connection: inline, or from files that are re-read so that rotation needs no restart.
import { readFile } from 'node:fs/promises';
import type { Clock, Logger } from '@kapstan/api';
import type { Credentials } from '../credentials/credentials.ts';
import type { TlsConfig } from '../tls-config.ts';

// Files are looked at again by the first request after this time.
const rereadAfterMs = 60_000;

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
  readonly #options: TlsMaterialOptions;
  readonly #hasFiles: boolean;
  #texts: TlsTexts | undefined;
  #readAtMs = 0;
  #reading: Promise<TlsTexts> | undefined;

  /** Throws TypeError for a configuration that contradicts itself. */
  constructor(options: TlsMaterialOptions) {
    const { tls } = options;
    const hasCa = tls.ca !== undefined || tls.caFile !== undefined;
    if (tls.insecureSkipVerify === true && hasCa)
      throw new TypeError('specifying a root certificates file with the insecure flag is not allowed');
    const hasCert = tls.cert !== undefined || tls.certFile !== undefined;
    const hasKey = tls.key !== undefined || tls.keyFile !== undefined;
    if (hasCert !== hasKey) throw new TypeError('a client certificate and its key must be given together');
    this.#options = options;
    this.#hasFiles = [tls.caFile, tls.certFile, tls.keyFile].some((file) => file !== undefined);
  }

  /** The present texts. Rejects when a file cannot be read at first; later failures keep the last texts. */
  async load(): Promise<TlsTexts> {
    const texts = await this.#fileTexts();
    const own = texts.cert === undefined ? await this.#options.credentials.clientCertificate?.() : undefined;
    return own === undefined ? texts : { ca: texts.ca, cert: own.cert, key: own.key };
  }

  #fileTexts(): TlsTexts | Promise<TlsTexts> {
    const now = this.#options.clock.monotonicNow();
    const isFresh = !this.#hasFiles || now - this.#readAtMs < rereadAfterMs;
    if (this.#texts !== undefined && isFresh) return this.#texts;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #read(): Promise<TlsTexts> {
    const { tls, clock, logger } = this.#options;
    this.#readAtMs = clock.monotonicNow();
    try {
      const [ca, cert, key] = await Promise.all([
        textOf(tls.ca, tls.caFile),
        textOf(tls.cert, tls.certFile),
        textOf(tls.key, tls.keyFile),
      ]);
      this.#texts = { ca, cert, key };
    } catch (error) {
      if (this.#texts === undefined) throw error;
      logger.error('cannot re-read TLS files; the last ones stay in use', { error });
    }
    return this.#texts;
  }
}

async function textOf(data: string | undefined, file: string | undefined): Promise<string | undefined> {
  if (data !== undefined || file === undefined) return data;
  return await readFile(file, 'utf8');
}
