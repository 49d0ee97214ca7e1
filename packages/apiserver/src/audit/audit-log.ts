// AuditLog writes audit events to a file or the standard output, one call of the target at a time. Requests or batches
// wait for it: audit-backends.ts puts it behind a buffer or a blocking backend. Source: apiserver plugin/pkg/audit/log.
import { type Clock, type Logger, silentLogger, systemClock } from '@kapstan/api';
import { nextTurn } from '@kapstan/api/internal';
import type { AuditSender } from './audit-backend.ts';
import type { AuditCounts } from './audit-counts.ts';
import type { AuditRecord } from './audit-record.ts';

/** The file or stream that lines are written to. */
export interface AuditLogTarget {
  /** Writes whole lines, one call at a time. Rejects when it cannot. */
  append(lines: Uint8Array): Promise<void>;
  close?(): Promise<void>;
}

/** The forms of the audit log: kube-apiserver's old lines, or JSON. */
export const auditLogFormats = ['legacy', 'json'] as const;
/** The form of a line of the audit log. */
export type AuditLogFormat = (typeof auditLogFormats)[number];

export interface AuditLogOptions {
  readonly target: AuditLogTarget;
  /** Default json. */
  readonly format?: AuditLogFormat | undefined;
  readonly counts: AuditCounts;
  readonly clock?: Clock | undefined;
  readonly logger?: Logger | undefined;
}

/** Number of bytes of lines written at once, unless a single line is longer. The smallest log file can hold as many. */
const batchBytes = 1024 * 1024;

interface WaitingLine {
  readonly bytes: Uint8Array;
  /** Called once; false = the line is lost. */
  readonly settle: (isWritten: boolean) => void;
}

export class AuditLog implements AuditSender {
  readonly #target: AuditLogTarget;
  readonly #format: AuditLogFormat;
  readonly #counts: AuditCounts;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #waiting: WaitingLine[] = [];
  #writing: Promise<void> | undefined;
  #isFailing = false;

  constructor({ target, format = 'json', counts, clock = systemClock, logger = silentLogger }: AuditLogOptions) {
    this.#target = target;
    this.#format = format;
    this.#counts = counts;
    this.#clock = clock;
    this.#logger = logger;
  }

  async send(records: readonly AuditRecord[]): Promise<boolean> {
    const [first] = records;
    if (records.length === 1 && first !== undefined) return this.#enqueue(first);
    const written = await Promise.all(records.map((record) => this.#enqueue(record)));
    return written.every((isWritten) => isWritten);
  }

  async close(withinMs: number): Promise<void> {
    const written = (this.#writing ?? Promise.resolve()).then(() => this.#target.close?.());
    await new Promise<void>((resolve, reject) => {
      const cancel = this.#clock.setTimer(() => {
        // The write under way still uses the target, which is closed after it.
        const lost = this.#waiting.splice(0);
        this.#counts.lost('buffered', lost.length);
        for (const { settle } of lost) settle(false);
        this.#logger.error('the audit log does not take the waiting events in time; they are lost', {
          events: lost.length,
        });
        resolve();
      }, withinMs);
      written.then(resolve, reject).finally(cancel);
    });
  }

  /** Resolves to false when the line is lost. */
  #enqueue(record: AuditRecord): Promise<boolean> {
    const bytes = this.#format === 'json' ? record.json : record.legacy;
    return new Promise((settle) => {
      this.#waiting.push({ bytes, settle });
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
    const [only] = lines;
    const bytes = lines.length === 1 && only ? only.bytes : Buffer.concat(lines.map((line) => line.bytes));
    const isWritten = await this.#target.append(bytes).then(
      () => this.#recover(),
      (error: unknown) => this.#fail(error, lines.length),
    );
    for (const { settle } of lines) settle(isWritten);
  }

  /** Logs the failure once, not for each event. */
  #fail(error: unknown, events: number): false {
    this.#counts.lost('log', events);
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
