// JwtAuthenticator accepts the tokens of one issuer. jwt-authenticators.ts finds the one for a token. Source: oidc.go.
import type { Clock, Logger } from '@kapstan/api';
import type { UserInfo } from '../../registry/definition/request-context.ts';
import type { JwtConfiguration } from './authentication-configuration.ts';
import type { CompiledMappings } from './configuration-rules.ts';
import { DistributedClaims } from './distributed-claims.ts';
import { TokenError, type UnverifiedToken } from './id-token.ts';
import { IssuerFetch } from './issuer-fetch.ts';
import { IssuerVerifier } from './issuer-verifier.ts';
import { hashOf, type JwtMetrics } from './jwt-metrics.ts';
import { UserMapping } from './user-mapping.ts';

export interface JwtIssuerOptions {
  readonly configuration: JwtConfiguration;
  readonly compiled: CompiledMappings;
  readonly algorithms: readonly string[];
  readonly metrics: JwtMetrics;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class JwtAuthenticator {
  readonly issuer: string;
  readonly #issuerHash: string;
  readonly #clock: Clock;
  readonly #metrics: JwtMetrics;
  readonly #fetch: IssuerFetch;
  readonly #verifier: IssuerVerifier;
  readonly #distributed: DistributedClaims | undefined;
  readonly #mapping: UserMapping;
  #isClosed = false;

  constructor({ configuration, compiled, algorithms, metrics, clock, logger }: JwtIssuerOptions) {
    const { issuer = {}, claimMappings = {} } = configuration;
    const { url = '', discoveryURL: discoveryUrl = '', certificateAuthority = '', audiences = [] } = issuer;
    this.issuer = url;
    this.#issuerHash = hashOf(url);
    this.#clock = clock;
    this.#metrics = metrics;
    this.#fetch = new IssuerFetch({ certificateAuthority, clock });
    const verifying = { audiences, algorithms, fetch: this.#fetch, clock, logger };
    const onFetchKeys = (hash: string | undefined): void => {
      if (!this.#isClosed) metrics.fetchedKeys(this.#issuerHash, hash);
    };
    this.#verifier = new IssuerVerifier({ ...verifying, issuer: url, discoveryUrl, onFetchKeys });
    const { claim = '' } = claimMappings.groups ?? {};
    this.#distributed = claim === '' ? undefined : new DistributedClaims({ ...verifying, claim });
    this.#mapping = new UserMapping(configuration, compiled);
  }

  /** The reason why its tokens cannot be verified yet; undefined once they can. */
  get failure(): Error | undefined {
    return this.#verifier.failure;
  }

  start(): void {
    this.#verifier.start();
  }

  whenReady(): Promise<void> {
    return this.#verifier.whenReady();
  }

  /** Returns the user of a token that names this issuer. Rejects with TokenError for one that is refused. */
  async authenticate(token: UnverifiedToken): Promise<UserInfo> {
    const startMs = this.#clock.monotonicNow();
    try {
      const user = await this.#userOf(token);
      this.#metrics.authenticated('success', this.#issuerHash, this.#clock.monotonicNow() - startMs);
      return user;
    } catch (error) {
      this.#metrics.authenticated('failure', this.#issuerHash, this.#clock.monotonicNow() - startMs);
      throw error;
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#verifier.close();
    this.#distributed?.close();
    this.#fetch.close();
  }

  async #userOf({ text, claims }: UnverifiedToken): Promise<UserInfo> {
    if (this.failure !== undefined) throw new TokenError('oidc: authenticator not initialized');
    await this.#verifier.verify(text, claims).catch((error: unknown) => {
      throw withPrefix('oidc: verify token', error);
    });
    const expanded = await this.#distributed?.expand(claims).catch((error: unknown) => {
      throw withPrefix('oidc: could not expand distributed claims', error);
    });
    return this.#mapping.userOf(expanded ?? claims);
  }
}

function withPrefix(prefix: string, error: unknown): unknown {
  return error instanceof TokenError ? new TokenError(`${prefix}: ${error.message}`, { cause: error }) : error;
}
