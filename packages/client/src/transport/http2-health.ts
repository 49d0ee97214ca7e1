// Finds HTTP/2 connections whose peer is gone, by pings, and those that nobody has used for long. One for each connection, started by
// http2-connection.ts. Source: client-go's HTTP/2 transport (apimachinery util/net configureHTTP2Transport).
import type { CancelTimer, Clock, Logger } from '@kapstan/api';
import type { Environment } from './proxy.ts';

export interface Http2Limits {
  /** Silence after which the peer gets a ping, in milliseconds. 0 = no pings. */
  readonly readIdleMs: number;
  /** How long the answer to a ping may take, in milliseconds. */
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

/** Whether HTTP/2 is turned off for this process. Source: client-go (apimachinery util/net SetTransportDefaults). */
export function isHttp2Disabled(env: Environment): boolean {
  return Boolean(env.DISABLE_HTTP2);
}

/** What is checked. */
interface CheckedConnection {
  /** Bytes received so far; any progress counts as life. */
  receivedBytes(): number;
  /** Whether no request is in progress. */
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

// Looks this often within the time of silence: bytes are counted by Node, and counting frames here would cost something for each.
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
