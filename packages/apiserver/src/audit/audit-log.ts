// AuditLog: where audit events go: a file or the standard output, at once or by and by. Whatever happens there, requests go on,
// unless it is asked otherwise. Source: apiserver plugin/pkg/audit/{log,buffered}, server/options/audit.go (1.36).
import { type Clock, type Logger, silentLogger, systemClock } from '@kapstan/api';
import { Counter, Registry } from 'prom-client';
import { type AuditEvent, formatJsonEvent, formatLegacyEvent } from './audit-event.ts';
import type { AuditLevel } from './audit-policy.ts';

/** What lines are written to. */
export interface AuditLogTarget {
  /** Throws when it cannot. */
  append(lines: Uint8Array): void;
  /** One at a time. Absent: `append` does. */
  appendLater?(lines: Uint8Array): Promise<void>;
  close?(): void;
}

export const auditLogFormats = ['legacy', 'json'] as const;
export type AuditLogFormat = (typeof auditLogFormats)[number];

/**
 * batch: events wait, and are written while requests go on; what is too much is dropped. blocking: an event is written before its
 * request goes on, or is answered. blocking-strict: and a request whose first event cannot be written is refused.
 */
export const auditLogModes = ['batch', 'blocking', 'blocking-strict'] as const;
export type AuditLogMode = (typeof auditLogModes)[number];

export interface AuditLogOptions {
  readonly target: AuditLogTarget;
  /** Default json. */
  readonly format?: AuditLogFormat;
  /** Default blocking. */
  readonly mode?: AuditLogMode;
  /** Events that may wait in mode batch. Default 10 000. */
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

/** Lines written in one go: so many bytes, and the line that goes beyond. */
const batchBytes = mebibyte;

export class AuditLog {
  /** Under kube-apiserver's names. */
  readonly metrics: Registry = new Registry();
  readonly #options: Required<Omit<AuditLogOptions, 'logger'>>;
  readonly #logger: Logger;
  readonly #events: Counter;
  readonly #errors: Counter<'plugin'>;
  readonly #levels: Counter<'level'>;
  readonly #rejections: Counter;
  readonly #waiting: Uint8Array[] = [];
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

  /** False: the event is lost, and its request should not go on. */
  write(event: AuditEvent): boolean {
    const { format, mode } = this.#options;
    this.#events.inc();
    const line = format === 'json' ? formatJsonEvent(event) : formatLegacyEvent(event);
    if (mode === 'batch') {
      this.#enqueue(line);
      return true;
    }
    const isWritten = this.#append(line);
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
        for (const { length } of lost) this.#waitingBytes -= length;
        this.#errors.inc({ plugin: 'buffered' }, lost.length);
        this.#logger.error('The audit log does not take what waits; events are lost', { events: lost.length });
        resolve();
      }, closeTimeoutMs);
      written.then(resolve, reject).finally(cancel);
    });
  }

  #append(line: string): boolean {
    try {
      this.#options.target.append(Buffer.from(line));
      this.#recover();
      return true;
    } catch (error) {
      this.#fail(error, 1);
      return false;
    }
  }

  #enqueue(line: string): void {
    const bytes = Buffer.from(line);
    const { maxWaiting, maxWaitingBytes } = this.#options;
    if (this.#waiting.length >= maxWaiting || this.#waitingBytes + bytes.length > maxWaitingBytes) {
      this.#errors.inc({ plugin: 'buffered' });
      return;
    }
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
    this.#writing ??= this.#writeWaiting();
  }

  async #writeWaiting(): Promise<void> {
    // What comes in the same turn goes along.
    await new Promise<void>((resolve) => setImmediate(resolve));
    while (this.#waiting.length > 0) {
      await this.#appendLater(this.#takeBatch());
    }
    this.#writing = undefined;
  }

  #takeBatch(): readonly Uint8Array[] {
    let bytes = 0;
    let count = 0;
    while (count < this.#waiting.length && bytes < batchBytes) bytes += this.#waiting[count++]?.length ?? 0;
    return this.#waiting.splice(0, count);
  }

  async #appendLater(lines: readonly Uint8Array[]): Promise<void> {
    const { target } = this.#options;
    const bytes = Buffer.concat(lines);
    try {
      if (target.appendLater === undefined) target.append(bytes);
      else await target.appendLater(bytes);
      this.#recover();
    } catch (error) {
      this.#fail(error, lines.length);
    } finally {
      this.#waitingBytes -= bytes.length;
    }
  }

  /** Said once, not for each event. */
  #fail(error: unknown, events: number): void {
    this.#errors.inc({ plugin: 'log' }, events);
    if (!this.#isFailing)
      this.#logger.error('The audit log cannot be written; events are lost', { error: String(error) });
    this.#isFailing = true;
  }

  #recover(): void {
    if (this.#isFailing) this.#logger.warn('The audit log is written again');
    this.#isFailing = false;
  }
}
