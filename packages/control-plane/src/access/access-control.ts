// AccessControl holds the parts that authenticate and authorize requests: tokens, certificates, the authorizer, and the resources for
// reviews. Made by resources.ts, read by control-plane.ts.

import type { Clock, Logger, ResourceClient } from '@kapstan/api';
import {
  type Authenticator,
  bearerAuthenticator,
  certificateAuthenticator,
  knownTokens,
  ObjectReader,
  type ResourceCatalog,
  rbacAuthorizer,
  type ServedResource,
  type TokenAuthenticationOptions,
  type TokenAuthenticator,
  type UserInfo,
  type VirtualStoreOptions,
  webSocketAuthenticator,
} from '@kapstan/apiserver';
import { PersistentVolume, Pod } from '@kapstan/kinds/core/v1';
import { ClusterRole, ClusterRoleBinding, Role, RoleBinding } from '@kapstan/kinds/rbac.authorization.k8s.io/v1';
import { ResourceSlice } from '@kapstan/kinds/resource.k8s.io/v1';
import { VolumeAttachment } from '@kapstan/kinds/storage.k8s.io/v1';
import {
  accessReviews,
  identityReviews,
  NodeGraph,
  NodeGraphFeed,
  type NodeGraphKind,
  nodeAuthorizer,
  type RbacKind,
  RbacPolicy,
  SecretTokens,
  ServiceAccountTokens,
} from '@kapstan/kubernetes';
import { type AuthorizationOption, authorizationSettingsOf } from '../authorization/authorization-settings.ts';
import { ConfiguredAuthorizers } from '../authorization/configured-authorizers.ts';
import { KindFeed } from '../lifetime/kind-feed.ts';

/**
 * Settings for issuing and verifying service account tokens. Servers that share a store should agree on all of them.
 */
export interface ServiceAccountOptions {
  /** PEM of the RSA or ECDSA private key that signs tokens. Default: a key generated in the data directory. */
  readonly signingKey?: string;
  /**
   * PEM of further keys that verify tokens, in addition to the signing key; each text may contain several. Default
   * none.
   */
  readonly verificationKeys?: readonly string[];
  /**
   * Issuers. The first one issues tokens; tokens of the others are accepted too. At least one. Default: kubeadm's
   * issuer.
   */
  readonly issuers?: readonly string[];
  /** Audiences of a token requested without any, and audiences that a token must name to be accepted. Default: the issuers. */
  readonly apiAudiences?: readonly string[];
}

export interface AccessControlOptions {
  /** Users by token. Default none. */
  readonly tokens?: ReadonlyMap<string, UserInfo> | undefined;
  /** Default: a new signing key that is lost when the process ends. */
  readonly serviceAccounts?: ServiceAccountOptions | undefined;
  /** Authenticators of tokens that this server did not issue, asked last. Default none. */
  readonly outside?: readonly TokenAuthenticator[] | undefined;
  /** The name of this server, which metrics show as a hash. Default none. */
  readonly serverId?: string | undefined;
  /**
   * Authorization settings. Members of system:masters may do everything before any authorizer is asked. Default RBAC
   * alone.
   */
  readonly authorization?: AuthorizationOption | undefined;
}

export interface AccessControl {
  /** Authenticators in the order in which they are asked. */
  readonly authenticators: readonly Authenticator[];
  readonly authorizer: ConfiguredAuthorizers;
  /** The policy that RBAC decides by; empty until it is filled. */
  readonly policy: RbacPolicy;
  /** Keeps the graph of the Node authorizer; unused where there is none. */
  readonly nodes: NodeGraphFeed;
  readonly serviceAccountTokens: ServiceAccountTokens;
  readonly secretTokens: SecretTokens;
  /** Returns the review resources (access, identity). */
  reviews(options: VirtualStoreOptions): ServedResource[];
}

/** The issuer that kubeadm configures. */
const defaultIssuer = 'https://kubernetes.default.svc.cluster.local';

/** Returns the issuers of service account tokens, the signing one first, and the audiences of this server. */
export function tokenNames({ issuers = [], apiAudiences = issuers }: ServiceAccountOptions = {}): {
  readonly issuers: readonly [string, ...string[]];
  readonly audiences: readonly string[];
} {
  const [issuer = defaultIssuer, ...others] = issuers;
  const all = [issuer, ...others] as const;
  return { issuers: all, audiences: apiAudiences.length === 0 ? all : apiAudiences };
}

/** Returns the feed of the roles and bindings that the policy is made of. The caller starts and closes it. */
export function policyFeed(
  policy: RbacPolicy,
  ports: Pick<AccessControlPorts, 'client' | 'clock' | 'logger'>,
): KindFeed<RbacKind> {
  const kinds = [Role, ClusterRole, RoleBinding, ClusterRoleBinding];
  return new KindFeed({ ...ports, kinds, store: policy, what: 'roles or bindings' });
}

/** Returns the feed of the objects that relate nodes to others; undefined where nodes are not authorized by them. */
export function nodeFeed(
  { authorizer, nodes }: AccessControl,
  ports: Pick<AccessControlPorts, 'client' | 'clock' | 'logger'>,
): KindFeed<NodeGraphKind> | undefined {
  if (!authorizer.hasNodes) return undefined;
  const kinds = [Pod, PersistentVolume, VolumeAttachment, ResourceSlice];
  return new KindFeed({ ...ports, kinds, store: nodes, what: 'objects of nodes' });
}

export interface AccessControlPorts {
  readonly catalog: ResourceCatalog;
  readonly client: ResourceClient;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Rejects with a StartError when a file of the authorizers is missing or wrong. */
export async function openAccessControl(
  options: AccessControlOptions,
  ports: AccessControlPorts,
): Promise<AccessControl> {
  const { signingKey, verificationKeys = [] } = options.serviceAccounts ?? {};
  const {
    issuers: [issuer, ...otherIssuers],
    audiences,
  } = tokenNames(options.serviceAccounts);
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
    authenticators: [
      knownTokens(options.tokens ?? new Map(), audiences),
      secretTokens,
      serviceAccountTokens,
      ...(options.outside ?? []),
    ],
    apiAudiences: audiences,
  };
  const policy = new RbacPolicy();
  const graph = new NodeGraph();
  const authorizer = await ConfiguredAuthorizers.open(authorizationSettingsOf(options.authorization), {
    rbac: rbacAuthorizer(policy),
    node: () => nodeAuthorizer(graph),
    server: options.serverId ?? '',
    ...ports,
  });
  return {
    authenticators: [certificateAuthenticator, bearerAuthenticator(tokens), webSocketAuthenticator(tokens)],
    authorizer,
    policy,
    nodes: new NodeGraphFeed(graph, ports.logger),
    serviceAccountTokens,
    secretTokens,
    reviews: (virtual) => [
      ...accessReviews(authorizer, virtual),
      ...identityReviews({ ...virtual, tokens, clock: ports.clock }),
    ],
  };
}
