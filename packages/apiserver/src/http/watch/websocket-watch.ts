// Serves a watch over a WebSocket: each event is one message, text for JSON and binary for protobuf. Opened by
// watch-handler.ts; watch-response.ts writes to it as to any stream. Source: apiserver handlers/watch.go (HandleWS),
// golang.org/x/net/websocket.
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import { isTokenProtocol, subprotocolsIn } from '../../authn/websocket-protocol.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { tryParseRequestInfo } from '../exchange/request-info.ts';
import { parseRequestUrl } from '../exchange/request-url.ts';
import { type ResponseStream, waitForDrain } from '../exchange/response-stream.ts';
import { sendText } from '../exchange/status-response.ts';
import { isOrigin } from './websocket-origin.ts';

/** The request that carried an offer of another protocol. */
export type UpgradeRequest = Pick<IncomingMessage, 'method' | 'url' | 'headers'>;

/** Clients need to send only control frames; a larger message ends their watch. */
const maxMessageBytes = 64 * 1024;
/** Bytes of the length before a protobuf frame, which is cut off because a message has its own length. */
const lengthPrefixBytes = 4;

const server = new WebSocketServer({
  noServer: true,
  clientTracking: false,
  perMessageDeflate: false,
  maxPayload: maxMessageBytes,
  handleProtocols: (protocols) => [...protocols].find((protocol) => !isTokenProtocol(protocol)) ?? false,
});

/** True for a WebSocket request that is a watch, or sends its token as only WebSockets do. */
export function isWebSocketRequest({ method, url = '/', headers }: UpgradeRequest): boolean {
  if (method !== 'GET' || headers.upgrade?.toLowerCase() !== 'websocket') return false;
  if (subprotocolsIn([headers['sec-websocket-protocol'] ?? '']).some(isTokenProtocol)) return true;
  // The code that reads a malformed path next refuses it.
  return tryParseRequestInfo({ method: 'GET', ...parseRequestUrl(url) })?.verb === 'watch';
}

/** Returns the subprotocols of a WebSocket request; undefined for all other requests. */
export function webSocketProtocolsOf(exchange: Exchange): readonly string[] | undefined {
  if (!exchange.isUpgrade || exchange.header('upgrade')?.toLowerCase() !== 'websocket') return undefined;
  return subprotocolsIn(exchange.headerValues('sec-websocket-protocol'));
}

/** Accepts the WebSocket. Returns undefined after answering a refusal. `content`: the type of the messages. */
export function openWebSocket(exchange: Exchange, content: 'text' | 'binary'): ResponseStream | undefined {
  const offer = offerOf(exchange);
  if (isRefused(exchange, offer)) return undefined;
  const { request, socket, head } = exchange.takeOver();
  // Node joins repeated headers; as in the check, the first one counts.
  request.headers['sec-websocket-key'] = offer.key;
  request.headers['sec-websocket-version'] = offer.version;
  if (offer.protocols.length === 0) delete request.headers['sec-websocket-protocol'];
  let stream: ResponseStream | undefined;
  server.handleUpgrade(request, socket, Buffer.from(head), (webSocket) => {
    stream = webSocketStream(webSocket, socket, content);
  });
  return stream;
}

interface WebSocketOffer {
  readonly key: string;
  readonly version: string;
  readonly origin: string;
  /** The offered protocols without tokens. */
  readonly protocols: readonly string[];
}

function offerOf(exchange: Exchange): WebSocketOffer {
  const first = (name: string): string => exchange.headerValues(name)[0]?.trim() ?? '';
  const protocols = subprotocolsIn([first('sec-websocket-protocol')]);
  return {
    key: first('sec-websocket-key'),
    version: first('sec-websocket-version'),
    origin: first('origin'),
    protocols: protocols.length === 1 && protocols[0] === '' ? [] : protocols.filter((name) => !isTokenProtocol(name)),
  };
}

/** 16 bytes in base64. */
const keyPattern = /^[+/0-9A-Za-z]{22}==$/;

/** Answers a refusal with the texts of Go's library. */
function isRefused(exchange: Exchange, { key, version, origin, protocols }: WebSocketOffer): boolean {
  const refuse = (status: number, text: string): true => {
    sendText(exchange, status, text);
    return true;
  };
  if (!keyPattern.test(key)) return refuse(400, 'mismatch challenge/response');
  if (version !== '13') {
    exchange.setHeader('Sec-WebSocket-Version', '13');
    return refuse(400, 'missing or bad WebSocket Version');
  }
  if (!isOrigin(origin)) return refuse(403, '');
  // A client that offers several protocols must be told the chosen one, and nothing chooses one.
  return protocols.length > 1 && refuse(400, '');
}

function webSocketStream(webSocket: WebSocket, socket: Socket, content: 'text' | 'binary'): ResponseStream {
  const isClosed = (): boolean => webSocket.readyState !== webSocket.OPEN || socket.destroyed;
  const isBinary = content === 'binary';
  // The end of the connection reports errors too; without an error listener they would end the process.
  webSocket.on('error', () => undefined);
  const write = (bytes: Uint8Array): boolean => {
    if (isClosed()) return true;
    webSocket.send(isBinary ? bytes.subarray(lengthPrefixBytes) : bytes, { binary: isBinary });
    return !socket.writableNeedDrain;
  };
  return {
    write,
    writeShared: (frames) => {
      socket.cork();
      for (const frame of frames) write(frame);
      socket.uncork();
      return !socket.writableNeedDrain;
    },
    takesPieces: false,
    drained: () => waitForDrain(socket, isClosed),
    get bufferedBytes() {
      return socket.writableLength;
    },
    get isClosed() {
      return isClosed();
    },
    cork: () => socket.cork(),
    uncork: () => socket.uncork(),
    end: () => webSocket.close(1000),
    abort: () => webSocket.terminate(),
  };
}
