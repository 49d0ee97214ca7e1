// Authenticators: from a request's credentials to a user. Tokens from a file, client certificates, anonymous.
// Source: apiserver pkg/authentication.
import { firstDecision, type MaybePromise } from '../registry/definition/first-decision.ts';
import type { RequestContext, UserInfo } from '../registry/definition/request-context.ts';

/** Where authenticators say what the answer and the audit log have to tell of the credentials. */
export type AuthenticationRemarks = Pick<RequestContext, 'warn' | 'annotate'>;

/** What a request brought along. */
export interface Credentials {
  /** The header Authorization, as sent. */
  readonly authorization?: string | undefined;
  /** Of a request for a WebSocket: its subprotocols, of which one may hold a token. */
  readonly webSocketProtocols?: readonly string[] | undefined;
  /** Subject of a client certificate that a known authority signed and that is valid now. */
  readonly certificate?: CertificateSubject;
  /** A client certificate was sent, but cannot be trusted: why. */
  readonly certificateError?: string;
  /** Absent: nobody wants to know. */
  readonly remarks?: AuthenticationRemarks;
}

export interface CertificateSubject {
  readonly commonName: string;
  readonly organizations: readonly string[];
  /** Values of the attribute 1.3.6.1.4.1.57683.2. Default none. */
  readonly uids?: readonly string[];
  /** Of the whole certificate, lower-case hexadecimal. */
  readonly sha256: string;
}

/**
 * The user, "none" when the request has no credentials of this kind, "invalid" when it has but they are wrong.
 */
export type AuthenticationResult = UserInfo | 'none' | 'invalid';

export interface Authenticator {
  authenticate(credentials: Credentials): MaybePromise<AuthenticationResult>;
}

export const authenticatedGroup = 'system:authenticated';
export const serviceAccountsGroup = 'system:serviceaccounts';
/** Of kubelets. */
export const nodesGroup = 'system:nodes';
export const unauthenticatedGroup = 'system:unauthenticated';
export const anonymousUser = 'system:anonymous';

export interface AuthenticationOptions {
  /** Asked in this order; the first user counts. */
  readonly authenticators: readonly Authenticator[];
  /** Requests without credentials are system:anonymous; else they are refused. Default true. */
  readonly anonymous?: boolean;
}

/** The user of a request with all groups, else 401. Wrong credentials are never anonymous. */
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
      if (options.anonymous === false) return 'none';
      return { name: anonymousUser, groups: [unauthenticatedGroup] };
    },
  });
}

/** Whether a user is one that nobody knows. Source: filters/authentication.go (isAnonymousUser). */
export function isAnonymous({ name, groups }: UserInfo): boolean {
  return name === anonymousUser || groups.includes(unauthenticatedGroup);
}

/** Adds system:authenticated, unless the user is anonymous or has it. Source: group.AuthenticatedGroupAdder. */
export function withAuthenticatedGroup(user: UserInfo): UserInfo {
  if (user.name === anonymousUser || user.groups.includes(authenticatedGroup)) return user;
  if (user.groups.includes(unauthenticatedGroup)) return user;
  return { ...user, groups: [...user.groups, authenticatedGroup] };
}

/** Client certificates: the common name is the user, the organisations are the groups. Source: CommonNameUserConversion. */
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

/** The token of `Authorization: Bearer …`; undefined for other schemes and empty tokens. */
export function bearerToken(authorization: string | undefined, remarks?: AuthenticationRemarks): string | undefined {
  const [scheme = '', token = '', ...more] = (authorization ?? '').trim().split(' ');
  if (scheme.toLowerCase() !== 'bearer') return undefined;
  if (token === '' && more.length > 0) remarks?.warn(extraSpaceText);
  return token === '' ? undefined : token;
}

const extraSpaceText = 'the provided Authorization header contains extra space before the bearer token, and is ignored';
