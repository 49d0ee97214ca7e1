// IssuerVerifier verifies tokens of one issuer. It asks the issuer for the address of its keys until it gets an answer, so that a server
// can start before its issuers. Used by jwt-authenticator.ts and distributed-claims.ts. Source: oidc.go (New, asyncIDTokenVerifier),
// go-oidc oidc.go.
import type { CancelTimer, Clock, Logger } from '@kapstan/api';
import { goQuote, isJsonObject, messageOf } from '@kapstan/api/internal';
import type { Claims } from '../token-claims.ts';
import { checkClaims, quoted, readHeader, TokenError } from './id-token.ts';
import { type IssuerFetch, jsonOf } from './issuer-fetch.ts';
import { RemoteKeySet } from './remote-key-set.ts';

export interface VerifierOptions {
  readonly issuer: string;
  /** URL of the discovery document. "" = below the issuer. */
  readonly discoveryUrl: string;
  readonly audiences: readonly string[];
  /** Signing algorithms that are accepted. */
  readonly algorithms: readonly string[];
  readonly fetch: IssuerFetch;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly onFetchKeys: (hash: string | undefined) => void;
}

/** Pause between two attempts to find the keys. */
const discoveryPauseMs = 10_000;

export class IssuerVerifier {
  readonly #options: VerifierOptions;
  #keys: RemoteKeySet | undefined;
  #failure: Error;
  #cancelRetry: CancelTimer = () => undefined;
  readonly #stop = new AbortController();
  readonly #onReady: (() => void)[] = [];

  /** Asks the issuer for nothing before {@link start}. */
  constructor(options: VerifierOptions) {
    this.#options = options;
    this.#failure = new Error(`oidc: authenticator for issuer ${goQuote(options.issuer)} is not initialized`);
  }

  /** The reason why tokens cannot be verified yet; undefined once they can. */
  get failure(): Error | undefined {
    return this.#keys === undefined ? this.#failure : undefined;
  }

  start(): void {
    void this.#discover();
  }

  /** Resolves when tokens can be verified, or when this is closed. */
  whenReady(): Promise<void> {
    if (this.#keys !== undefined || this.#stop.signal.aborted) return Promise.resolve();
    return new Promise((resolve) => void this.#onReady.push(resolve));
  }

  /**
   * Rejects with TokenError unless the issuer signed the token, it is for one of the audiences, and it is valid now.
   */
  async verify(token: string, claims: Claims): Promise<void> {
    const { issuer, audiences, algorithms, clock } = this.#options;
    if (this.#keys === undefined) throw new TokenError('oidc: authenticator not initialized');
    const { alg } = readHeader(token);
    if (!algorithms.includes(alg)) {
      const [expected, got] = [quoted(algorithms), goQuote(alg)];
      throw new TokenError(`oidc: id token signed with unsupported algorithm, expected ${expected} got ${got}`);
    }
    await this.#keys.verify(token);
    checkClaims(claims, { issuer, audiences, nowMs: clock.now() });
  }

  /** Stops asking the issuer. Idempotent. */
  close(): void {
    this.#stop.abort(new Error('context canceled'));
    this.#cancelRetry();
    this.#tell();
  }

  async #discover(): Promise<void> {
    const { fetch, clock, logger, onFetchKeys, issuer } = this.#options;
    try {
      const url = await this.#keySetUrl();
      if (this.#stop.signal.aborted) return;
      this.#keys = new RemoteKeySet({ url, fetch, clock, onFetch: onFetchKeys });
      this.#tell();
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      this.#failure = error instanceof Error ? error : new Error(String(error));
      logger.error('could not ask an issuer of tokens for its keys; its tokens are refused until it answers', {
        issuer,
        error: this.#failure.message,
      });
      this.#cancelRetry = clock.setBackgroundTimer(() => void this.#discover(), discoveryPauseMs);
    }
  }

  #tell(): void {
    for (const ready of this.#onReady.splice(0)) ready();
  }

  async #keySetUrl(): Promise<string> {
    const { issuer, discoveryUrl, fetch } = this.#options;
    const url = discoveryUrl === '' ? `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration` : discoveryUrl;
    const answer = await fetch.get(url, '', this.#stop.signal);
    if (answer.code !== 200) throw new Error(`${answer.statusText}: ${answer.body.slice(0, maxShownBody)}`);
    const document = discoveryDocument(answer);
    const { issuer: said = '', jwks_uri: keys = '' } = document;
    if (said !== issuer) {
      const got = goQuote(String(said));
      throw new Error(
        `oidc: issuer did not match the issuer returned by provider, expected ${goQuote(issuer)} got ${got}`,
      );
    }
    if (typeof keys !== 'string' || keys === '') throw new Error('provider did not return JWKS URL');
    if (!URL.canParse(keys) || new URL(keys).protocol !== 'https:') {
      throw new Error(`the provider's JWKS URL ${goQuote(keys)} must be an https URL`);
    }
    return keys;
  }
}

const maxShownBody = 1_024;

function discoveryDocument(answer: Parameters<typeof jsonOf>[0]): Readonly<Record<string, unknown>> {
  const failed = 'oidc: failed to decode provider discovery object';
  let document: unknown;
  try {
    document = jsonOf(answer);
  } catch (error) {
    throw new Error(`${failed}: ${messageOf(error)}`, { cause: error });
  }
  if (!isJsonObject(document)) throw new Error(`${failed}: it is no JSON object`);
  return document;
}
