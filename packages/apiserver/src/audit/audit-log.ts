// AuditLog: where audit events go: a file or the standard output, at once or by and by. Whatever happens there, requests go on,
// unless it is asked otherwise. Source: apiserver plugin/pkg/audit/{log,buffered}, server/options/audit.go (1.36).
import { type Logger, silentLogger } from '@kapstan/api';
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
  readonly logger?: Logger;
}

const defaults = { format: 'json', mode: 'blocking', maxWaiting: 10_000 } as const satisfies Partial<AuditLogOptions>;

/** Lines written in one go, in characters. */
const batchLength = 1024 * 1024;

export class AuditLog {
  /** Under kube-apiserver's names. */
  readonly metrics: Registry = new Registry();
  readonly #options: Required<Omit<AuditLogOptions, 'logger'>>;
  readonly #logger: Logger;
  readonly #events: Counter;
  readonly #errors: Counter<'plugin'>;
  readonly #levels: Counter<'level'>;
  readonly #rejections: Counter;
  readonly #waiting: string[] = [];
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

  /** Resolves when all that waits is written, or lost. */
  async close(): Promise<void> {
    await this.#writing;
    this.#options.target.close?.();
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
    if (this.#waiting.length >= this.#options.maxWaiting) {
      this.#errors.inc({ plugin: 'buffered' });
      return;
    }
    this.#waiting.push(line);
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

  #takeBatch(): readonly string[] {
    let length = 0;
    let count = 0;
    while (count < this.#waiting.length && length < batchLength) length += this.#waiting[count++]?.length ?? 0;
    return this.#waiting.splice(0, count);
  }

  async #appendLater(lines: readonly string[]): Promise<void> {
    const { target } = this.#options;
    const bytes = Buffer.from(lines.join(''));
    try {
      if (target.appendLater === undefined) target.append(bytes);
      else await target.appendLater(bytes);
      this.#recover();
    } catch (error) {
      this.#fail(error, lines.length);
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
