// Parses the addresses of etcd members, as given in --etcd-servers. Used by endpoint-pool.ts.

export interface Endpoint {
  /** The address as given. */
  readonly url: string;
  /** host:port */
  readonly address: string;
  readonly isSecure: boolean;
}

/**
 * Parses the addresses. Throws TypeError for text that is not the address of an etcd member. `hasTls` determines the
 * scheme of an address without one.
 */
export function parseEndpoints(texts: readonly string[], hasTls: boolean): readonly [Endpoint, ...Endpoint[]] {
  const [first, ...rest] = texts.map((text) => parseEndpoint(text.trim(), hasTls));
  if (first === undefined) throw new TypeError('endpoints must name at least one etcd server');
  return [first, ...rest];
}

function parseEndpoint(text: string, hasTls: boolean): Endpoint {
  const withScheme = text.includes('://') ? text : `${hasTls ? 'https' : 'http'}://${text}`;
  const parsed = URL.canParse(withScheme) ? new URL(withScheme) : undefined;
  if (parsed === undefined || parsed.hostname === '')
    throw new TypeError(`not an etcd server: ${JSON.stringify(text)}`);
  const { protocol, hostname } = parsed;
  if (protocol !== 'http:' && protocol !== 'https:') {
    throw new TypeError(`an etcd server's scheme must be http or https, not ${protocol.slice(0, -1)}: ${text}`);
  }
  if (parsed.username !== '' || parsed.search !== '' || parsed.hash !== '' || parsed.pathname.length > 1) {
    throw new TypeError('the address of an etcd server must have a scheme, host and port only');
  }
  const isSecure = protocol === 'https:';
  const port = parsed.port === '' ? (isSecure ? '443' : '80') : parsed.port;
  return { url: text, address: `${hostname}:${port}`, isSecure };
}
