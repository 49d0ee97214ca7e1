// Configuration of a client: how to reach one cluster (ClientConfig), and how the client itself behaves (ClientOptions).

import { inspect } from 'node:util';
import { type Clock, type Logger, systemClock, type WriteObserver } from '@kapstan/api';
import {
  checkedElsewhere,
  type OptionTable,
  objectWith,
  optional,
  requireBoolean,
  requireClock,
  requireFunction,
  requireLogger,
  requireNotNegative,
  requireObject,
  requireOptions,
  requireString,
  requireTracing,
  type TracingOptions,
} from '@kapstan/api/internal';
import type { TlsConfig } from '../connection/tls-config.ts';
import type { Credentials } from '../credentials/credentials.ts';
import type { ExecConfig } from '../credentials/exec-plugin.ts';
import type { OidcConfig } from '../credentials/oidc.ts';
import { processLogger } from '../guards/process-logger.ts';
import type { RateLimit } from '../transport/rate-limiter.ts';
import type { RequestDiagnostics } from '../transport/request-diagnostics.ts';
import type { WarningHandler } from '../transport/warnings.ts';

/** Acts as another user; the server checks that this is allowed. */
export interface Impersonation {
  readonly user?: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** One cluster and one identity. Set at most one of token/tokenFile, username, exec, oidc and credentials. */
export interface ClientConfig {
  /** URL, "host:port" or "host". A path in it is a prefix of every request's path. */
  readonly server: string;
  /** The context's namespace; the client never fills it in by itself. Default "default". */
  readonly namespace?: string | undefined;
  readonly tls?: TlsConfig | undefined;
  readonly token?: string | undefined;
  /** Takes precedence over `token`; re-read about once a minute and after a 401. */
  readonly tokenFile?: string | undefined;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  readonly exec?: ExecConfig | undefined;
  readonly oidc?: OidcConfig | undefined;
  readonly credentials?: Credentials | undefined;
  readonly impersonate?: Impersonation | undefined;
  /** http, https or socks5 proxy. Default: HTTPS_PROXY, HTTP_PROXY and NO_PROXY; "" = no proxy, whatever these variables say. */
  readonly proxyUrl?: string | undefined;
  /** True = requests no compressed answers, unless the client's option `compression` is true. Default false. */
  readonly disableCompression?: boolean | undefined;
}

/** Options of a {@link Client}: the server, credentials, TLS, times and limits. */
export interface ClientOptions {
  /** Default: "<script>/kapstan-<version> (<os>/<arch>)". The part before the slash is the default field manager. */
  readonly userAgent?: string;
  /** Default: the system's. */
  readonly clock?: Clock;
  /** Default: warnings and errors become process warnings; the rest is dropped. */
  readonly logger?: Logger;
  /**
   * Called for each warning of the server (deprecated versions, unknown fields). Default: `logger.warn`, once per client for each text. `()
   * => undefined` silences them. Errors that it throws are logged.
   */
  readonly onWarning?: WarningHandler;
  /**
   * Called for each attempt of a request, with the message of the diagnostics channel "kapstan:client:request". Errors that it throws are
   * logged.
   */
  readonly onRequest?: (request: RequestDiagnostics) => void;
  /** Notified of every successful write, except dry runs. Errors that it throws are logged. */
  readonly writeObserver?: WriteObserver;
  /** Time for a call with all its retries, in milliseconds. 0 = no limit. Default 30 000. */
  readonly timeoutMs?: number;
  /** Like timeoutMs, for lists and collection deletes. 0 = no limit. Default 120 000. */
  readonly listTimeoutMs?: number;
  /** Time until a watch or log answers with headers, in milliseconds. 0 = no limit. Default 60 000. The stream itself has no limit. */
  readonly openTimeoutMs?: number;
  /** Number of retries after a 429 or 5xx with Retry-After, and of a GET whose connection broke. 0 = none. Default 10. */
  readonly maxRetries?: number;
  /** Client-side limit, shared by all calls. Default: none. */
  readonly rateLimit?: RateLimit;
  /** Maximum size of a watch event in bytes. Default 16 MiB. */
  readonly maxEventBytes?: number;
  /** Items per page in `list()`. 0 = all at once. Default 500. */
  readonly pageSize?: number;
  /**
   * True = equal parts of the objects in a cache (`listerWatcher`, informers) become one shared, frozen value. This saves CPU and half of
   * the memory where controllers have ten replicas or more each; on the pods of a typical cluster it saves a tenth. False = each object is
   * parsed on its own. Default false. Source: docs/decisions/0016-equal-parts-are-shared.md.
   */
  readonly sharesEqualParts?: boolean;
  /**
   * Makes a span of each attempt of a call, and sends its `traceparent`, once a tracer provider is registered. Default: only calls whose
   * options name a tracer are traced, such as the calls of a traced reconcile.
   */
  readonly tracing?: TracingOptions | undefined;
  /**
   * True = calls request answers in gzip, which a Kubernetes API server sends from 128 KiB on. Watches and logs never do. 'auto' = true
   * unless the server is on this machine (a loopback address, reached without a proxy) or the configuration has `disableCompression`.
   * Default 'auto'.
   */
  readonly compression?: boolean | 'auto';
  /**
   * True = calls and watches share HTTP/2 connections if the server supports this over TLS; otherwise HTTP/1.1 is used. Exec, attach and
   * port-forward always use HTTP/1.1. The variable DISABLE_HTTP2 turns it off. Default false. Source: docs/decisions/0041-far-clusters.md.
   */
  readonly http2?: boolean;
}

export interface ResolvedClientOptions
  extends Required<
      Omit<ClientOptions, 'userAgent' | 'onWarning' | 'onRequest' | 'writeObserver' | 'rateLimit' | 'tracing'>
    >,
    Pick<ClientOptions, 'userAgent' | 'onWarning' | 'onRequest' | 'writeObserver' | 'rateLimit' | 'tracing'> {}

/** The defaults documented above. */
export const clientDefaults: Readonly<Record<DefaultedNumber, number>> = {
  timeoutMs: 30_000,
  listTimeoutMs: 120_000,
  openTimeoutMs: 60_000,
  maxRetries: 10,
  maxEventBytes: 16_777_216,
  pageSize: 500,
};

type DefaultedNumber = 'timeoutMs' | 'listTimeoutMs' | 'openTimeoutMs' | 'maxRetries' | 'maxEventBytes' | 'pageSize';

export const clientTable: OptionTable<ClientOptions> = {
  timeoutMs: optional(requireNotNegative),
  listTimeoutMs: optional(requireNotNegative),
  openTimeoutMs: optional(requireNotNegative),
  maxRetries: optional(requireNotNegative),
  maxEventBytes: optional(requireNotNegative),
  pageSize: optional(requireNotNegative),
  userAgent: optional(requireString),
  clock: requireClock,
  logger: requireLogger,
  onWarning: requireFunction,
  onRequest: requireFunction,
  writeObserver: optional(objectWith('observeWrite')),
  // The transport checks it.
  rateLimit: checkedElsewhere,
  sharesEqualParts: optional(requireBoolean),
  tracing: requireTracing,
  compression: optional(requireCompression),
  http2: optional(requireBoolean),
};

/** Fills in the defaults. Throws TypeError for a value that is not a non-negative number, and for a callback that is not a function. */
export function resolveClientOptions(options: ClientOptions): ResolvedClientOptions {
  requireObject(options, 'options of a client');
  requireOptions(options, clientTable, 'a client');
  return {
    clock: systemClock,
    logger: processLogger,
    sharesEqualParts: false,
    compression: 'auto',
    http2: false,
    ...clientDefaults,
    ...Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)),
  } as ResolvedClientOptions;
}

function requireCompression(compression: unknown): void {
  if (compression !== 'auto' && typeof compression !== 'boolean')
    throw new TypeError(`compression must be true, false or 'auto', not ${inspect(compression)}`);
}
