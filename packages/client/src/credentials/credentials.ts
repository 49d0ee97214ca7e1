// How requests prove who sends them. Implemented by static tokens, token files and exec plugins; used by the transport.

/** Header names in lower case; a list becomes one header line a value. */
export type RequestHeaders = Readonly<Record<string, string | readonly string[]>>;

/** A client certificate and its key, PEM. */
export interface ClientCertificate {
  readonly cert: string;
  readonly key: string;
}

/** Port: one identity. Own implementations go into `ClientConfig.credentials`. */
export interface Credentials {
  /** Headers of the next request. A rejection fails the request. */
  headers(): RequestHeaders | Promise<RequestHeaders>;
  /** Certificate of the next connection; a new one moves later requests to new connections. */
  clientCertificate?(): ClientCertificate | undefined | Promise<ClientCertificate | undefined>;
  /** A request with these headers got a 401. True = there are newer credentials, worth one more try. */
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
