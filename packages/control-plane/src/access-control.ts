// AccessControl: who may come in and what they may do: tokens, certificates, the authorizer, and the resources that tell
// about them. Made by resources.ts, read by control-plane.ts.
import type { Clock, Logger, ResourceClient } from '@kapstan/api';
import {
  type Authenticator,
  type Authorizer,
  alwaysAllow,
  bearerAuthenticator,
  certificateAuthenticator,
  knownTokens,
  mastersAuthorizer,
  ObjectReader,
  type ResourceCatalog,
  rbacAuthorizer,
  type ServedResource,
  type TokenAuthenticationOptions,
  type UserInfo,
  unionAuthorizer,
  type VirtualStoreOptions,
  webSocketAuthenticator,
} from '@kapstan/apiserver';
import { accessReviews, identityReviews, RbacPolicy, SecretTokens, ServiceAccountTokens } from '@kapstan/kubernetes';

/** The tokens of service accounts. Servers that share a store should agree on all of it. */
export interface ServiceAccountOptions {
  /** PEM of the private key that signs tokens: RSA or ECDSA. Default: one of the own, in the data directory. */
  readonly signingKey?: string;
  /** PEM of keys whose tokens count, beside the one that signs; each text may hold several. Default none. */
  readonly verificationKeys?: readonly string[];
  /** Who issues tokens, then whose tokens count beside. At least one. Default kubeadm's name for it. */
  readonly issuers?: readonly string[];
  /** For whom tokens are when nobody is named, and for whom they must be to be let in. Default: the issuers. */
  readonly apiAudiences?: readonly string[];
}

/** How it is decided who may do what; AlwaysAllow is for tests. */
export const authorizationModes = ['RBAC', 'AlwaysAllow'] as const;

export type AuthorizationMode = (typeof authorizationModes)[number];

export interface AccessControlOptions {
  /** Users by token. Default none. */
  readonly tokens?: ReadonlyMap<string, UserInfo>;
  /** Default: a new signing key, gone with the process. */
  readonly serviceAccounts?: ServiceAccountOptions;
  /** Asked in this order, after system:masters, who may do everything. Default RBAC alone. */
  readonly authorization?: readonly AuthorizationMode[];
}

export interface AccessControl {
  /** In the order in which they are asked. */
  readonly authenticators: readonly Authenticator[];
  readonly authorizer: Authorizer;
  /** What RBAC decides by: empty until it is filled. */
  readonly policy: RbacPolicy;
  readonly serviceAccountTokens: ServiceAccountTokens;
  readonly secretTokens: SecretTokens;
  /** Reviews of access and identity. */
  reviews(options: VirtualStoreOptions): ServedResource[];
}

/** As kubeadm calls it. */
const defaultIssuer = 'https://kubernetes.default.svc.cluster.local';

export interface AccessControlPorts {
  readonly catalog: ResourceCatalog;
  readonly client: ResourceClient;
  readonly clock: Clock;
  readonly logger: Logger;
}

export function createAccessControl(options: AccessControlOptions, ports: AccessControlPorts): AccessControl {
  const { signingKey, verificationKeys = [], issuers = [], apiAudiences = issuers } = options.serviceAccounts ?? {};
  const [issuer = defaultIssuer, ...otherIssuers] = issuers;
  const audiences = apiAudiences.length === 0 ? [issuer, ...otherIssuers] : apiAudiences;
  const reader = new ObjectReader(ports.catalog);
  const serviceAccountTokens = new ServiceAccountTokens({
    issuer,
    otherIssuers,
    verificationKeys,
    apiAudiences: audiences,
    reader,
    clock: ports.clock,
    ...(signingKey === undefined ? {} : { signingKey }),
  });
  const { signatures } = serviceAccountTokens;
  const secretTokens = new SecretTokens({ signatures, apiAudiences: audiences, reader, ...ports });
  const tokens: TokenAuthenticationOptions = {
    authenticators: [knownTokens(options.tokens ?? new Map(), audiences), secretTokens, serviceAccountTokens],
    apiAudiences: audiences,
  };
  const policy = new RbacPolicy();
  const modes = { RBAC: rbacAuthorizer(policy), AlwaysAllow: alwaysAllow };
  const authorizers = (options.authorization ?? ['RBAC']).map((mode) => modes[mode]);
  const authorizer = unionAuthorizer([mastersAuthorizer, ...authorizers]);
  return {
    authenticators: [certificateAuthenticator, bearerAuthenticator(tokens), webSocketAuthenticator(tokens)],
    authorizer,
    policy,
    serviceAccountTokens,
    secretTokens,
    reviews: (virtual) => [
      ...accessReviews(authorizer, virtual),
      ...identityReviews({ ...virtual, tokens, clock: ports.clock }),
    ],
  };
}
