// TokenAuthenticator turns a bearer token into a user, for certain audiences. A union of several serves requests
// (bearerAuthenticator) and token reviews. Source: apiserver pkg/authentication/token, request/bearertoken.
import { firstDecision, type MaybePromise } from '../registry/definition/first-decision.ts';
import type { UserInfo } from '../registry/definition/request-context.ts';
import {
  type AuthenticationRemarks,
  type AuthenticationResult,
  type Authenticator,
  bearerToken,
} from './authenticator.ts';
import { withClaimsRead } from './token-claims.ts';

/**
 * The user with the matching audiences if accepted; "unknown" = a token of another authenticator; `error` = an invalid
 * token of this one.
 */
export type TokenResult =
  | {
      readonly type: 'accepted';
      readonly user: UserInfo;
      readonly audiences: readonly string[];
      /** The time when the token expires, in milliseconds since 1970. Absent = unknown. */
      readonly untilMs?: number | undefined;
    }
  | { readonly type: 'unknown' }
  | { readonly type: 'refused'; readonly error: string };

type KnownTokenResult = Exclude<TokenResult, { readonly type: 'unknown' }>;

/** Finds the user of a token. */
export interface TokenAuthenticator {
  /** `audiences`: the token must be valid for at least one of them. */
  authenticateToken(
    token: string,
    audiences: readonly string[],
    remarks?: AuthenticationRemarks,
  ): MaybePromise<TokenResult>;
}

/** Options of token authentication. */
export interface TokenAuthenticationOptions {
  /** Authenticators in the order in which they are asked; the first that accepts the token counts. */
  readonly authenticators: readonly TokenAuthenticator[];
  /** Audiences of this server. Empty = the audience of a token is not checked. */
  readonly apiAudiences: readonly string[];
}

const invalidBearerToken = 'invalid bearer token';

export interface TokenCall {
  /** Audiences that the token must be valid for. Empty or absent = the server's audiences. */
  readonly audiences?: readonly string[];
  readonly remarks?: AuthenticationRemarks | undefined;
}

/** Asks all authenticators. If none accepts, the error has kube-apiserver's texts. */
export function authenticateToken(
  { authenticators, apiAudiences }: TokenAuthenticationOptions,
  token: string,
  { audiences = [], remarks }: TokenCall = {},
): MaybePromise<KnownTokenResult> {
  const asked = audiences.length === 0 ? apiAudiences : audiences;
  const errors: string[] = [];
  const decision = (): MaybePromise<KnownTokenResult> =>
    firstDecision<TokenAuthenticator, TokenResult, KnownTokenResult>(authenticators, {
      ask: (authenticator) => authenticator.authenticateToken(token, asked, remarks),
      decide: (result) => {
        if (result.type === 'refused') errors.push(result.error);
        return result.type === 'accepted' ? result : undefined;
      },
      otherwise: () => {
        const texts = [invalidBearerToken, ...errors];
        return { type: 'refused', error: errors.length === 0 ? invalidBearerToken : `[${texts.join(', ')}]` };
      },
    });
  return withClaimsRead(token, decision);
}

/** Authenticates requests by `Authorization: Bearer …`. */
export function bearerAuthenticator(options: TokenAuthenticationOptions): Authenticator {
  return {
    authenticate: ({ authorization, remarks }) => {
      const token = bearerToken(authorization, remarks);
      if (token === undefined) return 'none';
      const result = authenticateToken(options, token, { remarks });
      return result instanceof Promise ? result.then(userOf) : userOf(result);
    },
  };
}

function userOf(result: KnownTokenResult): AuthenticationResult {
  return result.type === 'accepted' ? result.user : 'invalid';
}

/** Accepts tokens known in advance. They are valid for this server only. */
export function knownTokens(
  users: ReadonlyMap<string, UserInfo>,
  apiAudiences: readonly string[] = [],
): TokenAuthenticator {
  return {
    authenticateToken: (token, asked) => {
      const user = users.get(token);
      const audiences = asked.filter((audience) => apiAudiences.includes(audience));
      if (user === undefined || (asked.length > 0 && audiences.length === 0)) return { type: 'unknown' };
      return { type: 'accepted', user, audiences };
    },
  };
}

/** Authenticates requests with one of these tokens. */
export function tokenAuthenticator(users: ReadonlyMap<string, UserInfo>): Authenticator {
  return bearerAuthenticator({ authenticators: [knownTokens(users)], apiAudiences: [] });
}
