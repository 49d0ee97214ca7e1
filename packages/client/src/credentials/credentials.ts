// Decides how requests authenticate. Implemented by static tokens, token files and exec plugins; used by the transport.

/** Header names are lower case; a list becomes one header line for each value. */
export type RequestHeaders = Readonly<Record<string, string | readonly string[]>>;

/** A client certificate and its key, PEM. */
export interface ClientCertificate {
  readonly cert: string;
  readonly key: string;
}

/** Port: one identity. Pass your own implementation as `ClientConfig.credentials`. */
export interface Credentials {
  /** Returns the headers of the next request. A rejection fails the request. */
  headers(): RequestHeaders | Promise<RequestHeaders>;
  /** Returns the certificate of the next connection; a new one moves later requests to new connections. */
  clientCertificate?(): ClientCertificate | undefined | Promise<ClientCertificate | undefined>;
  /** Called when a request with these headers got a 401. True = newer credentials exist, so one more try is worthwhile. */
  onUnauthorized?(used: RequestHeaders): boolean | Promise<boolean>;
}

export const anonymous: Credentials = { headers: () => ({}) };

export function bearerToken(token: string): Credentials {
  const headers = { authorization: `Bearer ${token}` };
  return { headers: () => headers };
}

export function basicAuth(username: string, password: string): Credentials {
  const headers = { authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` };
  return { headers: () => headers };
}
