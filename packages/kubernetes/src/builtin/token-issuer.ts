// TokenIssuer: the port that signs tokens of service accounts, and the claims in them. Implemented by
// core/serviceaccounts/service-account-tokens.ts, used by token-subresource.ts. Source: pkg/serviceaccount/claims.go
// (1.36).

/** An object as a token names it. */
export interface TokenReference {
  readonly name: string;
  readonly uid: string;
}

/** The member "kubernetes.io" of a token. */
export interface KubernetesClaims {
  readonly namespace: string;
  readonly serviceaccount: TokenReference;
  /** Objects whose deletion ends the token. */
  readonly pod?: TokenReference;
  readonly secret?: TokenReference;
  readonly node?: TokenReference;
  /** Seconds since 1970 after which its holder should have fetched a new token. */
  readonly warnafter?: number;
}

export interface TokenClaims {
  /** Identifies the token in the audit log. Default: a new id. */
  readonly id?: string;
  readonly audiences: readonly string[];
  /** Seconds since 1970. */
  readonly issuedAt: number;
  /** Seconds since 1970. */
  readonly expires: number;
  readonly kubernetes: KubernetesClaims;
}

export interface TokenIssuer {
  /** Audiences of tokens whose request names none. */
  readonly apiAudiences: readonly string[];
  /** Returns a JWT in compact form. */
  issue(claims: TokenClaims): Promise<string>;
}
