// ApiServerOptions: what a server of a catalog is made of and bounded by, and what options that are absent stand for. Read by
// api-server.ts.
import type { Socket } from 'node:net';
import type { Clock, Logger } from '@kapstan/api';
import type { CallSignal } from '@kapstan/api/internal';
import type { Registry } from 'prom-client';
import type { AuthenticationOptions } from '../../authn/authenticator.ts';
import type { Authorizer } from '../../authz/authorizer.ts';
import type { ObjectPatching } from '../../registry/client/object-writes.ts';
import type { ResourceCatalog } from '../../registry/definition/catalog.ts';
import type { Page } from '../exchange/page.ts';
import type { HealthCheck } from '../paths/path-router.ts';
import type { AuditOptions } from '../request/request-audit.ts';
import type { KubeletOptions, TunnelTransportOptions } from '../tunnel/tunnel-transport.ts';
import type { ShutdownOptions } from './graceful-shutdown.ts';
import type { TlsOptions } from './http-server.ts';

export interface ApiServerOptions {
  readonly catalog: ResourceCatalog;
  readonly authentication: AuthenticationOptions;
  readonly authorizer: Authorizer;
  /**
   * Resources that this server keeps and shows but does not act on, as "resource.group", each with what whoever creates or changes one
   * is warned of. Default none.
   */
  readonly writeWarnings?: ReadonlyMap<string, string>;
  /** Of the field manager that the stores of the catalog track managed fields with. */
  readonly patching: ObjectPatching;
  /** Absent = plain HTTP/1.1, for tests. */
  readonly tls?: TlsOptions;
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** 0 or absent = any free one. */
  readonly port?: number;
  /** Checks of /readyz, /livez and /healthz beside ping. */
  readonly healthChecks?: readonly HealthCheck[];
  /** How long /livez takes parts of the start that are not done for healthy, in milliseconds. Default 0. */
  readonly livezGraceMs?: number;
  /** What /metrics shows beside the numbers of the HTTP layer. Default none. */
  readonly metrics?: readonly Pick<Registry, 'metrics'>[];
  /** Paths outside the API that are served too. Default none. */
  readonly pages?: readonly Page[];
  /** Largest body of a request, in bytes. Default 3 145 728. */
  readonly maxBodyBytes?: number;
  /**
   * Whether objects that cannot be read may be deleted with ignoreStoreReadErrorWithClusterBreakingPotential; when not, that
   * option is ignored. Default false, as the feature gate AllowUnsafeMalformedObjectDeletion.
   */
  readonly allowsUnsafeDeletion?: boolean;
  /**
   * Reads at once; 0 = no limit. Default 400. When so many run they are shared: a user who has fewer than his share waits for a
   * place, at most a quarter of the time of a request; who has his share gets 429. Neither holds for system:masters and probes.
   */
  readonly maxRequestsInflight?: number;
  /** Writes at once, as above; 0 = no limit. Default 200. */
  readonly maxMutatingRequestsInflight?: number;
  /** Longest time for a request that is no watch, in milliseconds; writes get at most 34 000. Default 60 000. */
  readonly requestTimeoutMs?: number;
  /** Shortest time after which a watch without a timeout is ended, in milliseconds. Default 1 800 000. */
  readonly minWatchMs?: number;
  /**
   * What may come for a watcher whose socket takes nothing for 500 ms, in bytes, before its connection is cut. Eight times
   * that may wait for one that reads slowly; then its watch ends in peace. Default 4 194 304.
   */
  readonly maxWatchBufferBytes?: number;
  /**
   * What may wait in all watches of one user whose sockets are full, in bytes; shared bytes count once. The watch with the most is
   * cut first. 0 = no bound. Default 67 108 864.
   */
  readonly maxUserWatchBufferBytes?: number;
  /** The same for all watches of the server. 0 = no bound. Default 134 217 728. */
  readonly maxServerWatchBufferBytes?: number;
  /** How kubelets are reached. Default: with any certificate, showing none. */
  readonly kubelet?: KubeletOptions;
  /** Longest silence on the upgraded connection of an exec, a port-forward, …, in milliseconds; 0 = without end. Default 14 400 000. */
  readonly tunnelIdleMs?: number;
  /** Opens connections to kubelets, pods and endpoints. Default: by TCP. */
  readonly dial?: TunnelTransportOptions['dial'];
  /** Share of requests, in [0, 1], after which an HTTP/2 client is asked to connect anew. Default 0. */
  readonly goawayChance?: number;
  /** Requests at once on one HTTP/2 connection. Default 250. */
  readonly maxConcurrentStreams?: number;
  /** What is recorded of requests, and where. Default: nothing. */
  readonly audit?: AuditOptions;
  /** How long a close waits for running requests, in milliseconds. Default: the longest time that they may take. */
  readonly drainMs?: number;
  /** The steps of a close. Default: none but the end. */
  readonly shutdown?: ShutdownOptions;
  /** Called with each request before anything is done for it; what it throws is the answer. Default: nothing. */
  readonly onRequest?: (request: IncomingRequest) => void | Promise<void>;
  readonly clock?: Clock;
  readonly logger?: Logger;
  /** In [0, 1); spreads the ends of watches, and of connections. Default Math.random. */
  readonly random?: () => number;
}

/** A request as {@link ApiServerOptions.onRequest} sees it. */
export interface IncomingRequest {
  readonly method: string;
  /** Decoded, without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Aborts when the peer goes away or the answer is over. */
  readonly signal: CallSignal;
  /** The connection that it came on. */
  readonly socket: Pick<Socket, 'remotePort'> | undefined;
  /** Calls back when the answer is over or the connection is lost, at once where that was before. */
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

/** What options that are absent stand for. */
export const apiServerDefaults: Readonly<Record<DefaultedOption, number>> = {
  maxBodyBytes: 3_145_728,
  maxRequestsInflight: 400,
  maxMutatingRequestsInflight: 200,
  requestTimeoutMs: 60_000,
  minWatchMs: 1_800_000,
  maxWatchBufferBytes: 4_194_304,
  maxUserWatchBufferBytes: 67_108_864,
  maxServerWatchBufferBytes: 134_217_728,
  // As long as a kubelet keeps a silent stream. Source: streamingConnectionIdleTimeout.
  tunnelIdleMs: 14_400_000,
};
