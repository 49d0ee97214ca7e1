// TokenIssuer: the port that signs tokens of service accounts, and what is in them. Implemented by
// core/serviceaccounts/service-account-tokens.ts, used by token-subresource.ts. Source: pkg/serviceaccount/claims.go (1.36).

/** An object as a token names it. */
export interface TokenReference {
  readonly name: string;
  readonly uid: string;
}

/** The member "kubernetes.io" of a token. */
export interface KubernetesClaims {
  readonly namespace: string;
  readonly serviceaccount: TokenReference;
  /** Objects that the token lives no longer than. */
  readonly pod?: TokenReference;
  readonly secret?: TokenReference;
  readonly node?: TokenReference;
  /** Seconds since 1970: from then on its holder should have fetched a new one. */
  readonly warnafter?: number;
}

export interface TokenClaims {
  /** By which the token is known in what is recorded of requests. Default: a new one. */
  readonly id?: string;
  readonly audiences: readonly string[];
  /** Seconds since 1970. */
  readonly issuedAt: number;
  /** Seconds since 1970. */
  readonly expires: number;
  readonly kubernetes: KubernetesClaims;
}

export interface TokenIssuer {
  /** For whom tokens are when their request names nobody. */
  readonly apiAudiences: readonly string[];
  /** A JWT in compact form. */
  issue(claims: TokenClaims): Promise<string>;
}
