// AccessControl holds what authenticates and authorizes requests: tokens, certificates, the authorizer, and the resources that report
// on them. Made by resources.ts, read by control-plane.ts.

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
import { ClusterRole, ClusterRoleBinding, Role, RoleBinding } from '@kapstan/kinds/rbac.authorization.k8s.io/v1';
import {
  accessReviews,
  identityReviews,
  type RbacKind,
  RbacPolicy,
  SecretTokens,
  ServiceAccountTokens,
} from '@kapstan/kubernetes';
import { KindFeed } from './kind-feed.ts';

/** How service account tokens are issued and verified. Servers that share a store should agree on all of it. */
export interface ServiceAccountOptions {
  /** PEM of the RSA or ECDSA private key that signs tokens. Default: a key generated in the data directory. */
  readonly signingKey?: string;
  /** PEM of further keys that verify tokens, beside the signing key; each text may hold several. Default none. */
  readonly verificationKeys?: readonly string[];
  /** The first issues tokens; tokens of the others are accepted too. At least one. Default: kubeadm's issuer. */
  readonly issuers?: readonly string[];
  /** Audiences of a token requested without any, and audiences that a token must name to be accepted. Default: the issuers. */
  readonly apiAudiences?: readonly string[];
}

/** The authorizers that can be chosen; AlwaysAllow is for tests. */
export const authorizationModes = ['RBAC', 'AlwaysAllow'] as const;

export type AuthorizationMode = (typeof authorizationModes)[number];

export interface AccessControlOptions {
  /** Users by token. Default none. */
  readonly tokens?: ReadonlyMap<string, UserInfo> | undefined;
  /** Default: a new signing key that is lost when the process ends. */
  readonly serviceAccounts?: ServiceAccountOptions | undefined;
  /** Authorizers, asked in this order. Members of system:masters may do everything before any is asked. Default RBAC alone. */
  readonly authorization?: readonly AuthorizationMode[] | undefined;
}

export interface AccessControl {
  /** Asked in this order. */
  readonly authenticators: readonly Authenticator[];
  readonly authorizer: Authorizer;
  /** The policy that RBAC decides by; empty until it is filled. */
  readonly policy: RbacPolicy;
  readonly serviceAccountTokens: ServiceAccountTokens;
  readonly secretTokens: SecretTokens;
  /** Returns the review resources (access, identity). */
  reviews(options: VirtualStoreOptions): ServedResource[];
}

/** The issuer that kubeadm configures. */
const defaultIssuer = 'https://kubernetes.default.svc.cluster.local';

/** Returns the feed of the roles and bindings that the policy is made of. The caller starts and closes it. */
export function policyFeed(
  policy: RbacPolicy,
  ports: Pick<AccessControlPorts, 'client' | 'clock' | 'logger'>,
): KindFeed<RbacKind> {
  const kinds = [Role, ClusterRole, RoleBinding, ClusterRoleBinding];
  return new KindFeed({ ...ports, kinds, store: policy, what: 'roles or bindings' });
}

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
    signingKey,
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
