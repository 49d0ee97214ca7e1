// GracefulShutdown takes a server through the steps of its stop: not ready, closed to new requests, drained.
// request-chain.ts drives it and asks it about every request. Source: apiserver server/genericapiserver.go
// (RunWithContext), filters/with_retry_after.go, filters/waitgroup.go, filters/watch_termination.go (1.36).
import { type Clock, delay } from '@kapstan/api';
import { serviceUnavailable } from '@kapstan/api/errors';
import type { Exchange } from '../exchange/exchange.ts';
import { isLongRunning, type RequestInfo } from '../exchange/request-info.ts';
import { sendText, statusOf } from '../exchange/status-response.ts';
import type { HealthCheck } from '../paths/health.ts';
import type { YamlBodies } from '../request/yaml-bodies.ts';
import type { TunnelRegistry } from '../tunnel/tunnel-registry.ts';
import type { InitialSlices } from '../watch/initial-slices.ts';
import type { WatchRegistry } from '../watch/watch-registry.ts';
import type { HttpServer } from './http-server.ts';

/** Controls how the server ends: how long it still answers, and which requests it waits for. */
export interface ShutdownOptions {
  /**
   * Time for which a stopping server continues to serve, in milliseconds. Only /readyz fails at once, so that load
   * balancers have time to switch. Default 0.
   */
  readonly delayMs?: number;
  /**
   * True = while running requests end, new ones are accepted and answered with 429 and Retry-After, and their
   * connections end. False = no new connections are accepted, and requests on old connections get 503. Default false.
   */
  readonly sendsRetryAfter?: boolean;
  /**
   * Maximum time over which watches are ended one by one, in milliseconds: 200 per second, or more if that would be too
   * slow. 0 = all at once. Default 0.
   */
  readonly watchGraceMs?: number;
}

/** Paths of probes and scrapes, which are answered to the very end. Source: pathPrefixesExemptFromRetryAfter. */
const exemptPrefixes = ['/readyz', '/livez', '/healthz', '/metrics'];
/** Time for the last GOAWAY of HTTP/2 when no request is left. Source: ShutdownTimeout with ShutdownSendRetryAfter. */
const goodbyeMs = 2_000;
/** Time for the last bytes of watches that end when their grace is over. */
const lingerMs = 1_000;

export interface GracefulShutdownPorts extends ShutdownOptions {
  /** Time that running requests may still take, in milliseconds. */
  readonly drainMs: number;
  readonly watches: WatchRegistry;
  readonly tunnels: TunnelRegistry;
  readonly yamlBodies: YamlBodies;
  readonly initialSlices: InitialSlices;
  readonly clock: Clock;
}

export class GracefulShutdown {
  readonly #ports: GracefulShutdownPorts;
  #phase: 'serving' | 'announced' | 'refusing' = 'serving';
  /** Requests under way, without the long-running ones. */
  #running = 0;
  #onIdle: () => void = () => undefined;

  constructor(ports: GracefulShutdownPorts) {
    this.#ports = ports;
  }

  /** The last check of /readyz. */
  get healthCheck(): HealthCheck {
    const check = (): Error | undefined =>
      this.#phase === 'serving' ? undefined : new Error('process is shutting down');
    return { name: 'shutdown', endpoints: ['readyz'], check };
  }

  /** Answers a request that comes too late and returns true; otherwise returns false. */
  refuses(exchange: Exchange): boolean {
    if (this.#phase !== 'refusing' || isExempt(exchange)) return false;
    if (this.#ports.sendsRetryAfter === true) sendRetryAfter(exchange);
    else sendUnavailable(exchange);
    return true;
  }

  /** Counts a request until the returned function is called. */
  enter(info: RequestInfo): () => void {
    if (isLongRunning(info)) return () => undefined;
    this.#running++;
    return () => {
      this.#running--;
      if (this.#running === 0) this.#onIdle();
    };
  }

  /** Runs all steps until the last connection has ended. Call it once. */
  async run(server: HttpServer): Promise<void> {
    await this.#drain(server);
    this.#ports.initialSlices.clear();
    await this.#ports.yamlBodies.close();
  }

  async #drain(server: HttpServer): Promise<void> {
    const { delayMs = 0, sendsRetryAfter = false, watchGraceMs = 0, watches, tunnels, clock, drainMs } = this.#ports;
    this.#phase = 'announced';
    if (delayMs > 0) await delay(clock, delayMs);
    this.#phase = 'refusing';
    // A tunnel ends at no known time, and its client cannot continue it elsewhere.
    tunnels.endAll();
    const ended = watches.endAll({ graceMs: watchGraceMs, clock });
    if (sendsRetryAfter) {
      await Promise.all([this.#idle(), ended]);
      return server.close(Math.min(goodbyeMs, drainMs));
    }
    await server.close(watchGraceMs === 0 ? drainMs : Math.max(drainMs, watchGraceMs + lingerMs));
  }

  /** Resolves when no counted request runs, or when the time is up. */
  #idle(): Promise<void> {
    if (this.#running === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const cancel = this.#ports.clock.setTimer(resolve, this.#ports.drainMs);
      this.#onIdle = () => {
        cancel();
        resolve();
      };
    });
  }
}

/**
 * True for probes, and for the server's own requests, which are recognised by their host, since no user is known yet.
 * Source: isRequestExemptFromRetryAfter.
 */
function isExempt(exchange: Exchange): boolean {
  if (exchange.header('user-agent')?.startsWith('kube-apiserver/') === true) return true;
  return exemptPrefixes.some((prefix) => exchange.path.startsWith(prefix));
}

function sendRetryAfter(exchange: Exchange): void {
  exchange.endConnection();
  exchange.setHeader('Retry-After', '5');
  sendText(exchange, 429, 'The apiserver is shutting down, please try again later.\n');
}

/** Answers 503 in JSON, whatever form was requested. */
function sendUnavailable(exchange: Exchange): void {
  exchange.setHeader('Cache-Control', 'no-cache, private');
  exchange.setHeader('Retry-After', '1');
  exchange.setHeader('Content-Type', 'application/json');
  exchange.setHeader('X-Content-Type-Options', 'nosniff');
  const status = statusOf(serviceUnavailable('apiserver is shutting down'));
  exchange.send(503, Buffer.from(`${JSON.stringify(status)}\n\n`));
}
