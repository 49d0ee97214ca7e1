// AuditLog writes audit events to a file or the standard output. Depending on the mode, requests wait for their events;
// the server itself never waits. If writing fails, requests go on, except in the strict mode. Source: apiserver
// plugin/pkg/audit/{log,buffered}, server/options/audit.go (1.36).
import { type Clock, type Logger, silentLogger, systemClock } from '@kapstan/api';
import { counterFamily, formatMetrics, NumberSeries, nextTurn } from '@kapstan/api/internal';
import { type AuditEvent, formatJsonEvent, formatLegacyEvent } from './audit-event.ts';
import type { AuditLevel } from './audit-policy.ts';

/** The file or stream that lines are written to. */
export interface AuditLogTarget {
  /** Writes whole lines, one call at a time. Rejects when it cannot. */
  append(lines: Uint8Array): Promise<void>;
  close?(): Promise<void>;
}

export const auditLogFormats = ['legacy', 'json'] as const;
export type AuditLogFormat = (typeof auditLogFormats)[number];

/**
 * batch: events are written while requests go on. blocking: an event is written, or lost, before its request goes on or
 * is answered. blocking-strict: also, a request whose first event is lost is refused.
 */
export const auditLogModes = ['batch', 'blocking', 'blocking-strict'] as const;
export type AuditLogMode = (typeof auditLogModes)[number];

export interface AuditLogOptions {
  readonly target: AuditLogTarget;
  /** Default json. */
  readonly format?: AuditLogFormat;
  /** Default blocking. */
  readonly mode?: AuditLogMode;
  /** Most events that may wait; further ones are lost. Default 10 000. */
  readonly maxWaiting?: number;
  /** Most bytes of all events that wait or are being written. Default 64 MiB. */
  readonly maxWaitingBytes?: number;
  /** How long {@link AuditLog.close} waits for the remaining events. Default 10 s. */
  readonly closeTimeoutMs?: number;
  /** Largest object in an event, in bytes. A larger one is left out, and the event says so. Default 10 MiB. */
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

/** Bytes of lines written at once, unless a single line is longer. The smallest file can hold as many. */
const batchBytes = mebibyte;

interface WaitingLine {
  readonly bytes: Uint8Array;
  /** Called once; false = the line is lost. */
  readonly settle: (isWritten: boolean) => void;
}

export class AuditLog {
  readonly #options: Required<Omit<AuditLogOptions, 'logger'>>;
  readonly #logger: Logger;
  #events = 0;
  readonly #errors = new NumberSeries();
  readonly #levels = new NumberSeries();
  #rejections = 0;
  readonly #waiting: WaitingLine[] = [];
  /** Bytes of all lines that wait or are being written. */
  #waitingBytes = 0;
  #writing: Promise<void> | undefined;
  #isFailing = false;

  constructor({ logger = silentLogger, ...options }: AuditLogOptions) {
    this.#options = { ...defaults, ...options };
    this.#logger = logger;
  }

  /** Returns the metrics as Prometheus text, under kube-apiserver's names. */
  metrics(): string {
    const prefix = 'apiserver_audit';
    return formatMetrics([
      counterFamily(`${prefix}_event_total`, 'Events that were made.', this.#events),
      counterFamily(`${prefix}_error_total`, 'Events that were lost.', this.#errors.samples()),
      counterFamily(
        `${prefix}_level_total`,
        'Requests by the level at which they are recorded.',
        this.#levels.samples(),
      ),
      counterFamily(
        `${prefix}_requests_rejected_total`,
        'Requests that were refused as they could not be recorded.',
        this.#rejections,
      ),
    ]);
  }

  get maxObjectBytes(): number {
    return this.#options.maxObjectBytes;
  }

  countLevel(level: AuditLevel): void {
    this.#levels.add({ level });
  }

  countRejection(): void {
    this.#rejections++;
  }

  /** Resolves when the event's request may go on. False = the event is lost, and the request should be refused. */
  async write(event: AuditEvent): Promise<boolean> {
    const { format, mode } = this.#options;
    this.#events++;
    const line = format === 'json' ? formatJsonEvent(event) : formatLegacyEvent(event);
    const written = this.#enqueue(Buffer.from(line));
    if (mode === 'batch') return true;
    const isWritten = await written;
    return isWritten || mode === 'blocking';
  }

  /**
   * Resolves when all waiting events are written or lost. Events that a hanging disk does not take in time are lost.
   */
  async close(): Promise<void> {
    const written = (this.#writing ?? Promise.resolve()).then(() => this.#options.target.close?.());
    const { clock, closeTimeoutMs } = this.#options;
    await new Promise<void>((resolve, reject) => {
      const cancel = clock.setTimer(() => {
        // The write under way still uses the target, which is closed after it.
        const lost = this.#waiting.splice(0);
        for (const { bytes } of lost) this.#waitingBytes -= bytes.length;
        this.#errors.add({ plugin: 'buffered' }, lost.length);
        for (const { settle } of lost) settle(false);
        this.#logger.error('the audit log does not take the waiting events in time; they are lost', {
          events: lost.length,
        });
        resolve();
      }, closeTimeoutMs);
      written.then(resolve, reject).finally(cancel);
    });
  }

  /** Resolves to false when the line is lost. */
  #enqueue(bytes: Uint8Array): Promise<boolean> {
    const { maxWaiting, maxWaitingBytes } = this.#options;
    if (this.#waiting.length >= maxWaiting || this.#waitingBytes + bytes.length > maxWaitingBytes) {
      this.#errors.add({ plugin: 'buffered' });
      return Promise.resolve(false);
    }
    return new Promise((settle) => {
      this.#waiting.push({ bytes, settle });
      this.#waitingBytes += bytes.length;
      this.#writing ??= this.#writeWaiting();
    });
  }

  async #writeWaiting(): Promise<void> {
    // Lines that come in the same turn are written together.
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

  /** Logs the failure once, not for each event. */
  #fail(error: unknown, events: number): false {
    this.#errors.add({ plugin: 'log' }, events);
    if (!this.#isFailing)
      this.#logger.error('the audit log cannot be written; events are lost until it can be', { error: String(error) });
    this.#isFailing = true;
    return false;
  }

  #recover(): true {
    if (this.#isFailing) this.#logger.warn('the audit log is written again');
    this.#isFailing = false;
    return true;
  }
}
