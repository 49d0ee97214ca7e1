// AuthorizerMaker makes the server's authorizer from a checked list. Parts that are costly, or may not change while the server runs (RBAC,
// Node, the policies of ABAC), are made once. Used by configured-authorizers.ts. Source: pkg/kubeapiserver/authorizer newForConfig.
import { readFile } from 'node:fs/promises';
import type { Clock, Logger } from '@kapstan/api';
import {
  type AuthorizationMetrics,
  type Authorizer,
  type AuthorizerConfiguration,
  alwaysAllow,
  alwaysDeny,
  attributeAuthorizer,
  type CheckedAuthorizers,
  mastersAuthorizer,
  parseAttributePolicies,
  type ReviewConditions,
  unionAuthorizer,
  WebhookAuthorizer,
  type WebhookConfiguration,
  WebhookPool,
} from '@kapstan/apiserver';
import { reviewWebhook } from '@kapstan/kubernetes';
import { runInTurns } from '@kapstan/storage';
import { webhookOfKubeconfig } from '../followed-file/webhook-kubeconfig.ts';
import { startingWith } from '../lifetime/start-error.ts';
import { type AuthorizationSettings, programAuthorizers } from './authorization-settings.ts';
import { goFileError } from './go-file-error.ts';

export interface AuthorizerMakerPorts {
  readonly rbac: Authorizer;
  readonly node: () => Authorizer;
  readonly metrics: AuthorizationMetrics;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class AuthorizerMaker {
  readonly #ports: AuthorizerMakerPorts;
  /** Authorizers that stay for the life of the server, by type. */
  readonly #lasting: ReadonlyMap<string, Authorizer>;
  readonly #pool: WebhookPool;

  /** Rejects with a StartError when the policies of ABAC cannot be read. */
  static async open(
    authorizers: readonly AuthorizerConfiguration[],
    settings: AuthorizationSettings,
    ports: AuthorizerMakerPorts,
  ): Promise<AuthorizerMaker> {
    const has = (type: string): boolean => authorizers.some((each) => each.type === type);
    const lasting = new Map<string, Authorizer>([
      ...programAuthorizers(settings),
      ['AlwaysAllow', alwaysAllow],
      ['AlwaysDeny', alwaysDeny],
    ]);
    if (has('RBAC')) lasting.set('RBAC', ports.rbac);
    if (has('Node')) lasting.set('Node', ports.node());
    if (has('ABAC')) lasting.set('ABAC', await readPolicies(settings.policyFile ?? '', ports.logger));
    return new AuthorizerMaker(lasting, ports);
  }

  private constructor(lasting: ReadonlyMap<string, Authorizer>, ports: AuthorizerMakerPorts) {
    this.#lasting = lasting;
    this.#ports = ports;
    this.#pool = new WebhookPool({ clock: ports.clock });
  }

  /** Rejects when an authorizer cannot be made. */
  async make({ authorizers, conditions }: CheckedAuthorizers): Promise<Authorizer> {
    const made: Authorizer[] = [mastersAuthorizer];
    for (const { type, name, webhook } of authorizers) {
      const asked = webhook && { webhook, conditions: conditions.get(webhook) };
      const authorizer = asked === undefined ? this.#lastingOf(type) : await this.#webhook(name, asked);
      made.push(this.#ports.metrics.counted(type, name, authorizer));
    }
    return unionAuthorizer(made);
  }

  /** Cuts calls of webhooks that are under way. */
  close(): void {
    this.#pool.close();
  }

  #lastingOf(type: string): Authorizer {
    const authorizer = this.#lasting.get(type);
    if (authorizer !== undefined) return authorizer;
    throw new Error(`authorizer type ${type} is not allowed if it was not enabled at initial server startup`);
  }

  async #webhook(name: string, { webhook, conditions }: CheckedWebhook): Promise<Authorizer> {
    const { reviewVersion: version, connection, timeoutMs } = webhook;
    if (version !== 'v1' && version !== 'v1beta1') {
      const known = 'supported versions are "v1", "v1beta1"';
      throw new Error(`unsupported webhook authorizer version ${JSON.stringify(version)}, ${known}`);
    }
    if (connection.type === 'InClusterConfig')
      throw new Error('connectionInfo.type InClusterConfig is not allowed for an API server, which would ask itself');
    const { clock, logger, metrics } = this.#ports;
    const target = await webhookOfKubeconfig(connection.kubeConfigFile ?? '', {
      what: 'an authorization webhook',
      clock,
    });
    return new WebhookAuthorizer({
      name,
      authorizedTtlMs: webhook.cachesAuthorized ? webhook.authorizedTtlMs : 0,
      unauthorizedTtlMs: webhook.cachesUnauthorized ? webhook.unauthorizedTtlMs : 0,
      onError: webhook.failurePolicy === 'Deny' ? 'deny' : 'noOpinion',
      conditions,
      ask: reviewWebhook({ pool: this.#pool, target, version, timeoutMs }),
      metrics,
      clock,
      logger,
    });
  }
}

interface CheckedWebhook {
  readonly webhook: WebhookConfiguration;
  readonly conditions: ReviewConditions | undefined;
}

function readPolicies(file: string, logger: Logger): Promise<Authorizer> {
  return startingWith('authorization.policyFile', async () => {
    const text = await readFile(file, 'utf8').catch((error: unknown) => {
      throw new Error(goFileError(error, 'open', file), { cause: error });
    });
    const { policies, unversioned } = await runInTurns(parseAttributePolicies(text, file));
    if (unversioned > 0)
      logger.warn('the authorization policy file has lines in the old form without a version', {
        file,
        lines: unversioned,
      });
    return attributeAuthorizer(policies);
  });
}
