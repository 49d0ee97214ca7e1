// A bearer token in a file that another process rotates (service account tokens). It is re-read lazily, about every 50 seconds.
import type { Clock, Logger } from '@kapstan/api';
import { readConfigFile } from '../connection/config-file.ts';
import type { Credentials, RequestHeaders } from './credentials.ts';

// One minute minus ten seconds of leeway. Source: client-go transport/token_source.go.
const rereadAfterMs = 50_000;

export interface TokenFileOptions {
  readonly path: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Used until the file has been read once. */
  readonly fallback?: string | undefined;
}

export class TokenFile implements Credentials {
  readonly #options: TokenFileOptions;
  #headers: RequestHeaders | undefined;
  #readAtMs = Number.NEGATIVE_INFINITY;
  #reading: Promise<RequestHeaders> | undefined;

  constructor(options: TokenFileOptions) {
    this.#options = options;
    if (options.fallback) this.#headers = { authorization: `Bearer ${options.fallback}` };
  }

  headers(): RequestHeaders | Promise<RequestHeaders> {
    const isFresh = this.#options.clock.monotonicNow() - this.#readAtMs < rereadAfterMs;
    return isFresh && this.#headers !== undefined ? this.#headers : this.#reread();
  }

  async onUnauthorized(used: RequestHeaders): Promise<boolean> {
    if (this.#headers?.authorization === used.authorization) await this.#reread();
    return this.#headers?.authorization !== used.authorization;
  }

  #reread(): Promise<RequestHeaders> {
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #read(): Promise<RequestHeaders> {
    const { path, clock, logger } = this.#options;
    try {
      const token = (await readConfigFile(path, 'tokenFile')).trim();
      if (token === '') throw new Error(`read empty token from file ${JSON.stringify(path)}`);
      this.#headers = { authorization: `Bearer ${token}` };
      this.#readAtMs = clock.monotonicNow();
      return this.#headers;
    } catch (error) {
      if (this.#headers === undefined) throw error;
      logger.error('cannot re-read the token file; the last token stays in use', { path, error });
      return this.#headers;
    }
  }
}
