// RemoteServer represents the API server behind one registration. It sends requests to it over pooled TLS connections,
// with this server's proxy certificate. Made by api-registrations.ts. Source: kube-aggregator handler_proxy.go,
// controllers/status/remote (BuildTransportConfig).
import { X509Certificate } from 'node:crypto';
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent } from 'node:https';
import { connect as connectTcp, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls, createSecureContext } from 'node:tls';
import { isDeepStrictEqual } from 'node:util';
import { checkCertificateNames } from '../peer/certificate-names.ts';
import { dialError } from '../peer/dial-error.ts';
import { type ResolveService, type ServiceAddress, serviceServerName } from '../peer/service-address.ts';
import { formatHostPort } from '../registry/definition/destination.ts';
import type { ApiRegistration, RemoteApi } from './api-registration.ts';

type HeaderList = readonly (readonly [name: string, value: string])[];

/** The certificate with which this server identifies itself to other API servers, PEM. */
export interface ProxyCertificate {
  /** In PEM. */
  readonly cert: string;
  readonly key: string;
}

export interface RemoteServerPorts {
  readonly resolveService: ResolveService;
  /** The certificate that this server presents to others. Undefined = none, so that they accept no identity from it. */
  readonly proxyCertificate: ProxyCertificate | undefined;
  /** Maximum number of requests under way at one server, including watches and upgraded connections. */
  readonly maxConnections: number;
}

export interface RemoteRequest {
  readonly method: string;
  /** Path with query, escaped. */
  readonly target: string;
  readonly headers: HeaderList;
  /** Sends the body and ends it. Undefined = there is none. */
  readonly send?: ((request: ClientRequest) => void) | undefined;
  readonly signal: AbortSignal;
}

/** The server takes no more requests for now. */
export class TooManyRemoteRequests extends Error {
  override readonly name = 'TooManyRemoteRequests';
}

/** The registration has a value that cannot be used, such as a CA bundle without certificates. */
export class UnusableRegistration extends Error {
  override readonly name = 'UnusableRegistration';
}

/**
 * Number of idle connections kept for one server, and how long they are kept. Source: client-go transport (idleConnsPerHost); shorter than
 * servers' own limits.
 */
const maxIdle = 25;
const idleMs = 30_000;
const keepAliveMs = 30_000;
/** Maximum number of certificates of authorities in one registration. */
const maxAuthorities = 100;

/** Another API server: its address and its TLS settings. */
export class RemoteServer {
  readonly remote: RemoteApi;
  #registration: ApiRegistration;
  readonly #ports: RemoteServerPorts;
  readonly #tls: ConnectionOptions;
  readonly #agent: Agent;
  /** The reason why the TLS settings cannot be used. */
  readonly #fault: string | undefined;
  #underWay = 0;

  constructor(registration: ApiRegistration, remote: RemoteApi, ports: RemoteServerPorts) {
    this.#registration = registration;
    this.remote = remote;
    this.#ports = ports;
    this.#fault = bundleFault(remote);
    // An agent without these settings would trust the system's authorities, but it is never used in that case.
    this.#tls = this.#fault === undefined ? tlsOptions(remote, ports.proxyCertificate) : { rejectUnauthorized: true };
    this.#agent = new Agent({
      ...(this.#tls as object),
      keepAlive: true,
      timeout: idleMs,
      maxFreeSockets: maxIdle,
      scheduling: 'lifo',
    });
  }

  get registration(): ApiRegistration {
    return this.#registration;
  }

  /** False: requests are answered 503 without asking the server. */
  get isAvailable(): boolean {
    return this.#registration.remote?.isAvailable === true;
  }

  /** Takes over a registration that leads to the same server with the same settings. Returns false for any other. */
  follow(registration: ApiRegistration): boolean {
    const isSame = registration.remote !== undefined && isDeepStrictEqual(way(registration.remote), way(this.remote));
    if (isSame) this.#registration = registration;
    return isSame;
  }

  /** Requests under way, with watches and upgraded connections. */
  get underWay(): number {
    return this.#underWay;
  }

  /** Throws UnusableRegistration. */
  requireUsable(): void {
    if (this.#fault !== undefined) throw new UnusableRegistration(this.#fault);
  }

  /** Finds an address of the server. Rejects when its Service has none. */
  resolve(): Promise<ServiceAddress> {
    return this.#ports.resolveService(this.remote.service);
  }

  /**
   * Sends a request and resolves to the head of the answer, whose body must be read or destroyed. Rejects with
   * DialError, TooManyRemoteRequests, UnusableRegistration, and the signal's reason.
   */
  async ask(address: ServiceAddress, asked: RemoteRequest): Promise<IncomingMessage> {
    this.requireUsable();
    const leave = this.#enter();
    try {
      for (;;) {
        const { answer, error } = await this.#send(address, asked);
        if (answer !== undefined) {
          answer.once('close', leave);
          return answer;
        }
        // The server closed an idle connection just as it was used. A body cannot be sent twice.
        if (error.isStale && asked.send === undefined && !asked.signal.aborted) continue;
        throw asked.signal.aborted ? asked.signal.reason : dialError(error.cause, this.#named(error.cause, address));
      }
    } catch (error) {
      leave();
      throw error;
    }
  }

  /** Opens a connection for a request that switches to another protocol. Rejects like {@link RemoteServer.ask}. */
  async connect(address: ServiceAddress, signal: AbortSignal): Promise<Socket> {
    this.requireUsable();
    signal.throwIfAborted();
    const leave = this.#enter();
    const { host, port } = address;
    const plain = connectTcp({ host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: keepAliveMs });
    const socket = connectTls({ ...this.#tls, socket: plain, ALPNProtocols: ['http/1.1'] });
    const end = (): void => {
      socket.destroy();
      plain.destroy();
    };
    socket.once('close', leave);
    plain.once('close', () => socket.destroy());
    signal.addEventListener('abort', end, { once: true });
    try {
      await new Promise<void>((resolve, reject) => {
        const fail = (error: NodeJS.ErrnoException): void => reject(dialError(error, this.#named(error, address)));
        plain.on('error', fail);
        socket.on('error', fail);
        socket.once('close', () => fail(new Error('socket hang up')));
        socket.once('secureConnect', resolve);
      });
      return socket;
    } catch (error) {
      end();
      throw signal.aborted ? signal.reason : error;
    } finally {
      signal.removeEventListener('abort', end);
    }
  }

  /** Cuts idle connections. Requests under way continue. */
  dropIdle(): void {
    for (const sockets of Object.values(this.#agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
  }

  /** Cuts all connections. Requests under way fail. Idempotent. */
  close(): void {
    this.#agent.destroy();
  }

  #enter(): () => void {
    const { maxConnections } = this.#ports;
    if (this.#underWay >= maxConnections) {
      const { name } = this.registration;
      throw new TooManyRemoteRequests(`too many requests to ${name} are under way (${this.#underWay})`);
    }
    this.#underWay += 1;
    let hasLeft = false;
    return () => {
      if (!hasLeft) this.#underWay -= 1;
      hasLeft = true;
    };
  }

  #send(address: ServiceAddress, { method, target, headers, send, signal }: RemoteRequest): Promise<Outcome> {
    return new Promise((resolve) => {
      const request = httpRequest({
        agent: this.#agent,
        protocol: 'https:',
        defaultPort: 443,
        host: address.host,
        port: address.port,
        method,
        path: target,
        setHost: false,
        signal,
      });
      request.setHeader('Host', formatHostPort(address.host, address.port));
      for (const [name, value] of headers) request.appendHeader(name, value);
      request.once('response', (answer) => resolve({ answer }));
      request.on('error', (cause: NodeJS.ErrnoException) => {
        const isCut = cause.code === 'ECONNRESET' || cause.code === 'EPIPE';
        resolve({ error: { cause, isStale: isCut && request.reusedSocket } });
      });
      if (send === undefined) request.end();
      else send(request);
    });
  }

  /** A certificate is for the name of the Service, whatever the address of its endpoint. */
  #named({ code }: NodeJS.ErrnoException, address: ServiceAddress): ServiceAddress {
    if (code !== 'ERR_TLS_CERT_ALTNAME_INVALID') return address;
    return { host: serviceServerName(this.remote.service), port: address.port };
  }
}

/** Returns the settings on which connections depend. */
function way({ service, caBundle, skipsVerification }: RemoteApi): object {
  return { service, caBundle, skipsVerification };
}

type Outcome =
  | { readonly answer: IncomingMessage; readonly error?: never }
  | {
      readonly answer?: never;
      readonly error: { readonly cause: NodeJS.ErrnoException; readonly isStale: boolean };
    };

function tlsOptions(
  { service, caBundle, skipsVerification }: RemoteApi,
  own: ProxyCertificate | undefined,
): ConnectionOptions {
  return {
    servername: serviceServerName(service),
    rejectUnauthorized: !skipsVerification,
    // The context is made once, because reading many authorities takes long, and because agents would compare them as text.
    secureContext: createSecureContext({ ca: caBundle, cert: own?.cert, key: own?.key }),
    checkServerIdentity: checkCertificateNames,
  };
}

/** Source: client-go transport (rootCertPool, createErrorParsingCAData). */
function bundleFault({ caBundle, skipsVerification }: RemoteApi): string | undefined {
  if (caBundle === undefined || skipsVerification) return undefined;
  const blocks = caBundle.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  if (blocks.length === 0) return 'unable to load root certificates: unable to parse bytes as PEM block';
  // Reading a thousand certificates would block all other requests for a second.
  if (blocks.length > maxAuthorities) return `unable to load root certificates: more than ${maxAuthorities} of them`;
  return blocks.some(isCertificate) ? undefined : 'unable to load root certificates: failed to parse certificate';
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0;
  } catch (error) {
    if (error instanceof Error) return false;
    throw error;
  }
}
