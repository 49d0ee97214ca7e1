// ApiServerOptions: the parts and limits of a server of a catalog, and the defaults of absent options. Read by
// api-server.ts.
import type { Socket } from 'node:net';
import type { Clock, Logger } from '@kapstan/api';
import type { CallSignal, MetricsText } from '@kapstan/api/internal';
import type { ApiRegistrations } from '../../aggregation/api-registrations.ts';
import type { AuthenticationOptions } from '../../authn/authenticator.ts';
import type { Authorizer } from '../../authz/authorizer.ts';
import type { FlowControl } from '../../flowcontrol/flow-control.ts';
import type { ObjectPatching } from '../../registry/client/object-writes.ts';
import type { ResourceCatalog } from '../../registry/definition/catalog.ts';
import type { RequestTracer } from '../../tracing/request-tracer.ts';
import type { Page } from '../exchange/page.ts';
import type { HealthCheck } from '../paths/path-router.ts';
import type { AuditOptions } from '../request/request-audit.ts';
import type { RequestLog } from '../request/request-log.ts';
import type { KubeletOptions, TunnelTransportOptions } from '../tunnel/tunnel-transport.ts';
import type { ShutdownOptions } from './graceful-shutdown.ts';
import type { TlsOptions } from './http-server.ts';

/** Options of an API server: its resources, access rules, address and limits. */
export interface ApiServerOptions {
  readonly catalog: ResourceCatalog;
  readonly authentication: AuthenticationOptions;
  readonly authorizer: Authorizer;
  /** Group versions that other API servers serve. The caller fills and closes it. Default: none. */
  readonly aggregation?: ApiRegistrations | undefined;
  /**
   * Resources that this server stores but does not act on, as "resource.group", each with the warning for clients that
   * create or change one. Default none.
   */
  readonly writeWarnings?: ReadonlyMap<string, string> | undefined;
  /** Patching by the field manager with which the stores of the catalog track managed fields. */
  readonly patching: ObjectPatching;
  /** Absent = plain HTTP/1.1, for tests. */
  readonly tls?: TlsOptions | undefined;
  /** Default 127.0.0.1. */
  readonly host?: string | undefined;
  /** 0 or absent = any free port. */
  readonly port?: number | undefined;
  /** Checks of /readyz, /livez and /healthz in addition to ping. */
  readonly healthChecks?: readonly HealthCheck[] | undefined;
  /** Time for which /livez counts unfinished parts of the start as healthy, in milliseconds. Default 0. */
  readonly livezGraceMs?: number | undefined;
  /** Metrics that /metrics shows in addition to those of the HTTP layer. Default none. */
  readonly metrics?: readonly MetricsText[] | undefined;
  /** Pages served outside the API. Default none. */
  readonly pages?: readonly Page[] | undefined;
  /** Largest body of a request, in bytes. Default 3 145 728. */
  readonly maxBodyBytes?: number | undefined;
  /**
   * True: objects that cannot be read may be deleted with ignoreStoreReadErrorWithClusterBreakingPotential. False: that
   * option is ignored. Default false, as the feature gate AllowUnsafeMalformedObjectDeletion.
   */
  readonly allowsUnsafeDeletion?: boolean | undefined;
  /**
   * Shares the server's seats among flows of requests. The caller starts and closes it. Default: requests are only counted, by the next two
   * options.
   */
  readonly flowControl?: FlowControl | undefined;
  /**
   * Maximum number of concurrent reads; 0 = no limit. Default 400. Further ones get 429, except for members of system:masters. Not used
   * with flowControl.
   */
  readonly maxRequestsInflight?: number | undefined;
  /** Maximum number of concurrent writes, limited in the same way; 0 = no limit. Default 200. */
  readonly maxMutatingRequestsInflight?: number | undefined;
  /** Longest time of a request other than a watch, in milliseconds; writes get at most 34 000. Default 60 000. */
  readonly requestTimeoutMs?: number | undefined;
  /** Shortest time before a watch without a timeout is ended, in milliseconds. Default 1 800 000. */
  readonly minWatchMs?: number | undefined;
  /**
   * Bytes that may queue for a watcher whose socket has taken nothing for 500 ms before its connection is cut. Eight
   * times as much may queue for one that reads slowly; then its watch ends normally. Default 4 194 304.
   */
  readonly maxWatchBufferBytes?: number | undefined;
  /**
   * Bytes that may queue in all watches of one user whose sockets are full; shared bytes count once. The watch with the
   * most queued bytes is cut first. 0 = no limit. Default 67 108 864.
   */
  readonly maxUserWatchBufferBytes?: number | undefined;
  /** The same limit for all watches of the server. 0 = no limit. Default 134 217 728. */
  readonly maxServerWatchBufferBytes?: number | undefined;
  /** Settings for connections to kubelets. Default: any certificate is accepted and none is presented. */
  readonly kubelet?: KubeletOptions | undefined;
  /**
   * Longest silence on the upgraded connection of an exec, a port-forward or a similar request, in milliseconds; 0 = no
   * limit. Default 14 400 000.
   */
  readonly tunnelIdleMs?: number | undefined;
  /** Opens connections to kubelets, pods and endpoints. Default: TCP. */
  readonly dial?: TunnelTransportOptions['dial'] | undefined;
  /** Share of requests, in [0, 1], after which an HTTP/2 client is asked to reconnect. Default 0. */
  readonly goawayChance?: number | undefined;
  /** Maximum number of concurrent requests on one HTTP/2 connection. Default 250. */
  readonly maxConcurrentStreams?: number | undefined;
  /** Says which requests are recorded, and where. Default: none. */
  readonly audit?: AuditOptions | undefined;
  /**
   * Flags of the program, for /flagz: values by name, without secrets. Every user who may read the path sees all of
   * them. Default: the path does not exist.
   */
  readonly flags?: ReadonlyMap<string, string> | undefined;
  /** False: /statusz does not exist. Default true. */
  readonly hasStatusz?: boolean | undefined;
  /** Traces requests. Default: none is traced. */
  readonly tracer?: RequestTracer | undefined;
  /** Records each request and its steps for the inspector. The caller closes it. Default: nothing is recorded. */
  readonly requestLog?: RequestLog | undefined;
  /** Maximum wait of a close for running requests, in milliseconds. Default: the maximum duration of a request. */
  readonly drainMs?: number | undefined;
  /** The steps of a close. Default: running requests end, then the server closes. */
  readonly shutdown?: ShutdownOptions | undefined;
  /**
   * Called with each request before anything else is done with it; an error it throws becomes the answer. Default:
   * nothing.
   */
  readonly onRequest?: ((request: IncomingRequest) => void | Promise<void>) | undefined;
  readonly clock?: Clock | undefined;
  readonly logger?: Logger | undefined;
  /** Returns a number in [0, 1) that spreads the ends of watches and connections. Default Math.random. */
  readonly random?: (() => number) | undefined;
}

/** A request as {@link ApiServerOptions.onRequest} sees it. */
export interface IncomingRequest {
  readonly method: string;
  /** The decoded path, without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Aborts when the peer goes away or the answer is over. */
  readonly signal: CallSignal;
  /** The connection on which the request arrived. */
  readonly socket: Pick<Socket, 'remotePort'> | undefined;
  /** Calls back when the answer is over or the connection is lost; at once if that has happened already. */
  onClose(callback: () => void): void;
}

type DefaultedOption =
  | 'maxBodyBytes'
  | 'maxRequestsInflight'
  | 'maxMutatingRequestsInflight'
  | 'requestTimeoutMs'
  | 'minWatchMs'
  | 'maxWatchBufferBytes'
  | 'maxUserWatchBufferBytes'
  | 'maxServerWatchBufferBytes'
  | 'tunnelIdleMs';

/** Values of absent options. */
export const apiServerDefaults: Readonly<Record<DefaultedOption, number>> = {
  maxBodyBytes: 3_145_728,
  maxRequestsInflight: 400,
  maxMutatingRequestsInflight: 200,
  requestTimeoutMs: 60_000,
  minWatchMs: 1_800_000,
  maxWatchBufferBytes: 4_194_304,
  maxUserWatchBufferBytes: 67_108_864,
  maxServerWatchBufferBytes: 134_217_728,
  // A kubelet keeps a silent stream for as long. Source: streamingConnectionIdleTimeout.
  tunnelIdleMs: 14_400_000,
};
