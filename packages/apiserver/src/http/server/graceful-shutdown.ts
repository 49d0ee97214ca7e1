// GracefulShutdown: the steps in which a server stops: no longer ready, then closed to new requests, then drained. Driven by
// api-server.ts, which asks it about every request. Source: apiserver server/genericapiserver.go (RunWithContext),
// filters/with_retry_after.go, filters/waitgroup.go, filters/watch_termination.go (1.36).
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

export interface ShutdownOptions {
  /**
   * How long a server that is told to stop goes on as before, in milliseconds, but for /readyz, which fails at once: time for
   * load balancers to look elsewhere. Default 0.
   */
  readonly delayMs?: number;
  /**
   * True: new requests are still taken while those under way end, and answered with 429, Retry-After and an end of their
   * connection. False: nobody can connect any more, and what comes on old connections gets 503. Default false.
   */
  readonly sendsRetryAfter?: boolean;
  /**
   * Longest time over which watches are ended one by one, in milliseconds: 200 a second, or as many as it takes to end all.
   * 0 = all at once. Default 0.
   */
  readonly watchGraceMs?: number;
}

/** Probes and scrapes are answered to the very end. Source: pathPrefixesExemptFromRetryAfter. */
const exemptPrefixes = ['/readyz', '/livez', '/healthz', '/metrics'];
/** For the goodbye of HTTP/2 when no request is left. Source: ShutdownTimeout with ShutdownSendRetryAfter. */
const goodbyeMs = 2_000;
/** For the last bytes of watches that were ended at the end of their grace. */
const lingerMs = 1_000;

export interface GracefulShutdownPorts extends ShutdownOptions {
  /** How long requests that run get, in milliseconds. */
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
  /** Requests under way, but for those that may go on for long. */
  #running = 0;
  #onIdle: () => void = () => undefined;

  constructor(ports: GracefulShutdownPorts) {
    this.#ports = ports;
  }

  /** Last of the checks of /readyz. */
  get healthCheck(): HealthCheck {
    const check = (): Error | undefined =>
      this.#phase === 'serving' ? undefined : new Error('process is shutting down');
    return { name: 'shutdown', endpoints: ['readyz'], check };
  }

  /** True when the request came too late, and is answered. */
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

  /** All steps, to the end of the last connection. Once. */
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
    // Nobody knows when they would end, and nobody can go on with them elsewhere.
    tunnels.endAll();
    const ended = watches.endAll({ graceMs: watchGraceMs, clock });
    if (sendsRetryAfter) {
      await Promise.all([this.#idle(), ended]);
      return server.close(Math.min(goodbyeMs, drainMs));
    }
    await server.close(watchGraceMs === 0 ? drainMs : Math.max(drainMs, watchGraceMs + lingerMs));
  }

  /** Resolves when no counted request runs, or when the time for that is up. */
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

/** What a server asks itself, told by its name as nobody is known yet, and probes. Source: isRequestExemptFromRetryAfter. */
function isExempt(exchange: Exchange): boolean {
  if (exchange.header('user-agent')?.startsWith('kube-apiserver/') === true) return true;
  return exemptPrefixes.some((prefix) => exchange.path.startsWith(prefix));
}

function sendRetryAfter(exchange: Exchange): void {
  exchange.endConnection();
  exchange.setHeader('Retry-After', '5');
  sendText(exchange, 429, 'The apiserver is shutting down, please try again later.\n');
}

/** In JSON, whatever was asked for. */
function sendUnavailable(exchange: Exchange): void {
  exchange.setHeader('Cache-Control', 'no-cache, private');
  exchange.setHeader('Retry-After', '1');
  exchange.setHeader('Content-Type', 'application/json');
  exchange.setHeader('X-Content-Type-Options', 'nosniff');
  const status = statusOf(serviceUnavailable('apiserver is shutting down'));
  exchange.send(503, Buffer.from(`${JSON.stringify(status)}\n\n`));
}
