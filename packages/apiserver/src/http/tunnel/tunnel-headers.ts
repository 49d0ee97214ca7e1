// Headers of a request or answer that is passed on, without headers that belong to one connection or are for this
// server alone. Used by tunnel-upgrade.ts and tunnel-forward.ts. Source: httputil.ReverseProxy of Go, filters
// WithAuthentication, WithImpersonation.
import { isTokenProtocol, subprotocolsIn } from '../../authn/websocket-protocol.ts';

export type HeaderList = readonly (readonly [name: string, value: string])[];

/** The headers of RFC 9110 §7.6.1, as Go lists them. */
const hopByHop: ReadonlySet<string> = new Set([
  'connection',
  'proxy-connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/**
 * Headers for this server alone: a peer must not see the identity that the client claims. "expect" was answered here.
 */
const own = /^(?:authorization|expect|(?:impersonate|x-remote)-(?:user|uid|group|extra-.*))$/;

/** Returns the headers that node:http and node:http2 list flat as pairs. */
export function pairsOf(rawHeaders: readonly string[]): HeaderList {
  const pairs: [string, string][] = [];
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) pairs.push([rawHeaders[i] ?? '', rawHeaders[i + 1] ?? '']);
  return pairs;
}

export interface ForwardedRequest {
  readonly rawHeaders: readonly string[];
  /** The client's address; undefined when it is gone. */
  readonly client: string | undefined;
  /** "connection": headers of the connection are passed on too, because the two connections are joined. */
  readonly scope: 'request' | 'connection';
}

/** Returns the headers for the peer, with the client's address appended to the addresses of earlier proxies. */
export function requestHeaders({ rawHeaders, client, scope }: ForwardedRequest): HeaderList {
  const pairs = pairsOf(rawHeaders)
    .map(([name, value]) => [name === ':authority' ? 'Host' : name, value] as const)
    .filter(([name]) => !name.startsWith(':') && !own.test(name.toLowerCase()));
  const kept = scope === 'connection' ? pairs : withoutHops(pairs);
  const isForwardedFor = ([name]: readonly [string, string]): boolean => name.toLowerCase() === 'x-forwarded-for';
  const ways = [...kept.filter(isForwardedFor).map(([, value]) => value), ...(client === undefined ? [] : [client])];
  const others = kept.filter((pair) => !isForwardedFor(pair)).flatMap(withoutToken);
  return ways.length === 0 ? others : [...others, ['X-Forwarded-For', ways.join(', ')]];
}

/** Returns the headers of a peer's answer for the client. */
export function answerHeaders(rawHeaders: readonly string[]): HeaderList {
  return withoutHops(pairsOf(rawHeaders)).filter(([name]) => !/^access-control-allow-/i.test(name));
}

function withoutHops(pairs: HeaderList): HeaderList {
  const named = pairs
    .filter(([name]) => name.toLowerCase() === 'connection')
    .flatMap(([, value]) => value.split(',').map((option) => option.trim().toLowerCase()));
  const isKept = ([name, value]: readonly [string, string]): boolean => {
    const key = name.toLowerCase();
    // The peer may need to know that the client accepts trailers.
    if (key === 'te') return value.split(',').some((coding) => coding.trim().toLowerCase() === 'trailers');
    return !hopByHop.has(key) && !named.includes(key);
  };
  return pairs.filter(isKept).map(([name, value]) => [name, name.toLowerCase() === 'te' ? 'trailers' : value]);
}

/**
 * Removes a token from the protocols of a WebSocket, because it was meant for this server. Source:
 * authentication/request/websocket/protocol.go.
 */
function withoutToken([name, value]: readonly [string, string]): HeaderList {
  if (name.toLowerCase() !== 'sec-websocket-protocol') return [[name, value]];
  const protocols = subprotocolsIn([value]);
  const kept = protocols.filter((protocol) => !isTokenProtocol(protocol)).join(', ');
  return kept === '' ? [] : [[name, kept]];
}
