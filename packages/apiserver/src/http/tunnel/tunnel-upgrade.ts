// Passes a request for another protocol on to a peer. The client gets the peer's answer unchanged; then both talk to
// each other directly. Used by connect-handler.ts and by the proxy of aggregated API servers. Source: apimachinery
// pkg/util/proxy (UpgradeAwareHandler.tryUpgrade).
import { request as httpRequest, type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { pipeline } from 'node:stream';
import type { Clock } from '@kapstan/api';
import { abortSignalOf } from '@kapstan/api/internal';
import { dialError } from '../../peer/dial-error.ts';
import { type Destination, escapePath } from '../../registry/definition/destination.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { type HeaderList, pairsOf, requestHeaders } from './tunnel-headers.ts';
import type { TunnelRegistry } from './tunnel-registry.ts';
import { joinSockets } from './tunnel-sockets.ts';

/** The destination of the request. */
export type UpgradeTarget = Pick<Destination, 'host' | 'port' | 'path' | 'query'>;

/** Opens connections for upgraded requests. */
interface UpgradeTransport<T extends UpgradeTarget> {
  /** Rejects with DialError, and with the signal's reason. */
  connect(target: T, signal: AbortSignal): Promise<Socket>;
}

export interface TunnelPorts<T extends UpgradeTarget> {
  readonly clock: Clock;
  readonly transport: UpgradeTransport<T>;
  readonly tunnels: TunnelRegistry;
  /** Longest silence on an upgraded connection, in milliseconds; 0 = no limit. */
  readonly tunnelIdleMs: number;
  /** Returns the headers for the peer, given the client's headers. Default: the client's. */
  readonly headers?: ((client: HeaderList) => HeaderList) | undefined;
}

/** Time for a client to take a peer's refusal before the connection is cut. */
const refusalMs = 10_000;

interface PeerAnswer {
  readonly response: IncomingMessage;
  /** Absent = the peer stays with HTTP. */
  readonly upgrade?: { readonly socket: Socket; readonly head: Uint8Array };
}

/** Resolves when the tunnel is open or the peer's refusal is being sent. Rejects with an earlier error. */
export async function tunnelUpgrade<T extends UpgradeTarget>(
  exchange: Exchange,
  connection: T,
  ports: TunnelPorts<T>,
): Promise<void> {
  const { response, upgrade } = await askPeer(exchange, connection, ports);
  const { statusCode = 0 } = response;
  if (upgrade === undefined && statusCode < 400) {
    response.destroy();
    throw new Error(`invalid upgrade response: status code ${statusCode}`);
  }
  if (exchange.signal.aborted) {
    upgrade?.socket.destroy();
    response.destroy();
    return;
  }
  const client = exchange.takeOver();
  if (upgrade === undefined) return relayRefusal(client.socket, response, ports);
  client.socket.write(formatHead(statusCode, response.statusMessage, pairsOf(response.rawHeaders)));
  client.socket.write(upgrade.head);
  upgrade.socket.write(client.head);
  const end = joinSockets(client.socket, upgrade.socket, { clock: ports.clock, idleMs: ports.tunnelIdleMs });
  const leave = ports.tunnels.add(end);
  client.socket.once('close', leave);
}

async function askPeer<T extends UpgradeTarget>(
  exchange: Exchange,
  connection: T,
  ports: TunnelPorts<T>,
): Promise<PeerAnswer> {
  const refuse = (error: NodeJS.ErrnoException): Error =>
    new Error(`error dialing backend: ${dialError(error, connection).message}`, { cause: error });
  const signal = abortSignalOf(exchange.signal);
  const dialed = await ports.transport.connect(connection, signal).catch((error: Error) => {
    throw signal.aborted ? error : new Error(`error dialing backend: ${error.message}`, { cause: error });
  });
  const { path, query = '' } = connection;
  const target = `${escapePath(path === '' ? '/' : path)}${query === '' ? '' : `?${query}`}`;
  const client = exchange.socket?.remoteAddress;
  const passed = requestHeaders({ rawHeaders: exchange.rawHeaders, client, scope: 'connection' });
  const request = httpRequest({
    method: exchange.method,
    path: target,
    createConnection: () => dialed,
    setHost: false,
    signal,
  });
  for (const [name, value] of ports.headers?.(passed) ?? passed) request.appendHeader(name, value);
  return new Promise((resolve, reject) => {
    request.once('upgrade', (response, socket, head) =>
      resolve({ response, upgrade: { socket: socket as Socket, head } }),
    );
    request.once('response', (response) => {
      response.once('close', () => dialed.destroy());
      resolve({ response });
    });
    request.on('error', (error) => {
      dialed.destroy();
      reject(refuse(error));
    });
    request.end();
  });
}

/** Sends the peer's refusal as it is, then ends the connection. */
function relayRefusal(
  client: Socket,
  response: IncomingMessage,
  { clock, tunnels }: Pick<TunnelPorts<UpgradeTarget>, 'clock' | 'tunnels'>,
): void {
  const headers = pairsOf(response.rawHeaders).filter(([name]) => !/^(?:connection|transfer-encoding)$/i.test(name));
  client.write(formatHead(response.statusCode ?? 0, response.statusMessage, [...headers, ['Connection', 'close']]));
  const end = (): void => {
    response.destroy();
    client.destroy();
  };
  const leave = tunnels.add(end);
  const cancel = clock.setBackgroundTimer(end, refusalMs);
  pipeline(response, client, () => {
    cancel();
    leave();
    client.destroySoon();
  });
}

function formatHead(status: number, text: string | undefined, headers: HeaderList): Buffer {
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return Buffer.from(`HTTP/1.1 ${status} ${text ?? STATUS_CODES[status] ?? ''}\r\n${lines}\r\n`, 'latin1');
}
