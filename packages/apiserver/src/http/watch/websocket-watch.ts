// A watch over a WebSocket: each event is one message, text for JSON and binary for protobuf. Opened by watch-handler.ts, written
// by watch-response.ts as any other stream. Source: apiserver handlers/watch.go (HandleWS), golang.org/x/net/websocket.
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import { isTokenProtocol, subprotocolsIn } from '../../authn/websocket-protocol.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { parseRequestInfo } from '../exchange/request-info.ts';
import { parseRequestUrl } from '../exchange/request-url.ts';
import { type ResponseStream, waitForDrain } from '../exchange/response-stream.ts';
import { sendText } from '../exchange/status-response.ts';
import { isOrigin } from './websocket-origin.ts';

/** What an offer of another protocol came with. */
export type UpgradeRequest = Pick<IncomingMessage, 'method' | 'url' | 'headers'>;

/** A client has nothing to say but control frames; what is larger ends its watch. */
const maxMessageBytes = 64 * 1024;
/** Length of a protobuf frame before it: messages have their own. */
const lengthPrefixBytes = 4;

const server = new WebSocketServer({
  noServer: true,
  clientTracking: false,
  perMessageDeflate: false,
  maxPayload: maxMessageBytes,
  handleProtocols: (protocols) => [...protocols].find((protocol) => !isTokenProtocol(protocol)) ?? false,
});

/** Whether a request for a WebSocket is a watch, or shows its token as only WebSockets do. */
export function isWebSocketRequest({ method, url = '/', headers }: UpgradeRequest): boolean {
  if (method !== 'GET' || headers.upgrade?.toLowerCase() !== 'websocket') return false;
  if (subprotocolsIn([headers['sec-websocket-protocol'] ?? '']).some(isTokenProtocol)) return true;
  return isWatch(url);
}

function isWatch(url: string): boolean {
  try {
    return parseRequestInfo({ method: 'GET', ...parseRequestUrl(url) }).verb === 'watch';
  } catch (error) {
    // A path that is none is refused by who reads it next.
    if (error instanceof Error) return false;
    throw error;
  }
}

/** The subprotocols of a WebSocket that is asked for; undefined for all other requests. */
export function webSocketProtocolsOf(exchange: Exchange): readonly string[] | undefined {
  if (!exchange.isUpgrade || exchange.header('upgrade')?.toLowerCase() !== 'websocket') return undefined;
  return subprotocolsIn(exchange.headerValues('sec-websocket-protocol'));
}

/** Accepts the WebSocket. Undefined: it was refused, and that was answered. `content`: what messages are. */
export function openWebSocket(exchange: Exchange, content: 'text' | 'binary'): ResponseStream | undefined {
  const offer = offerOf(exchange);
  if (isRefused(exchange, offer)) return undefined;
  const { request, socket, head } = exchange.takeOver();
  // As they were looked at: the first of several counts.
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
  /** But for tokens. */
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

/** Of 16 bytes. */
const keyPattern = /^[+/0-9A-Za-z]{22}==$/;

/** In the words of Go's library. */
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
  // Nobody says which of several would be spoken.
  return protocols.length > 1 && refuse(400, '');
}

function webSocketStream(webSocket: WebSocket, socket: Socket, content: 'text' | 'binary'): ResponseStream {
  const isClosed = (): boolean => webSocket.readyState !== webSocket.OPEN || socket.destroyed;
  const isBinary = content === 'binary';
  // Told by the end of the connection too; without a listener it would end the process.
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
