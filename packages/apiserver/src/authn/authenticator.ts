// Authenticators turn a request's credentials into a user: tokens from a file, client certificates, anonymous. Source:
// apiserver pkg/authentication.
import { firstDecision, type MaybePromise } from '../registry/definition/first-decision.ts';
import type { RequestContext, UserInfo } from '../registry/definition/request-context.ts';
import type { ForwardedHeaders, RequestHeaderOptions } from './request-header-names.ts';

/** Receives additions of authenticators to the answer (warnings) and to the audit log (annotations). */
export type AuthenticationRemarks = Pick<RequestContext, 'warn' | 'annotate'>;

/** The credentials of a request. */
export interface Credentials {
  /** The header Authorization, as sent. */
  readonly authorization?: string | undefined;
  /** Subprotocols of a WebSocket request, of which one may contain a token. */
  readonly webSocketProtocols?: readonly string[] | undefined;
  /** Subject of a client certificate that is valid now and signed by a known authority. */
  readonly certificate?: CertificateSubject;
  /** The headers of a request whose client certificate belongs to a front proxy. */
  readonly forwarded?: ForwardedHeaders | undefined;
  /** The reason why a client certificate that was sent cannot be trusted. */
  readonly certificateError?: string;
  /** The decoded path of the request. Absent = a path that is not in {@link AuthenticationOptions.anonymousPaths}. */
  readonly path?: string | undefined;
  /** Absent = remarks are dropped. */
  readonly remarks?: AuthenticationRemarks;
}

/** The subject of a client certificate: user and groups. */
export interface CertificateSubject {
  readonly commonName: string;
  readonly organizations: readonly string[];
  /** Values of the attribute 1.3.6.1.4.1.57683.2. Default none. */
  readonly uids?: readonly string[];
  /** Fingerprint of the whole certificate in lower-case hexadecimal. */
  readonly sha256: string;
}

/** The user; "none" when the request has no credentials of this kind, "invalid" when they are wrong. */
export type AuthenticationResult = UserInfo | 'none' | 'invalid';

/** Finds the sender of a request by its credentials. */
export interface Authenticator {
  authenticate(credentials: Credentials): MaybePromise<AuthenticationResult>;
}

export const authenticatedGroup = 'system:authenticated';
export const serviceAccountsGroup = 'system:serviceaccounts';
/** The group of kubelets. */
export const nodesGroup = 'system:nodes';
export const unauthenticatedGroup = 'system:unauthenticated';
export const anonymousUser = 'system:anonymous';

/** Options of authentication: which credentials are accepted. */
export interface AuthenticationOptions {
  /** Authenticators in the order in which they are asked; the first user counts. */
  readonly authenticators: readonly Authenticator[];
  /**
   * Front proxies that may name the user in headers, such as a main API server in front of this one. They are consulted
   * before all authenticators. Default none.
   */
  readonly requestHeader?: RequestHeaderOptions | undefined;
  /** True = requests without credentials are system:anonymous; false = they are refused. Default true. */
  readonly anonymous?: boolean;
  /** The only paths at which requests may be anonymous. Absent or empty = all. */
  readonly anonymousPaths?: readonly string[] | undefined;
}

/** Returns the user of a request with all groups, or throws 401. Wrong credentials never make a request anonymous. */
export function authenticate(
  credentials: Credentials,
  options: AuthenticationOptions,
): MaybePromise<AuthenticationResult> {
  let isInvalid = false;
  return firstDecision<Authenticator, AuthenticationResult, AuthenticationResult>(options.authenticators, {
    ask: (authenticator) => authenticator.authenticate(credentials),
    decide: (result) => {
      if (result === 'invalid') isInvalid = true;
      return typeof result === 'string' ? undefined : withAuthenticatedGroup(result);
    },
    otherwise: () => {
      if (isInvalid) return 'invalid';
      if (options.anonymous === false || !isAnonymousPath(credentials.path, options.anonymousPaths)) return 'none';
      return { name: anonymousUser, groups: [unauthenticatedGroup] };
    },
  });
}

function isAnonymousPath(path: string | undefined, allowed: readonly string[] = []): boolean {
  return allowed.length === 0 || (path !== undefined && allowed.includes(path));
}

/** True for the user of requests without credentials. Source: filters/authentication.go (isAnonymousUser). */
export function isAnonymous({ name, groups }: UserInfo): boolean {
  return name === anonymousUser || groups.includes(unauthenticatedGroup);
}

/** Adds system:authenticated, unless the user is anonymous or has it. Source: group.AuthenticatedGroupAdder. */
export function withAuthenticatedGroup(user: UserInfo): UserInfo {
  if (user.name === anonymousUser || user.groups.includes(authenticatedGroup)) return user;
  if (user.groups.includes(unauthenticatedGroup)) return user;
  return { ...user, groups: [...user.groups, authenticatedGroup] };
}

/**
 * Takes the user from a client certificate's common name and the groups from its organisations. Source:
 * CommonNameUserConversion.
 */
export const certificateAuthenticator: Authenticator = {
  authenticate: ({ certificate, certificateError }) => {
    if (certificateError !== undefined) return 'invalid';
    if (certificate === undefined) return 'none';
    if (certificate.commonName === '') return 'none';
    const { commonName: name, organizations: groups, uids = [], sha256 } = certificate;
    const [uid] = uids;
    if (uids.length > 1 || uid === '') return 'invalid';
    const extra = { 'authentication.kubernetes.io/credential-id': [`X509SHA256=${sha256}`] };
    return { name, ...(uid !== undefined && { uid }), groups, extra };
  },
};

/** Returns the token of `Authorization: Bearer …`; undefined for other schemes and empty tokens. */
export function bearerToken(authorization: string | undefined, remarks?: AuthenticationRemarks): string | undefined {
  const [scheme = '', token = '', ...more] = (authorization ?? '').trim().split(' ');
  if (scheme.toLowerCase() !== 'bearer') return undefined;
  if (token === '' && more.length > 0) remarks?.warn(extraSpaceText);
  return token === '' ? undefined : token;
}

const extraSpaceText = 'the provided Authorization header contains extra space before the bearer token, and is ignored';
