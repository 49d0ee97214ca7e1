// An API server behind a Service, simulated by the test: it records requests, and gives the answers that the test sets.
// Used for tests of the aggregator.
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { ApiRegistration } from '../aggregation/api-registration.ts';
import { selfSigned } from './self-signed.ts';

export type Answer = (request: IncomingMessage, response: ServerResponse) => void;

export interface ExtensionRequest {
  readonly method: string;
  readonly url: string;
  readonly rawHeaders: readonly string[];
  /** Common name of the client's certificate. "" = it presented none. */
  readonly commonName: string;
  readonly body: string;
}

export class ExtensionServer {
  answer: Answer = (_request, response) => void response.end('{}');
  /** Handles a request that asks for another protocol. */
  onUpgrade: (request: IncomingMessage, socket: Socket) => void = (_request, socket) => void socket.destroy();
  readonly asked: ExtensionRequest[] = [];
  /** Connections made so far. */
  connections = 0;
  readonly ca: string;
  readonly #server: Server;

  private constructor(server: Server, ca: string) {
    this.#server = server;
    this.ca = ca;
    server.on('secureConnection', () => {
      this.connections += 1;
    });
    server.on('upgrade', (request, socket) => this.onUpgrade(request, socket as Socket));
    server.on('request', (request, response) => void this.#handle(request, response));
  }

  /** `clientCa`: authorities that clients see named. */
  static async start(clientCa?: string): Promise<ExtensionServer> {
    const { cert, key } = await selfSigned('CN=ext', ['api.ns.svc']);
    const server = createServer({ cert, key, requestCert: true, rejectUnauthorized: false, ca: clientCa });
    server.on('tlsClientError', () => undefined);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new ExtensionServer(server, cert);
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Returns an available registration of example.com/v1 at this server. */
  registration(changes: Partial<NonNullable<ApiRegistration['remote']>> = {}): ApiRegistration {
    const service = { namespace: 'ns', name: 'api', port: 443 };
    const remote = { service, caBundle: this.ca, skipsVerification: false, isAvailable: true, ...changes };
    const version = { name: 'v1.example.com', group: 'example.com', version: 'v1' };
    return { ...version, groupPriority: 2000, versionPriority: 10, remote };
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    request.on('error', () => undefined);
    request.on('data', (piece: Buffer) => pieces.push(piece));
    await new Promise((resolve) => request.once('close', resolve).once('end', resolve));
    const { method = '', url = '', rawHeaders } = request;
    const { subject } = (request.socket as TLSSocket).getPeerCertificate() ?? {};
    const commonName = String(subject?.CN ?? '');
    this.asked.push({ method, url, rawHeaders, commonName, body: Buffer.concat(pieces).toString() });
    this.answer(request, response);
  }
}
