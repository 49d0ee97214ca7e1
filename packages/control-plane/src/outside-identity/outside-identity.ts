// OutsideIdentity holds the authenticators for users of outside identity providers: issuers of JSON Web Tokens, and a webhook. Opened by
// control-plane.ts, used by serving.ts. Source: options/authentication.go (ToAuthenticationConfig).
import type { Clock, Logger } from '@kapstan/api';
import { formatMetrics } from '@kapstan/api/internal';
import {
  type AnonymousConfiguration,
  type AuthenticationConfiguration,
  JwtAuthenticators,
  type TokenAuthenticator,
  TokenCache,
  TokenCacheMetrics,
  TokenWebhook,
  WebhookPool,
} from '@kapstan/apiserver';
import { webhookOfKubeconfig } from '../followed-file/webhook-kubeconfig.ts';
import { startingWith } from '../lifetime/start-error.ts';
import { AuthenticationFile } from './authentication-file.ts';
import type { OidcOptions, OutsideIdentityOptions, TokenWebhookSettings } from './outside-identity-options.ts';

export interface OutsideIdentityPorts {
  /** Issuers of service account tokens, which belong to this server. */
  readonly ownIssuers: readonly string[];
  readonly apiAudiences: readonly string[];
  /** The name of this server, which metrics show as a hash. */
  readonly serverId: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Time for which an accepted token is cached, whoever issued it. Source: NewBuiltInAuthenticationOptions. */
const acceptedMs = 10_000;
const defaultTtlMs = 120_000;

export class OutsideIdentity {
  /** Authenticators that are asked in this order, after the server's own. */
  readonly authenticators: readonly TokenAuthenticator[];
  /** Setting of the configuration file for anonymous requests; undefined = none. */
  readonly anonymous: AnonymousConfiguration | undefined;
  readonly #jwt: JwtAuthenticators;
  readonly #file: AuthenticationFile | undefined;
  readonly #pool: WebhookPool | undefined;
  readonly #cacheMetrics: TokenCacheMetrics;

  /** Rejects with a StartError that names the option at fault. */
  static async open(options: OutsideIdentityOptions, ports: OutsideIdentityPorts): Promise<OutsideIdentity> {
    const { configFile, oidc, tokenWebhook } = options;
    const cacheMetrics = new TokenCacheMetrics();
    const webhook =
      tokenWebhook &&
      (await startingWith('outsideIdentity.tokenWebhook', () => openWebhook(tokenWebhook, { ...ports, cacheMetrics })));
    try {
      const option = configFile === undefined ? 'oidc' : 'configFile';
      return await startingWith(`outsideIdentity.${option}`, async () => {
        if (configFile !== undefined && oidc !== undefined) {
          throw new Error('authentication-config file and oidc-* flags are mutually exclusive');
        }
        const file =
          configFile === undefined ? undefined : await AuthenticationFile.open({ ...ports, path: configFile });
        if (options.isAnonymousDecided === true && file?.configuration.anonymous !== undefined) {
          throw new Error(
            'anonymous: Forbidden: --anonymous-auth flag cannot be set when anonymous field is configured in authentication configuration file',
          );
        }
        const configuration = file?.configuration ?? (oidc && configurationOf(oidc)) ?? {};
        const algorithms = oidc && (oidc.signingAlgorithms ?? ['RS256']);
        const jwt = await JwtAuthenticators.open(configuration, {
          ...ports,
          disallowedIssuers: ports.ownIssuers,
          algorithms,
        });
        return new OutsideIdentity({ jwt, file, webhook, cacheMetrics, clock: ports.clock });
      });
    } catch (error) {
      webhook?.pool.close();
      throw error;
    }
  }

  private constructor({ jwt, file, webhook, cacheMetrics, clock }: OutsideIdentityParts) {
    this.#jwt = jwt;
    this.#file = file;
    this.#pool = webhook?.pool;
    this.#cacheMetrics = cacheMetrics;
    const cached = new TokenCache({ authenticator: jwt, acceptedMs, unknownMs: 0, metrics: cacheMetrics, clock });
    this.authenticators = webhook === undefined ? [cached] : [cached, webhook.authenticator];
    this.anonymous = file?.configuration.anonymous;
    file?.follow(async (configuration, timeoutMs) => {
      await jwt.replace(configuration, timeoutMs);
      cached.clear();
    });
  }

  /** Returns the metrics in Prometheus' text format. */
  metrics(): string {
    const families = [...this.#cacheMetrics.families(), ...(this.#file?.metrics.families() ?? [])];
    return `${formatMetrics(families)}${this.#jwt.metrics()}`;
  }

  /** Idempotent. */
  async close(): Promise<void> {
    const closing = this.#file?.close();
    this.#jwt.close();
    this.#pool?.close();
    await closing;
  }
}

interface OpenedWebhook {
  readonly pool: WebhookPool;
  readonly authenticator: TokenAuthenticator;
}

interface OutsideIdentityParts {
  readonly jwt: JwtAuthenticators;
  readonly file: AuthenticationFile | undefined;
  readonly webhook: OpenedWebhook | undefined;
  readonly cacheMetrics: TokenCacheMetrics;
  readonly clock: Clock;
}

const group = 'authentication.k8s.io';

async function openWebhook(
  { kubeconfig, version = 'v1beta1', cacheTtlMs = defaultTtlMs }: TokenWebhookSettings,
  { apiAudiences, clock, logger, cacheMetrics }: OutsideIdentityPorts & { readonly cacheMetrics: TokenCacheMetrics },
): Promise<OpenedWebhook> {
  const target = await webhookOfKubeconfig(kubeconfig, { what: 'a token webhook', clock });
  if (version !== 'v1' && version !== 'v1beta1') {
    throw new Error(
      `unsupported authentication webhook version ${JSON.stringify(version)}, supported versions are "v1", "v1beta1"`,
    );
  }
  const pool = new WebhookPool({ clock });
  const review = { group, version, kind: 'TokenReview' } as const;
  const webhook = new TokenWebhook({ target, review, apiAudiences, pool, clock, logger });
  const authenticator = new TokenCache({
    authenticator: webhook,
    acceptedMs: Math.max(acceptedMs, cacheTtlMs),
    unknownMs: Math.max(0, cacheTtlMs),
    metrics: cacheMetrics,
    clock,
  });
  return { pool, authenticator };
}

/** Returns the configuration that the flags of one issuer express. */
function configurationOf(oidc: OidcOptions): AuthenticationConfiguration {
  const { issuerUrl, clientId, ca = '', usernameClaim = 'sub', groupsClaim = '', groupsPrefix = '' } = oidc;
  const rules = [...(oidc.requiredClaims ?? [])].map(([claim, requiredValue]) => ({ claim, requiredValue }));
  return {
    jwt: [
      {
        issuer: { url: issuerUrl, audiences: [clientId], certificateAuthority: ca },
        claimMappings: {
          username: { claim: usernameClaim, prefix: usernamePrefix(oidc, usernameClaim) },
          ...(groupsClaim === '' ? {} : { groups: { claim: groupsClaim, prefix: groupsPrefix } }),
        },
        claimValidationRules: rules,
      },
    ],
  };
}

/** By default the names of users of different issuers cannot be equal, except for e-mail addresses. */
function usernamePrefix({ usernamePrefix: given = '', issuerUrl }: OidcOptions, claim: string): string {
  if (given === '-') return '';
  return given === '' && claim !== 'email' ? `${issuerUrl}#` : given;
}
