// AuthorizationSettings: the authorizers of a server, as its options give them. configured-authorizers.ts turns them into the authorizers
// of a configuration. Source: pkg/kubeapiserver/options/authorization.go.
import { type Authorizer, type AuthorizerConfiguration, nameOfType } from '@kapstan/apiserver';

/** The authorizers that can be chosen, in the order of kube-apiserver's help. */
export const authorizationModes = ['AlwaysAllow', 'AlwaysDeny', 'ABAC', 'Webhook', 'RBAC', 'Node'] as const;

export type AuthorizationMode = (typeof authorizationModes)[number];

interface AuthorizationWebhookSettings {
  /** Path of a kubeconfig: its cluster is the webhook, its user the server. */
  readonly configFile: string;
  /** Version of the reviews that are sent, "v1" or "v1beta1". Default "v1beta1", as in Kubernetes. */
  readonly version?: string | undefined;
  /**
   * Time for which the answer that a request is allowed is cached, in milliseconds. 0 = not at all. Default 300 000.
   */
  readonly authorizedTtlMs?: number | undefined;
  /** The same for other answers. Default 30 000. */
  readonly unauthorizedTtlMs?: number | undefined;
}

/** A mode, or an authorizer of the embedding program. */
type AuthorizationChoice = AuthorizationMode | Authorizer;

export interface AuthorizationSettings {
  /**
   * Authorizers, asked in this order; the list may include authorizers of the embedding program. Default RBAC alone. Not used with
   * `configFile`.
   */
  readonly modes?: readonly AuthorizationChoice[] | undefined;
  /** Path of the file of policies for the mode ABAC: JSON, one policy on each line. */
  readonly policyFile?: string | undefined;
  /** The webhook of the mode Webhook. */
  readonly webhook?: AuthorizationWebhookSettings | undefined;
  /**
   * Path of an AuthorizationConfiguration of apiserver.config.k8s.io, which lists the authorizers. The file is read again when it has
   * changed; if it has errors, they are logged and the authorizers stay unchanged.
   */
  readonly configFile?: string | undefined;
}

/** The forms in which a program may give them: a list of modes alone, or all settings. */
export type AuthorizationOption = readonly AuthorizationChoice[] | AuthorizationSettings;

/** Returns checked settings of authorization. Throws TypeError on bad ones. */
export function authorizationSettingsOf(given: AuthorizationOption = {}): AuthorizationSettings {
  return isList(given) ? { modes: given } : given;
}

function isList(given: object): given is readonly AuthorizationChoice[] {
  return Array.isArray(given);
}

/** Returns the list as it would be in a configuration. Source: buildAuthorizationConfiguration. */
export function authorizersOfModes({
  modes = ['RBAC'],
  webhook,
}: AuthorizationSettings): readonly AuthorizerConfiguration[] {
  return modes.map((choice, at) => {
    const type = typeof choice === 'string' ? choice : programType(at);
    if (type === 'Webhook') return { type, name: 'default', webhook: webhookOf(webhook) };
    return { type, name: nameOfType(type), webhook: undefined };
  });
}

/** Returns the authorizers of the embedding program by their types. */
export function programAuthorizers({ modes = [] }: AuthorizationSettings): ReadonlyMap<string, Authorizer> {
  return new Map(
    modes.flatMap((choice, at) => (typeof choice === 'string' ? [] : [[programType(at), choice] as const])),
  );
}

/** Returns the type of an authorizer of the embedding program, as metrics show it. */
function programType(at: number): string {
  return `Program-${at}`;
}

function webhookOf(settings: AuthorizationWebhookSettings | undefined): AuthorizerConfiguration['webhook'] {
  if (settings === undefined) throw new TypeError('the authorizer Webhook needs the settings of a webhook');
  const { configFile, version = 'v1beta1', authorizedTtlMs = 300_000, unauthorizedTtlMs = 30_000 } = settings;
  return {
    timeoutMs: 30_000,
    authorizedTtlMs,
    unauthorizedTtlMs,
    cachesAuthorized: authorizedTtlMs !== 0,
    cachesUnauthorized: unauthorizedTtlMs !== 0,
    reviewVersion: version,
    conditionReviewVersion: '',
    failurePolicy: 'NoOpinion',
    connection: { type: 'KubeConfigFile', kubeConfigFile: configFile },
    matchConditions: [],
  };
}
