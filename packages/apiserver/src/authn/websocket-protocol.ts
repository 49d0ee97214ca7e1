// Tokens of browsers: they cannot set Authorization on a WebSocket, so a token may stand among its subprotocols.
// Beside token-authenticator.ts. Source: apiserver pkg/authentication/request/websocket.
import type { Authenticator } from './authenticator.ts';
import { authenticateToken, type TokenAuthenticationOptions } from './token-authenticator.ts';

const tokenPrefix = 'base64url.bearer.authorization.k8s.io.';

/** The subprotocols in header values `Sec-WebSocket-Protocol`, in their order. */
export function subprotocolsIn(values: readonly string[]): readonly string[] {
  return values.flatMap((value) => value.split(',').map((protocol) => protocol.trim()));
}

/** True for one that holds a token: it is for this server alone, and is neither echoed nor passed on. */
export function isTokenProtocol(protocol: string): boolean {
  return protocol.startsWith(tokenPrefix);
}

/** A token among the subprotocols of a WebSocket. There has to be another subprotocol, which the answer can name. */
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

/** From base64url without padding. Undefined when it is none, or no UTF-8. */
function decodeToken(text: string): string | undefined {
  if (!/^[A-Za-z0-9_-]*$/.test(text) || text.length % 4 === 1) return undefined;
  const bytes = Buffer.from(text, 'base64url');
  const token = bytes.toString('utf8');
  return Buffer.from(token, 'utf8').equals(bytes) ? token : undefined;
}
