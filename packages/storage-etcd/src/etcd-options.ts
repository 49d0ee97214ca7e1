// Options of the engine over etcd, with their defaults and limits. Used by etcd-engine.ts.
import { type Clock, type Logger, silentLogger, systemClock } from '@kapstan/api';
import type { EtcdUser } from './auth-token.ts';

/** Certificates of connections to etcd. */
export interface EtcdTls {
  /** Certificate authorities used to verify the members, PEM. Default: Node's authorities. */
  readonly ca?: Buffer | undefined;
  /** This client's certificate and key, PEM; both or neither. */
  readonly cert?: Buffer | undefined;
  readonly key?: Buffer | undefined;
}

/** Options of an {@link EtcdEngine}: members, TLS, user, times. */
export interface EtcdEngineOptions {
  /**
   * At least one member: `http://host:port`, `https://host:port`, or `host:port`, which means https when `tls` is
   * given.
   */
  readonly endpoints: readonly string[];
  /** Required for https unless a public authority signed the members' certificates. */
  readonly tls?: EtcdTls | undefined;
  /** Default: no user. With TLS, etcd may take the certificate's name for the user. */
  readonly user?: EtcdUser;
  /**
   * Prefix of this server's keys (`--etcd-prefix`), with or without slashes at its ends. Used for the health check and
   * for reading the revision; keys are not changed by it. Default "/registry".
   */
  readonly prefix?: string;
  /**
   * Clock for deadlines, leases, retries and compaction; gRPC's keep-alive has its own. Default {@link systemClock}.
   */
  readonly clock?: Clock;
  /** Default: nothing is logged. */
  readonly logger?: Logger;
  /** Time to connect when opening, in ms, at least 1. Default 20 000. */
  readonly dialTimeoutMs?: number;
  /**
   * Time limit for a call with its retries, in ms, at least 1. Default 10 000: more than etcd itself gives a request
   * (about 7 s).
   */
  readonly callTimeoutMs?: number;
  /** Time for a health check, in ms, at least 1. Default 2 000. */
  readonly healthTimeoutMs?: number;
  /** Time for the readiness check, in ms, at least 1. Default 2 000. */
  readonly readinessTimeoutMs?: number;
  /**
   * Silence on a connection after which the member is pinged, in ms; etcd refuses less than 5 000. Default 30 000.
   * Source: apiserver storage/storagebackend/factory/etcd3.go (keepaliveTime).
   */
  readonly keepAliveMs?: number;
  /** Time for the answer to that ping, in ms, at least 1; without one the connection is closed. Default 10 000. */
  readonly keepAliveTimeoutMs?: number;
  /**
   * Maximum size of a commit that is sent, in bytes, at least 1; larger ones are refused as `TooLarge`. etcd has a
   * limit too, 1.5 MiB by default. Default 2 097 152, as in etcd's own client.
   */
  readonly maxRequestBytes?: number;
  /**
   * Maximum size of an accepted answer, in bytes, at least 1; larger ranges are read in pages. Watches have no limit.
   * Default 4 194 304.
   */
  readonly maxMessageBytes?: number;
  /**
   * Time between two compactions, in ms; history is kept for one to two intervals. 0 = no compaction. Default 300 000.
   */
  readonly compactionIntervalMs?: number;
}

const defaults = {
  prefix: '/registry',
  clock: systemClock,
  logger: silentLogger,
  dialTimeoutMs: 20_000,
  callTimeoutMs: 10_000,
  healthTimeoutMs: 2_000,
  readinessTimeoutMs: 2_000,
  keepAliveMs: 30_000,
  keepAliveTimeoutMs: 10_000,
  maxRequestBytes: 2_097_152,
  maxMessageBytes: 4_194_304,
  compactionIntervalMs: 300_000,
} as const satisfies Omit<Required<EtcdEngineOptions>, 'endpoints' | 'tls' | 'user'>;

export type ResolvedOptions = Required<Omit<EtcdEngineOptions, 'tls' | 'user'>> &
  Pick<EtcdEngineOptions, 'tls' | 'user'>;

const least = {
  dialTimeoutMs: 1,
  callTimeoutMs: 1,
  healthTimeoutMs: 1,
  readinessTimeoutMs: 1,
  keepAliveMs: 5_000,
  keepAliveTimeoutMs: 1,
  maxRequestBytes: 1,
  maxMessageBytes: 1,
  compactionIntervalMs: 0,
} as const;

/** Adds the defaults. Throws TypeError for options out of range. */
export function resolveOptions(options: EtcdEngineOptions): ResolvedOptions {
  const resolved = { ...defaults, ...options };
  for (const [name, minimum] of Object.entries(least) as [keyof typeof least, number][]) {
    const value = resolved[name];
    if (!Number.isSafeInteger(value) || value < minimum) {
      throw new TypeError(`${name} must be a whole number of at least ${minimum}, not ${value}`);
    }
  }
  const { cert, key } = options.tls ?? {};
  if ((cert === undefined) !== (key === undefined)) throw new TypeError('tls.cert and tls.key must be given together');
  if (options.user?.name === '') throw new TypeError('user.name must not be empty');
  return resolved;
}
