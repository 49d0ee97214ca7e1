// AuditWebhook posts audit events as an EventList, and posts them again when that fails. Batches or requests wait for it:
// audit-backends.ts puts it behind a buffer or a blocking backend. Source: apiserver plugin/pkg/audit/webhook.
import { type Clock, delay, type Logger, silentLogger, systemClock } from '@kapstan/api';
import { Backoff, messageOf } from '@kapstan/api/internal';
import type { AuditSender } from './audit-backend.ts';
import type { AuditCounts } from './audit-counts.ts';
import type { AuditRecord } from './audit-record.ts';

/** The server that events are posted to. */
export interface AuditWebhookTarget {
  /** Posts JSON. Rejects when the server cannot be reached in time or refuses it. */
  post(body: Uint8Array, signal: AbortSignal): Promise<void>;
  close?(): Promise<void>;
}

export interface AuditWebhookOptions {
  readonly target: AuditWebhookTarget;
  /** Time before events are posted for the second time; it grows by half each time. Default 10 s. */
  readonly initialBackoffMs?: number | undefined;
  readonly counts: AuditCounts;
  readonly clock?: Clock | undefined;
  readonly logger?: Logger | undefined;
  readonly random?: (() => number) | undefined;
}

/** Source: apiserver util/webhook DefaultRetryBackoffWithInitialDelay. */
const attempts = 5;
const backoff = { factor: 1.5, jitter: 0.2, maxMs: Number.MAX_SAFE_INTEGER, resetAfterMs: 0 } as const;

const head = Buffer.from('{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":[');
const comma = Buffer.from(',');
const tail = Buffer.from(']}\n');

export class AuditWebhook implements AuditSender {
  readonly #options: AuditWebhookOptions;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #stop = new AbortController();
  readonly #sends = new Set<Promise<boolean>>();
  #isFailing = false;

  constructor(options: AuditWebhookOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#logger = options.logger ?? silentLogger;
  }

  send(records: readonly AuditRecord[]): Promise<boolean> {
    const sent = this.#send(records).finally(() => this.#sends.delete(sent));
    this.#sends.add(sent);
    return sent;
  }

  async close(withinMs: number): Promise<void> {
    const cancel = this.#clock.setTimer(() => this.#stop.abort(new Error('the server is shutting down')), withinMs);
    await Promise.all(this.#sends);
    cancel();
    await this.#options.target.close?.();
  }

  async #send(records: readonly AuditRecord[]): Promise<boolean> {
    const { initialBackoffMs = 10_000, random = Math.random } = this.#options;
    const delays = new Backoff({ ...backoff, initialMs: initialBackoffMs }, { clock: this.#clock, random });
    const { signal } = this.#stop;
    let failure: unknown;
    for (let attempt = 1; attempt <= attempts; attempt++) {
      try {
        if (attempt > 1) await delay(this.#clock, delays.next(), signal);
        signal.throwIfAborted();
        // The events are encoded for each attempt, because they wait far longer than they are sent, and their encoded form takes memory.
        await this.#options.target.post(eventList(records), signal);
        return this.#recover();
      } catch (error) {
        // The webhook's last answer is more informative than the stop of the server.
        failure = signal.aborted ? (failure ?? error) : error;
        if (signal.aborted) break;
      }
    }
    return this.#fail(failure, records.length);
  }

  /** Logs the failure once, not for each batch. */
  #fail(error: unknown, events: number): false {
    this.#options.counts.lost('webhook', events);
    if (!this.#isFailing) {
      const fields = { error: messageOf(error), events };
      this.#logger.error('the audit webhook does not take events; they are lost until it does', fields);
    }
    this.#isFailing = true;
    return false;
  }

  #recover(): true {
    if (this.#isFailing) this.#logger.warn('the audit webhook takes events again');
    this.#isFailing = false;
    return true;
  }
}

/** Returns an EventList of audit.k8s.io/v1 as JSON. */
function eventList(records: readonly AuditRecord[]): Buffer {
  const pieces: Buffer[] = [head];
  for (const [index, record] of records.entries()) {
    if (index > 0) pieces.push(comma);
    pieces.push(...record.item);
  }
  return Buffer.concat([...pieces, tail]);
}
