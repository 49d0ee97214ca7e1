// AuditLog: where audit events go: a file or the standard output. A request waits for its events, or does not; the server never
// does. Whatever happens there, requests go on, unless it is asked otherwise. Source: apiserver plugin/pkg/audit/{log,buffered}, server/options/audit.go (1.36).
import { type Clock, type Logger, silentLogger, systemClock } from '@kapstan/api';
import { nextTurn } from '@kapstan/api/internal';
import { Counter, Registry } from 'prom-client';
import { type AuditEvent, formatJsonEvent, formatLegacyEvent } from './audit-event.ts';
import type { AuditLevel } from './audit-policy.ts';

/** What lines are written to. */
export interface AuditLogTarget {
  /** Whole lines, one at a time. Rejects when it cannot. */
  append(lines: Uint8Array): Promise<void>;
  close?(): Promise<void>;
}

export const auditLogFormats = ['legacy', 'json'] as const;
export type AuditLogFormat = (typeof auditLogFormats)[number];

/**
 * batch: events are written while requests go on. blocking: an event is written, or lost, before its request goes on, or is
 * answered. blocking-strict: and a request whose first event is lost is refused.
 */
export const auditLogModes = ['batch', 'blocking', 'blocking-strict'] as const;
export type AuditLogMode = (typeof auditLogModes)[number];

export interface AuditLogOptions {
  readonly target: AuditLogTarget;
  /** Default json. */
  readonly format?: AuditLogFormat;
  /** Default blocking. */
  readonly mode?: AuditLogMode;
  /** Events that may wait; more are lost. Default 10 000. */
  readonly maxWaiting?: number;
  /** Bytes of them, with those that are being written. Default 64 MiB. */
  readonly maxWaitingBytes?: number;
  /** How long {@link AuditLog.close} waits for what waits. Default 10 s. */
  readonly closeTimeoutMs?: number;
  /** Bytes of an object in an event; a larger one is left out, and the event says so. Default 10 MiB. */
  readonly maxObjectBytes?: number;
  readonly clock?: Clock;
  readonly logger?: Logger;
}

const mebibyte = 1024 * 1024;
const defaults = {
  format: 'json',
  mode: 'blocking',
  maxWaiting: 10_000,
  maxWaitingBytes: 64 * mebibyte,
  closeTimeoutMs: 10_000,
  maxObjectBytes: 10 * mebibyte,
  clock: systemClock,
} as const satisfies Partial<AuditLogOptions>;

/** Lines written in one go, unless one alone is longer. No more than fit into the smallest file. */
const batchBytes = mebibyte;

interface WaitingLine {
  readonly bytes: Uint8Array;
  /** Called once. False: it is lost. */
  readonly settle: (isWritten: boolean) => void;
}

export class AuditLog {
  /** Under kube-apiserver's names. */
  readonly metrics: Registry = new Registry();
  readonly #options: Required<Omit<AuditLogOptions, 'logger'>>;
  readonly #logger: Logger;
  readonly #events: Counter;
  readonly #errors: Counter<'plugin'>;
  readonly #levels: Counter<'level'>;
  readonly #rejections: Counter;
  readonly #waiting: WaitingLine[] = [];
  /** Of those that wait and those that are being written. */
  #waitingBytes = 0;
  #writing: Promise<void> | undefined;
  #isFailing = false;

  constructor({ logger = silentLogger, ...options }: AuditLogOptions) {
    this.#options = { ...defaults, ...options };
    this.#logger = logger;
    const registers = [this.metrics];
    const prefix = 'apiserver_audit';
    this.#events = new Counter({ name: `${prefix}_event_total`, help: 'Events that were made.', registers });
    this.#errors = new Counter({
      name: `${prefix}_error_total`,
      help: 'Events that were lost.',
      labelNames: ['plugin'],
      registers,
    });
    this.#levels = new Counter({
      name: `${prefix}_level_total`,
      help: 'Requests by the level at which they are recorded.',
      labelNames: ['level'],
      registers,
    });
    this.#rejections = new Counter({
      name: `${prefix}_requests_rejected_total`,
      help: 'Requests that were refused as they could not be recorded.',
      registers,
    });
  }

  get maxObjectBytes(): number {
    return this.#options.maxObjectBytes;
  }

  countLevel(level: AuditLevel): void {
    this.#levels.inc({ level });
  }

  countRejection(): void {
    this.#rejections.inc();
  }

  /** Resolves when whose event it is may go on. False: it is lost, and its request should not. */
  async write(event: AuditEvent): Promise<boolean> {
    const { format, mode } = this.#options;
    this.#events.inc();
    const line = format === 'json' ? formatJsonEvent(event) : formatLegacyEvent(event);
    const written = this.#enqueue(Buffer.from(line));
    if (mode === 'batch') return true;
    const isWritten = await written;
    return isWritten || mode === 'blocking';
  }

  /** Resolves when all that waits is written, or lost: with what a disk that hangs does not take in time. */
  async close(): Promise<void> {
    const written = (this.#writing ?? Promise.resolve()).then(() => this.#options.target.close?.());
    const { clock, closeTimeoutMs } = this.#options;
    await new Promise<void>((resolve, reject) => {
      const cancel = clock.setTimer(() => {
        // Whoever writes them still has the target; it is closed after that.
        const lost = this.#waiting.splice(0);
        for (const { bytes } of lost) this.#waitingBytes -= bytes.length;
        this.#errors.inc({ plugin: 'buffered' }, lost.length);
        for (const { settle } of lost) settle(false);
        this.#logger.error('The audit log does not take what waits; events are lost', { events: lost.length });
        resolve();
      }, closeTimeoutMs);
      written.then(resolve, reject).finally(cancel);
    });
  }

  /** Resolves with false when the line is lost. */
  #enqueue(bytes: Uint8Array): Promise<boolean> {
    const { maxWaiting, maxWaitingBytes } = this.#options;
    if (this.#waiting.length >= maxWaiting || this.#waitingBytes + bytes.length > maxWaitingBytes) {
      this.#errors.inc({ plugin: 'buffered' });
      return Promise.resolve(false);
    }
    return new Promise((settle) => {
      this.#waiting.push({ bytes, settle });
      this.#waitingBytes += bytes.length;
      this.#writing ??= this.#writeWaiting();
    });
  }

  async #writeWaiting(): Promise<void> {
    // What comes in the same turn goes along.
    await nextTurn();
    while (this.#waiting.length > 0) {
      await this.#append(this.#takeBatch());
    }
    this.#writing = undefined;
  }

  #takeBatch(): readonly WaitingLine[] {
    let bytes = 0;
    const end = this.#waiting.findIndex((line, index) => {
      bytes += line.bytes.length;
      return index > 0 && bytes > batchBytes;
    });
    return this.#waiting.splice(0, end < 0 ? this.#waiting.length : end);
  }

  async #append(lines: readonly WaitingLine[]): Promise<void> {
    const bytes = Buffer.concat(lines.map((line) => line.bytes));
    const isWritten = await this.#options.target.append(bytes).then(
      () => this.#recover(),
      (error: unknown) => this.#fail(error, lines.length),
    );
    this.#waitingBytes -= bytes.length;
    for (const { settle } of lines) settle(isWritten);
  }

  /** Said once, not for each event. */
  #fail(error: unknown, events: number): false {
    this.#errors.inc({ plugin: 'log' }, events);
    if (!this.#isFailing)
      this.#logger.error('The audit log cannot be written; events are lost', { error: String(error) });
    this.#isFailing = true;
    return false;
  }

  #recover(): true {
    if (this.#isFailing) this.#logger.warn('The audit log is written again');
    this.#isFailing = false;
    return true;
  }
}
