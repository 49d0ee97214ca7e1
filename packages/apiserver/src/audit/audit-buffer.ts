// AuditBuffer gathers events and sends them in batches while requests proceed: the mode batch. Made by
// audit-backends.ts. Source: apiserver plugin/pkg/audit/buffered.
import { type CancelTimer, type Clock, type Logger, silentLogger } from '@kapstan/api';
import { TokenBucket } from '@kapstan/api/internal';
import type { AuditBackend, AuditSender, AuditThrottle } from './audit-backend.ts';
import type { AuditCounts } from './audit-counts.ts';
import type { AuditRecord } from './audit-record.ts';
import { EventBudget, type EventBudgetOptions } from './event-budget.ts';

export interface AuditBufferOptions extends EventBudgetOptions {
  readonly sender: AuditSender;
  readonly maxBatchEvents: number;
  /** A single event that is longer forms its own batch. */
  readonly maxBatchBytes: number;
  /** Time for which an event waits for others of its batch. */
  readonly maxWaitMs: number;
  readonly throttle: AuditThrottle | 'off';
  /** Maximum number of batches that are being sent at the same time. */
  readonly maxSends: number;
  readonly counts: AuditCounts;
  readonly clock: Clock;
  readonly logger?: Logger | undefined;
}

export class AuditBuffer implements AuditBackend {
  readonly #options: AuditBufferOptions;
  readonly #budget: EventBudget;
  readonly #bucket: TokenBucket | undefined;
  readonly #waiting: AuditRecord[] = [];
  /** Number of waiting events that wait for no others. */
  #due = 0;
  #sends = 0;
  #cancelWait: CancelTimer | undefined;
  #hasToken = false;
  #cancelToken: CancelTimer | undefined;
  #isClosed = false;
  #isFull = false;
  #onHandedOver: (() => void) | undefined;

  constructor(options: AuditBufferOptions) {
    const { throttle, clock } = options;
    this.#options = options;
    this.#budget = new EventBudget(options);
    this.#bucket = throttle === 'off' ? undefined : new TokenBucket({ ...throttle, clock });
  }

  async write(record: AuditRecord): Promise<boolean> {
    if (this.#isClosed || !this.#budget.take(record)) {
      this.#lose(1);
      return true;
    }
    this.#isFull = false;
    this.#waiting.push(record);
    this.#advance();
    return true;
  }

  /**
   * Hands the waiting events to the sender while the time lasts, and closes it. Events that the sender does not take
   * are lost.
   */
  async close(withinMs: number): Promise<void> {
    const { clock, sender } = this.#options;
    const startedAtMs = clock.monotonicNow();
    this.#isClosed = true;
    this.#due = this.#waiting.length;
    this.#advance();
    if (this.#waiting.length > 0) {
      await new Promise<void>((resolve) => {
        const cancel = clock.setTimer(resolve, withinMs);
        this.#onHandedOver = () => {
          cancel();
          resolve();
        };
      });
    }
    this.#cancelWait?.();
    this.#cancelToken?.();
    const lost = this.#waiting.splice(0);
    if (lost.length > 0) this.#lose(lost.length);
    await sender.close(Math.max(0, withinMs - (clock.monotonicNow() - startedAtMs)));
  }

  /** Logs once that events are lost, not for each. */
  #lose(events: number): void {
    const { counts, logger = silentLogger } = this.#options;
    counts.lost('buffered', events);
    if (!this.#isFull) logger.error('the buffer of audit events is full or closed; events are lost', { events });
    this.#isFull = true;
  }

  /** Sends all batches that may be sent now. The rest waits for time, for a token or for the end of a batch. */
  #advance(): void {
    const { maxBatchEvents, maxSends } = this.#options;
    while (this.#waiting.length >= maxBatchEvents || this.#due > 0) {
      if (this.#sends >= maxSends || !this.#takeToken()) return;
      this.#sendBatch();
    }
    if (this.#waiting.length > 0) this.#waitForMore();
  }

  #waitForMore(): void {
    const { clock, maxWaitMs } = this.#options;
    this.#cancelWait ??= clock.setTimer(() => {
      this.#cancelWait = undefined;
      this.#due = this.#waiting.length;
      this.#advance();
    }, maxWaitMs);
  }

  /** Returns true when a batch may go. Otherwise a timer calls again when the next one may. */
  #takeToken(): boolean {
    if (this.#bucket === undefined || this.#hasToken) return true;
    if (this.#cancelToken !== undefined) return false;
    const waitMs = this.#bucket.take();
    if (waitMs === 0) return true;
    this.#cancelToken = this.#options.clock.setTimer(() => {
      this.#cancelToken = undefined;
      this.#hasToken = true;
      this.#advance();
    }, waitMs);
    return false;
  }

  #sendBatch(): void {
    const batch = this.#waiting.splice(0, this.#batchLength());
    this.#due = Math.max(0, this.#due - batch.length);
    this.#hasToken = false;
    this.#sends++;
    void this.#options.sender.send(batch).then(() => {
      this.#sends--;
      this.#budget.giveBack(batch);
      this.#advance();
    });
    if (this.#waiting.length === 0) this.#onHandedOver?.();
  }

  #batchLength(): number {
    const { maxBatchEvents, maxBatchBytes } = this.#options;
    let bytes = 0;
    let length = 0;
    for (const { json } of this.#waiting) {
      bytes += json.length;
      if (length === maxBatchEvents || (length > 0 && bytes > maxBatchBytes)) break;
      length++;
    }
    return length;
  }
}
