// Trust and identity of TLS connections in a configuration. Read by transport/tls-material.ts.

/** Trust and identity of the TLS connection. Texts are PEM. A text takes precedence over the file of the same name; files are re-read. */
export interface TlsConfig {
  readonly ca?: string;
  readonly caFile?: string;
  readonly cert?: string;
  readonly certFile?: string;
  readonly key?: string;
  readonly keyFile?: string;
  /**
   * Name to request (SNI) and to verify in the server's certificate. An IP address is only verified; the host
   * of the server's URL is requested then. Default: the host of the server's URL.
   */
  readonly serverName?: string;
  /** Trusts any certificate. Cannot be combined with a CA. Default false. */
  readonly insecureSkipVerify?: boolean;
}
