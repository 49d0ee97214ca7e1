// JwtAuthenticators accepts JSON Web Tokens of the issuers of an AuthenticationConfiguration, which may be replaced while
// requests are served. Made by the control plane, which also reads the file again. Source: pkg/kubeapiserver/authenticator
// (newJWTAuthenticator, updateAuthenticationConfig).
import type { CancelTimer, Clock, Logger } from '@kapstan/api';
import { aggregateTexts, formatFieldErrors } from '@kapstan/api/errors';
import { formatMetrics, goQuote } from '@kapstan/api/internal';
import { runInTurns } from '@kapstan/storage';
import type { MaybePromise } from '../../registry/definition/first-decision.ts';
import type { TokenAuthenticator, TokenResult } from '../token-authenticator.ts';
import type { AuthenticationConfiguration } from './authentication-configuration.ts';
import { checkAuthenticationConfiguration } from './configuration-rules.ts';
import { readToken, TokenError, type UnverifiedToken } from './id-token.ts';
import { JwtAuthenticator } from './jwt-authenticator.ts';
import { hashOf, JwtMetrics } from './jwt-metrics.ts';

/** Signing algorithms that can be allowed, in kube-apiserver's order. */
const signingAlgorithms = [
  ...['ES256', 'ES384', 'ES512'],
  ...['PS256', 'PS384', 'PS512'],
  ...['RS256', 'RS384', 'RS512'],
] as const satisfies readonly string[];

/** Options of {@link JwtAuthenticators}. */
export interface JwtAuthenticatorsOptions {
  /** Issuers of the tokens that the server itself issues; none of the configured issuers may be one of them. */
  readonly disallowedIssuers: readonly string[];
  /** Audiences of this server, for all of which a token of an issuer is valid. */
  readonly apiAudiences: readonly string[];
  /** Default: RS, PS and ES, each with 256, 384 and 512. */
  readonly algorithms?: readonly string[] | undefined;
  /** The name of this server, which metrics show as a hash. Default none. */
  readonly serverId?: string | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Time for which replaced authenticators still serve the requests that use them. */
const retirementMs = 60_000;

type Issuers = ReadonlyMap<string, JwtAuthenticator>;

/** Accepts tokens of OpenID Connect issuers, by the configuration of each. */
export class JwtAuthenticators implements TokenAuthenticator {
  readonly #options: JwtAuthenticatorsOptions;
  readonly #metrics: JwtMetrics;
  #issuers: Issuers = new Map();
  readonly #retired = new Map<Issuers, CancelTimer>();
  /** Sets of issuers whose keys are still being fetched; each then replaces the present set. */
  readonly #replacing = new Set<Issuers>();
  #isClosed = false;

  /** Rejects with an Error that names all faults of the configuration. Begins to ask the issuers for their keys. */
  static async open(
    configuration: AuthenticationConfiguration,
    options: JwtAuthenticatorsOptions,
  ): Promise<JwtAuthenticators> {
    const unknown = options.algorithms?.find((name) => !(signingAlgorithms as readonly string[]).includes(name));
    if (unknown !== undefined) throw new Error(`oidc: unsupported signing alg: ${goQuote(unknown)}`);
    const opened = new JwtAuthenticators(options);
    opened.#issuers = await opened.#make(configuration);
    return opened;
  }

  private constructor(options: JwtAuthenticatorsOptions) {
    this.#options = options;
    this.#metrics = new JwtMetrics(options.clock, options.serverId ?? '');
  }

  /** Returns the metrics in Prometheus' text format. */
  metrics(): string {
    return formatMetrics(this.#metrics.families());
  }

  authenticateToken(text: string, asked: readonly string[]): MaybePromise<TokenResult> {
    if (this.#issuers.size === 0) return unknownToken;
    const token = readToken(text);
    const issuer = token && this.#issuers.get(token.issuer);
    const audiences = asked.filter((audience) => this.#options.apiAudiences.includes(audience));
    if (issuer === undefined || (asked.length > 0 && audiences.length === 0)) return unknownToken;
    return accepted(issuer, token as UnverifiedToken, audiences);
  }

  /** Returns the reason why tokens of some issuers cannot be verified yet; undefined when all can. */
  check(): Error | undefined {
    const texts = [...this.#issuers.values()].flatMap((issuer) => failureOf(issuer) ?? []);
    return texts.length === 0 ? undefined : new Error(aggregateTexts(texts));
  }

  /**
   * Replaces the issuers once all new ones can be used. Rejects with an Error, and keeps the old ones, when the
   * configuration has faults or an issuer does not answer within `timeoutMs`. Does nothing once this is closed.
   */
  async replace(configuration: AuthenticationConfiguration, timeoutMs: number): Promise<void> {
    if (this.#isClosed) return;
    const next = await this.#make(configuration);
    this.#replacing.add(next);
    if (this.#isClosed) closeAll(next);
    await this.#whenReady(next, timeoutMs);
    this.#replacing.delete(next);
    if (this.#isClosed) return;
    const texts = [...next.values()].flatMap((issuer) => failureOf(issuer) ?? []);
    if (texts.length > 0) {
      closeAll(next);
      throw new Error(aggregateTexts([...texts, 'context deadline exceeded']));
    }
    const old = this.#issuers;
    this.#issuers = next;
    this.#retired.set(
      old,
      this.#options.clock.setBackgroundTimer(() => this.#end(old), retirementMs),
    );
  }

  /** Stops asking issuers. Idempotent. */
  close(): void {
    this.#isClosed = true;
    closeAll(this.#issuers);
    for (const issuers of this.#replacing) closeAll(issuers);
    for (const [issuers, cancel] of this.#retired) {
      cancel();
      closeAll(issuers);
    }
    this.#retired.clear();
  }

  #end(issuers: Issuers): void {
    this.#retired.delete(issuers);
    closeAll(issuers);
    for (const url of issuers.keys()) if (!this.#issuers.has(url)) this.#metrics.forget(hashOf(url));
  }

  async #make(configuration: AuthenticationConfiguration): Promise<Issuers> {
    const { disallowedIssuers, algorithms = signingAlgorithms, clock, logger } = this.#options;
    const { errors, mappings } = await runInTurns(checkAuthenticationConfiguration(configuration, disallowedIssuers));
    if (errors.length > 0) throw new Error(`invalid authentication configuration: ${formatFieldErrors(errors)}`);
    const { jwt = [] } = configuration;
    const egress = jwt.find(({ issuer }) => issuer?.egressSelectorType)?.issuer?.egressSelectorType;
    if (egress !== undefined) {
      throw new Error(`oidc: egress lookup required with egress selector type ${goQuote(egress)}`);
    }
    const issuers = new Map<string, JwtAuthenticator>();
    for (const [index, one] of jwt.entries()) {
      const compiled = mappings[index] ?? { extra: [], claimRules: [], userRules: [] };
      const parts = { configuration: one, compiled, algorithms, metrics: this.#metrics, clock, logger };
      const authenticator = new JwtAuthenticator(parts);
      issuers.set(authenticator.issuer, authenticator);
      authenticator.start();
    }
    return issuers;
  }

  async #whenReady(issuers: Issuers, timeoutMs: number): Promise<void> {
    let cancel: CancelTimer = () => undefined;
    const timeout = new Promise<void>((resolve) => {
      cancel = this.#options.clock.setBackgroundTimer(resolve, timeoutMs);
    });
    await Promise.race([timeout, Promise.all([...issuers.values()].map((issuer) => issuer.whenReady()))]);
    cancel();
  }
}

const unknownToken: TokenResult = { type: 'unknown' };

async function accepted(
  issuer: JwtAuthenticator,
  token: UnverifiedToken,
  audiences: readonly string[],
): Promise<TokenResult> {
  try {
    const user = await issuer.authenticate(token);
    return { type: 'accepted', user, audiences, untilMs: Number(token.claims.exp) * 1000 };
  } catch (error) {
    if (error instanceof TokenError) return { type: 'refused', error: error.message };
    throw error;
  }
}

function failureOf({ issuer, failure }: JwtAuthenticator): string | undefined {
  if (failure === undefined) return undefined;
  return `oidc: authenticator for issuer ${goQuote(issuer)} is not healthy: ${failure.message}`;
}

function closeAll(issuers: Issuers): void {
  for (const issuer of issuers.values()) issuer.close();
}
