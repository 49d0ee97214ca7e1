// AccessControl: who may come in and what they may do: tokens, certificates, the authorizer, and the resources that tell
// about them. Made by resources.ts, read by control-plane.ts.
import type { Clock } from '@kapstan/api';
import {
  type Authenticator,
  type Authorizer,
  accessReviews,
  alwaysAllow,
  bearerAuthenticator,
  builtinAuthorizer,
  certificateAuthenticator,
  identityReviews,
  knownTokens,
  ObjectReader,
  type ResourceCatalog,
  type ServedResource,
  ServiceAccountTokens,
  type TokenAuthenticationOptions,
  type UserInfo,
  type VirtualResourceOptions,
} from '@kapstan/apiserver';

export interface AccessControlOptions {
  /** Users by token. Default none. */
  readonly tokens?: ReadonlyMap<string, UserInfo>;
  /** Key that signs tokens of service accounts. Default: a new one, gone with the process. */
  readonly signingKey?: string;
  /** Default 'Kapstan': the built-in rule. */
  readonly authorization?: 'Kapstan' | 'AlwaysAllow';
}

export interface AccessControl {
  /** In the order in which they are asked. */
  readonly authenticators: readonly Authenticator[];
  readonly authorizer: Authorizer;
  readonly serviceAccountTokens: ServiceAccountTokens;
  /** Reviews of access and identity. */
  reviews(options: VirtualResourceOptions): ServedResource[];
}

/** Who issues the tokens of service accounts, and whom they are for when nobody else is named. kubeadm's name for it. */
const issuer = 'https://kubernetes.default.svc.cluster.local';

export function createAccessControl(
  options: AccessControlOptions,
  ports: { readonly catalog: ResourceCatalog; readonly clock: Clock },
): AccessControl {
  const apiAudiences = [issuer];
  const serviceAccountTokens = new ServiceAccountTokens({
    issuer,
    apiAudiences,
    reader: new ObjectReader(ports.catalog),
    clock: ports.clock,
    ...(options.signingKey === undefined ? {} : { signingKey: options.signingKey }),
  });
  const tokens: TokenAuthenticationOptions = {
    authenticators: [knownTokens(options.tokens ?? new Map(), apiAudiences), serviceAccountTokens],
    apiAudiences,
  };
  const authorizer = options.authorization === 'AlwaysAllow' ? alwaysAllow : builtinAuthorizer;
  return {
    authenticators: [certificateAuthenticator, bearerAuthenticator(tokens)],
    authorizer,
    serviceAccountTokens,
    reviews: (virtual) => [
      ...accessReviews(authorizer, virtual),
      ...identityReviews({ ...virtual, tokens, clock: ports.clock }),
    ],
  };
}
