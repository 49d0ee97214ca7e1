// Health serves /healthz, /livez and /readyz: as a whole, verbosely and check by check. Source: apiserver
// server/healthz.

import type { Clock } from '@kapstan/api';
import { goQuote } from '@kapstan/api/internal';
import type { Exchange } from '../exchange/exchange.ts';
import { sendPageNotFound, sendText } from '../exchange/status-response.ts';
import { HealthMetrics } from './health-metrics.ts';

/** A line of /livez and /readyz. */
export interface HealthCheck {
  readonly name: string;
  /** Returns the error if the part is not healthy. Clients do not see it. */
  check(): Error | undefined | Promise<Error | undefined>;
  /** Endpoints that run this check. Default all. */
  readonly endpoints?: readonly ('healthz' | 'livez' | 'readyz')[];
  /** True = part of the start, which /livez counts as healthy as long as a start may last. Default false. */
  readonly isPartOfStart?: boolean;
}

export interface HealthEndpointsOptions {
  readonly checks: readonly HealthCheck[];
  /** Maximum duration of the start, from now, in milliseconds. 0 = no time. Source: delayedHealthCheck. */
  readonly livezGraceMs: number;
  readonly clock: Clock;
}

const endpoints = ['healthz', 'livez', 'readyz'] as const;
type Endpoint = (typeof endpoints)[number];
/**
 * Any server that answers passes these checks. `log` would detect a log that hangs, but such a log hangs the server
 * too.
 */
const always: readonly HealthCheck[] = ['ping', 'log'].map((name) => ({ name, check: () => undefined }));

export class HealthEndpoints {
  /** Results of all checks so far. */
  readonly metrics: HealthMetrics = new HealthMetrics();
  readonly #checks: readonly HealthCheck[];
  readonly #clock: Clock;
  readonly #startEndsMs: number;

  constructor({ checks, livezGraceMs, clock }: HealthEndpointsOptions) {
    this.#checks = [...always, ...checks];
    this.#clock = clock;
    this.#startEndsMs = clock.monotonicNow() + livezGraceMs;
  }

  /** Returns every path that Health serves. */
  paths(): readonly string[] {
    return endpoints.flatMap((endpoint) => [
      `/${endpoint}`,
      ...this.#checksOf(endpoint).map(({ name }) => `/${endpoint}/${name}`),
    ]);
  }

  /** Returns false when the path is not one of the health checks. Any method is accepted. */
  async serve(exchange: Exchange): Promise<boolean> {
    const [, name = '', ...rest] = exchange.path.split('/');
    const endpoint = endpoints.find((candidate) => candidate === name);
    if (endpoint === undefined) return false;
    if (rest.length === 0) await this.#serveAll(exchange, endpoint);
    else await this.#serveOne(exchange, endpoint, rest.join('/'));
    return true;
  }

  #checksOf(endpoint: Endpoint): readonly HealthCheck[] {
    return this.#checks.filter((check) => check.endpoints === undefined || check.endpoints.includes(endpoint));
  }

  async #ask(check: HealthCheck, type: Endpoint): Promise<Error | undefined> {
    const mayStart =
      type === 'livez' && check.isPartOfStart === true && this.#clock.monotonicNow() <= this.#startEndsMs;
    const error = mayStart ? undefined : await check.check();
    this.metrics.observe({ name: check.name, type }, error === undefined);
    return error;
  }

  async #serveOne(exchange: Exchange, endpoint: Endpoint, name: string): Promise<void> {
    const check = this.#checksOf(endpoint).find((candidate) => candidate.name === name);
    if (check === undefined) return sendPageNotFound(exchange);
    const error = await this.#ask(check, endpoint);
    if (error !== undefined) return sendText(exchange, 500, `internal server error: ${error.message}\n`);
    exchange.setHeader('Content-Type', 'text/plain; charset=utf-8');
    exchange.send(200, Buffer.from('ok'));
  }

  async #serveAll(exchange: Exchange, endpoint: Endpoint): Promise<void> {
    const excluded = new Set(exchange.query.getAll('exclude'));
    const unknown = new Set(excluded);
    const lines: string[] = [];
    let hasFailed = false;
    for (const check of this.#checksOf(endpoint)) {
      unknown.delete(check.name);
      if (excluded.has(check.name)) {
        lines.push(`[+]${check.name} excluded: ok`);
        continue;
      }
      const error = await this.#ask(check, endpoint);
      hasFailed ||= error !== undefined;
      lines.push(error === undefined ? `[+]${check.name} ok` : `[-]${check.name} failed: reason withheld`);
    }
    if (unknown.size > 0) {
      const names = [...unknown].map((name) => goQuote(name)).join(',');
      lines.push(`warn: some health checks cannot be excluded: no matches for ${names}`);
    }
    const report = (outcome: string): string => `${lines.join('\n')}\n${endpoint} check ${outcome}\n`;
    if (hasFailed) return sendText(exchange, 500, `${report('failed')}\n`.replace(/\n\n$/, '\n'));
    sendText(exchange, 200, exchange.query.has('verbose') ? report('passed') : 'ok');
  }
}
