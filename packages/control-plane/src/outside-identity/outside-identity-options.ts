// OutsideIdentityOptions: the identity providers for users that this server does not know itself. Read by outside-identity.ts;
// flags/identity-flags.ts makes them from flags.

/** The parties that vouch for users from outside: token issuers, a webhook, or a proxy in front of this server. */
export interface OutsideIdentityOptions {
  /**
   * Path of an AuthenticationConfiguration of apiserver.config.k8s.io: issuers of JSON Web Tokens, and where requests may be anonymous. It
   * is read again once a minute; a file with errors is logged and the old one stays. Excludes `oidc`. Default: no issuers.
   */
  readonly configFile?: string | undefined;
  /** True = the configuration file may not decide about anonymous requests, because the caller does. Default false. */
  readonly isAnonymousDecided?: boolean | undefined;
  /** One OpenID Connect issuer. Excludes `configFile`. Default none. */
  readonly oidc?: OidcOptions | undefined;
  /** A webhook for bearer tokens that no other authenticator knows. Default none. */
  readonly tokenWebhook?: TokenWebhookSettings | undefined;
}

/** The issuer of `--oidc-*` flags. */
export interface OidcOptions {
  /** An https URL, as in the claim "iss". */
  readonly issuerUrl: string;
  /** The audience of its tokens. */
  readonly clientId: string;
  /** PEM of the authorities that sign its certificate. Default: the system's authorities. */
  readonly ca?: string | undefined;
  /** Default "sub". */
  readonly usernameClaim?: string | undefined;
  /** "-" = none. Default: none for the claim "email", otherwise the URL of the issuer and "#". */
  readonly usernamePrefix?: string | undefined;
  /** Default: no groups. */
  readonly groupsClaim?: string | undefined;
  /** Default "". */
  readonly groupsPrefix?: string | undefined;
  /** Default RS256. */
  readonly signingAlgorithms?: readonly string[] | undefined;
  /** Claims that a token must have, with their values. Default none. */
  readonly requiredClaims?: ReadonlyMap<string, string> | undefined;
}

/** The webhook of `--authentication-token-webhook-config-file`. */
export interface TokenWebhookSettings {
  /** Path of a kubeconfig whose current context gives the webhook's address, and the identity of this server. */
  readonly kubeconfig: string;
  /** Version of the reviews. Default v1beta1, as in kube-apiserver. */
  readonly version?: string | undefined;
  /** Time for which the webhook's answers are cached, in milliseconds. Default 120 000. */
  readonly cacheTtlMs?: number | undefined;
}
