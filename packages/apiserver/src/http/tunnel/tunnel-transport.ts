// TunnelTransport connects this server to kubelets, pods and endpoints; each request gets a new connection. Used by
// tunnel-request.ts. Source: pkg/kubelet/client (transportConfig), net/http DefaultTransport (for the timeouts).
import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Clock } from '@kapstan/api';
import { checkCertificateNames } from '../../peer/certificate-names.ts';
import { DialError, dialError } from '../../peer/dial-error.ts';
import type { Destination } from '../../registry/definition/destination.ts';

/** Settings for connections to kubelets, for logs, exec and port-forward. */
export interface KubeletOptions {
  /** Certificate that this server presents to kubelets, in PEM; its key is the next option. Default none. */
  readonly clientCert?: string | undefined;
  readonly clientKey?: string | undefined;
  /** Certificates of the authorities that sign kubelets' certificates, in PEM. Absent = any certificate is accepted. */
  readonly ca?: string | undefined;
  /** Longest time to connect, with the handshake, in milliseconds. 0 = as for proxies: 30 000. Default 0. */
  readonly timeoutMs?: number | undefined;
}

/** The certificate that this server presents to kubelets, and the authorities that verify theirs. */
export type KubeletCertificates = Pick<KubeletOptions, 'clientCert' | 'clientKey' | 'ca'>;

export interface TunnelTransportOptions extends KubeletOptions {
  readonly clock: Clock;
  /** Opens the connection below TLS. Default: TCP. */
  readonly dial?: ((address: { readonly host: string; readonly port: number }) => Socket) | undefined;
}

const defaultTimeoutMs = 30_000;
/** The system probes a silent connection after this time, which finds peers that vanished. */
const keepAliveMs = 30_000;

export class TunnelTransport {
  readonly #options: TunnelTransportOptions;
  #certificates: KubeletCertificates;

  constructor(options: TunnelTransportOptions) {
    this.#options = options;
    this.#certificates = options;
  }

  /** Uses other certificates for new connections to kubelets; each request makes one. */
  useCertificates(certificates: KubeletCertificates): void {
    this.#certificates = certificates;
  }

  /** Returns an open connection. Rejects with {@link DialError}, and with the signal's reason. */
  connect(destination: Destination, signal: AbortSignal): Promise<Socket> {
    const { timeoutMs = 0, clock } = this.#options;
    const limitMs = destination.peer === 'anyone' || timeoutMs === 0 ? defaultTimeoutMs : timeoutMs;
    const { promise, resolve, reject } = settler<Socket>();
    const plain = this.#dial(destination);
    const socket = destination.scheme === 'http' ? plain : this.#secure(plain, destination);
    const fail = (error: Error): void => {
      // TLS reports errors of the plain socket; without a listener they would end the process.
      reject(error instanceof DialError ? error : dialError(error, destination));
      socket.destroy();
      plain.destroy();
    };
    const cancel = clock.setTimer(() => {
      const error: NodeJS.ErrnoException = new Error('timeout');
      fail(dialError(Object.assign(error, { code: 'ETIMEDOUT', syscall: 'connect' }), destination));
    }, limitMs);
    const onAbort = (): void => {
      reject(signal.reason);
      socket.destroy();
      plain.destroy();
    };
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    socket.once('error', fail);
    if (socket !== plain) plain.on('error', fail);
    socket.once('close', () => fail(new Error('socket hang up')));
    socket.once(destination.scheme === 'http' ? 'connect' : 'secureConnect', () => resolve(socket));
    return promise.finally(() => {
      cancel();
      signal.removeEventListener('abort', onAbort);
      socket.off('error', fail);
      // Until the new owner listens, an error must not go unhandled.
      socket.on('error', () => undefined);
    });
  }

  #dial({ host, port }: Destination): Socket {
    const { dial } = this.#options;
    if (dial !== undefined) return dial({ host, port });
    return connect({
      host,
      port,
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: keepAliveMs,
      allowHalfOpen: true,
    });
  }

  #secure(socket: Socket, { host, peer }: Destination): Socket {
    const { clientCert, clientKey, ca } = this.#certificates;
    const isVerified = peer === 'kubelet' && ca !== undefined;
    return connectTls({
      socket,
      host,
      ALPNProtocols: ['http/1.1'],
      ...(isIP(host) === 0 && { servername: host }),
      ...(peer !== 'anyone' && clientCert !== undefined && { cert: clientCert, key: clientKey }),
      rejectUnauthorized: isVerified,
      checkServerIdentity: checkCertificateNames,
      ...(isVerified && { ca }),
    });
  }
}

function settler<T>(): {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (reason: unknown) => void;
} {
  let resolve: (value: T) => void = () => undefined;
  let reject: (reason: unknown) => void = () => undefined;
  const promise = new Promise<T>((onValue, onReason) => {
    resolve = onValue;
    reject = onReason;
  });
  return { promise, resolve, reject };
}
