// Reads tokens from WebSocket subprotocols, because browsers cannot set Authorization on a WebSocket. See also
// token-authenticator.ts. Source: apiserver pkg/authentication/request/websocket.
import type { Authenticator } from './authenticator.ts';
import { authenticateToken, type TokenAuthenticationOptions } from './token-authenticator.ts';

const tokenPrefix = 'base64url.bearer.authorization.k8s.io.';

/** Returns the subprotocols in values of `Sec-WebSocket-Protocol`, in their order. */
export function subprotocolsIn(values: readonly string[]): readonly string[] {
  return values.flatMap((value) => value.split(',').map((protocol) => protocol.trim()));
}

/**
 * True for a subprotocol that is a token. Such a token is for this server alone and is neither echoed nor passed on.
 */
export function isTokenProtocol(protocol: string): boolean {
  return protocol.startsWith(tokenPrefix);
}

/** Authenticates by a token among the subprotocols. There must be another subprotocol, which the answer can name. */
export function webSocketAuthenticator(options: TokenAuthenticationOptions): Authenticator {
  return {
    authenticate: async ({ webSocketProtocols = [], remarks }) => {
      const tokens = webSocketProtocols.filter(isTokenProtocol);
      const [first] = tokens;
      if (first === undefined) return 'none';
      const token = decodeToken(first.slice(tokenPrefix.length));
      if (tokens.length > 1 || token === undefined) return 'invalid';
      if (token === '') return 'none';
      if (tokens.length === webSocketProtocols.length) return 'invalid';
      const result = await authenticateToken(options, token, { remarks });
      return result.type === 'accepted' ? result.user : 'invalid';
    },
  };
}

/** Decodes base64url without padding. Returns undefined for other text and for bytes that are not UTF-8. */
function decodeToken(text: string): string | undefined {
  if (!/^[A-Za-z0-9_-]*$/.test(text) || text.length % 4 === 1) return undefined;
  const bytes = Buffer.from(text, 'base64url');
  const token = bytes.toString('utf8');
  return Buffer.from(token, 'utf8').equals(bytes) ? token : undefined;
}
