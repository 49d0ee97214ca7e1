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
  type ServedResource,
  type TokenAuthenticationOptions,
  type UserInfo,
  type VirtualResourceOptions,
} from '@kapstan/apiserver';

export interface AccessControlOptions {
  /** Users by token. Default none. */
  readonly tokens?: ReadonlyMap<string, UserInfo>;
  /** Default 'Kapstan': the built-in rule. */
  readonly authorization?: 'Kapstan' | 'AlwaysAllow';
}

export interface AccessControl {
  /** In the order in which they are asked. */
  readonly authenticators: readonly Authenticator[];
  readonly authorizer: Authorizer;
  /** Reviews of access and identity. */
  reviews(options: VirtualResourceOptions): ServedResource[];
}

/** Who issues the tokens of service accounts, and whom they are for when nobody else is named. kubeadm's name for it. */
const issuer = 'https://kubernetes.default.svc.cluster.local';

export function createAccessControl(options: AccessControlOptions, ports: { readonly clock: Clock }): AccessControl {
  const apiAudiences = [issuer];
  const tokens: TokenAuthenticationOptions = {
    authenticators: [knownTokens(options.tokens ?? new Map(), apiAudiences)],
    apiAudiences,
  };
  const authorizer = options.authorization === 'AlwaysAllow' ? alwaysAllow : builtinAuthorizer;
  return {
    authenticators: [certificateAuthenticator, bearerAuthenticator(tokens)],
    authorizer,
    reviews: (virtual) => [
      ...accessReviews(authorizer, virtual),
      ...identityReviews({ ...virtual, tokens, clock: ports.clock }),
    ],
  };
}
