// Detects, by pings, HTTP/2 connections whose peer is gone, and those that have long been unused. Each connection has one, started by
// http2-connection.ts. Source: client-go's HTTP/2 transport (apimachinery util/net configureHTTP2Transport).
import type { CancelTimer, Clock, Logger } from '@kapstan/api';
import type { Environment } from '../connection/proxy.ts';

export interface Http2Limits {
  /** Silence after which the peer gets a ping, in milliseconds. 0 = no pings. */
  readonly readIdleMs: number;
  /** Time limit for the answer to a ping, in milliseconds. */
  readonly pingTimeoutMs: number;
}

const readIdleVariable = 'HTTP2_READ_IDLE_TIMEOUT_SECONDS';
const pingVariable = 'HTTP2_PING_TIMEOUT_SECONDS';

/** Reads the limits from the variables that client-go reads, with its defaults. */
export function http2Limits(env: Environment, logger: Logger): Http2Limits {
  const secondsOf = (name: string, fallback: number): number => {
    const text = env[name];
    if (!text) return fallback;
    if (/^\d{1,6}$/.test(text)) return Number(text);
    logger.warn(`${name} must be a number of seconds; the default of ${fallback} is used`, { value: text });
    return fallback;
  };
  return { readIdleMs: secondsOf(readIdleVariable, 30) * 1000, pingTimeoutMs: secondsOf(pingVariable, 15) * 1000 };
}

/** True if HTTP/2 is turned off for this process. Source: client-go (apimachinery util/net SetTransportDefaults). */
export function isHttp2Disabled(env: Environment): boolean {
  return Boolean(env.DISABLE_HTTP2);
}

/** The connection that is checked. */
interface CheckedConnection {
  /** Bytes received so far; any progress counts as life. */
  receivedBytes(): number;
  /** True if no request is in progress. */
  isIdle(): boolean;
  /** Calls back with the answer. */
  ping(onAnswer: () => void): void;
  onSilent(): void;
  onUnused(): void;
}

export interface Http2HealthOptions extends Http2Limits {
  readonly clock: Clock;
  /** Time without a request after which the connection counts as unused, in milliseconds. */
  readonly idleMs: number;
  readonly connection: CheckedConnection;
}

// Number of checks within the time of silence. Node counts the bytes anyway, whereas counting frames here would cost something for each.
const looks = 3;

export class Http2Health {
  readonly #options: Http2HealthOptions;
  #cancelLook: CancelTimer | undefined;
  #cancelPing: CancelTimer | undefined;
  #receivedBytes = -1;
  #silentLooks = 0;
  #idleSinceMs: number | undefined;

  constructor(options: Http2HealthOptions) {
    this.#options = options;
    this.#lookLater();
  }

  stop(): void {
    this.#cancelLook?.();
    this.#pingAnswered();
  }

  get #lookMs(): number {
    const { readIdleMs, idleMs } = this.#options;
    return (readIdleMs > 0 ? readIdleMs : idleMs) / looks;
  }

  #lookLater(): void {
    this.#cancelLook = this.#options.clock.setBackgroundTimer(() => this.#look(), this.#lookMs);
  }

  #look(): void {
    this.#lookLater();
    const { connection, clock, idleMs, readIdleMs } = this.#options;
    const now = clock.monotonicNow();
    this.#idleSinceMs = connection.isIdle() ? (this.#idleSinceMs ?? now) : undefined;
    if (this.#idleSinceMs !== undefined && now - this.#idleSinceMs >= idleMs) return connection.onUnused();
    const received = connection.receivedBytes();
    this.#silentLooks = received === this.#receivedBytes ? this.#silentLooks + 1 : 0;
    this.#receivedBytes = received;
    if (readIdleMs > 0 && this.#silentLooks >= looks) this.#ping();
  }

  #ping(): void {
    if (this.#cancelPing !== undefined) return;
    const { connection, clock, pingTimeoutMs } = this.#options;
    this.#cancelPing = clock.setBackgroundTimer(() => connection.onSilent(), pingTimeoutMs);
    connection.ping(() => this.#pingAnswered());
  }

  #pingAnswered(): void {
    this.#cancelPing?.();
    this.#cancelPing = undefined;
    this.#silentLooks = 0;
  }
}
