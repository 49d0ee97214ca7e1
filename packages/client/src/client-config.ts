// What a client needs to know about one cluster (ClientConfig) and about itself (ClientOptions).

import { type Clock, type Logger, systemClock, type WriteObserver } from '@kapstan/api';
import {
  type OptionNames,
  requireCallbacks,
  requireClock,
  requireFunctions,
  requireKnownOptions,
  requireLogger,
  requireNotNegative,
  requireObject,
  requireString,
} from '@kapstan/api/internal';
import type { Credentials } from './credentials/credentials.ts';
import type { ExecConfig } from './credentials/exec-plugin.ts';
import type { OidcConfig } from './credentials/oidc.ts';
import { processLogger } from './process-logger.ts';
import type { TlsConfig } from './tls-config.ts';
import type { RateLimit } from './transport/rate-limiter.ts';
import type { RequestDiagnostics } from './transport/request-diagnostics.ts';
import type { WarningHandler } from './transport/warnings.ts';

/** Act as someone else; the server checks the right to do so. */
export interface Impersonation {
  readonly user?: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** One cluster and one identity. At most one of token/tokenFile, username, exec, oidc and credentials. */
export interface ClientConfig {
  /** URL, "host:port" or "host". A path is put before every request's path. */
  readonly server: string;
  /** The context's namespace; the client never fills it in by itself. Default "default". */
  readonly namespace?: string;
  readonly tls?: TlsConfig;
  readonly token?: string;
  /** Beats `token`; re-read about once a minute and after a 401. */
  readonly tokenFile?: string;
  readonly username?: string;
  readonly password?: string;
  readonly exec?: ExecConfig;
  readonly oidc?: OidcConfig;
  readonly credentials?: Credentials;
  readonly impersonate?: Impersonation;
  /** http, https or socks5 proxy. Default: HTTPS_PROXY, HTTP_PROXY and NO_PROXY; "" = none whatever the environment says. */
  readonly proxyUrl?: string;
}

export interface ClientOptions {
  /** Default: "<script>/kapstan-<version> (<os>/<arch>)". The part before the slash is the default field manager. */
  readonly userAgent?: string;
  /** Default: the system's. */
  readonly clock?: Clock;
  /** Default: warnings and errors are warnings of the process, all else is silent. */
  readonly logger?: Logger;
  /**
   * Called for each warning of the server (deprecated versions, unknown fields). Default: `logger.warn`, each text once a
   * client. `() => undefined` silences them. What it throws is logged.
   */
  readonly onWarning?: WarningHandler;
  /** Told of each attempt of a request, as the diagnostics channel "kapstan:client:request" is. What it throws is logged. */
  readonly onRequest?: (request: RequestDiagnostics) => void;
  /** Told of every write that succeeded (not of dry runs). What it throws is logged. */
  readonly writeObserver?: WriteObserver;
  /** Time for a call with all its retries, in milliseconds. 0 = no limit. Default 30 000. */
  readonly timeoutMs?: number;
  /** The same for lists and collection deletes. 0 = no limit. Default 120 000. */
  readonly listTimeoutMs?: number;
  /** Time for a watch or log to send its headers, in milliseconds. 0 = no limit. Default 60 000. The stream itself has none. */
  readonly openTimeoutMs?: number;
  /** Retries of an answer 429 or 5xx with Retry-After, and of a GET whose connection broke. 0 = none. Default 10. */
  readonly maxRetries?: number;
  /** Client-side limit, shared by all calls. Default: none. */
  readonly rateLimit?: RateLimit;
  /** Longest watch event, in bytes. Default 16 MiB. */
  readonly maxEventBytes?: number;
  /** Items a page in `list()`. 0 = all at once. Default 500. */
  readonly pageSize?: number;
  /**
   * Whether the objects of a cache (`listerWatcher`, informers) hold one frozen value for what they have in common: less CPU and
   * memory where controllers have many replicas. False: each object is parsed alone. Default true. See decision 0016.
   */
  readonly sharesEqualParts?: boolean;
}

export interface ResolvedClientOptions
  extends Required<Omit<ClientOptions, 'userAgent' | 'onWarning' | 'onRequest' | 'writeObserver' | 'rateLimit'>>,
    Pick<ClientOptions, 'userAgent' | 'onWarning' | 'onRequest' | 'writeObserver' | 'rateLimit'> {}

/** The values that stand in the doc comments above. */
export const clientDefaults: Readonly<Record<DefaultedNumber, number>> = {
  timeoutMs: 30_000,
  listTimeoutMs: 120_000,
  openTimeoutMs: 60_000,
  maxRetries: 10,
  maxEventBytes: 16_777_216,
  pageSize: 500,
};

type DefaultedNumber = 'timeoutMs' | 'listTimeoutMs' | 'openTimeoutMs' | 'maxRetries' | 'maxEventBytes' | 'pageSize';

export const clientOptionNames: OptionNames<ClientOptions> = {
  ...clientDefaults,
  userAgent: true,
  clock: true,
  logger: true,
  onWarning: true,
  onRequest: true,
  writeObserver: true,
  rateLimit: true,
  sharesEqualParts: true,
};

/** Fills in the defaults. Throws TypeError for a number that is negative or none, and for a callback that cannot be called. */
export function resolveClientOptions(options: ClientOptions): ResolvedClientOptions {
  requireObject(options, 'options of a client');
  requireKnownOptions(options, clientOptionNames, 'a client');
  const resolved = {
    clock: systemClock,
    logger: processLogger,
    sharesEqualParts: true,
    ...clientDefaults,
    ...Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)),
  } as ResolvedClientOptions;
  for (const name of Object.keys(clientDefaults) as DefaultedNumber[]) {
    requireNotNegative(resolved[name], name);
  }
  if (resolved.userAgent !== undefined) requireString(resolved.userAgent, 'userAgent');
  requireClock(resolved.clock);
  requireLogger(resolved.logger);
  requireCallbacks(resolved, ['onWarning', 'onRequest']);
  if (typeof resolved.sharesEqualParts !== 'boolean') throw new TypeError('sharesEqualParts must be a boolean');
  if (resolved.writeObserver !== undefined) requireFunctions(resolved.writeObserver, 'writeObserver', ['observeWrite']);
  return resolved;
}
