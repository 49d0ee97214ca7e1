// Trust and identity of TLS connections, as a configuration gives them. Read by transport/tls-material.ts.

/** Trust and identity of the TLS connection. Texts are PEM. Data beats the file of the same name; files are re-read. */
export interface TlsConfig {
  readonly ca?: string;
  readonly caFile?: string;
  readonly cert?: string;
  readonly certFile?: string;
  readonly key?: string;
  readonly keyFile?: string;
  /** Name to ask for (SNI) and to find in the server's certificate. Default: the host of the server's URL. */
  readonly serverName?: string;
  /** Trusts any certificate. Refused together with a CA. Default false. */
  readonly insecureSkipVerify?: boolean;
}
