// EventBudget bounds the records that a backend holds: those that wait and those that are being sent. Used by
// blocking-backend.ts and audit-buffer.ts.
import type { AuditRecord } from './audit-record.ts';

export interface EventBudgetOptions {
  readonly maxEvents: number;
  readonly maxBytes: number;
}

export class EventBudget {
  readonly #options: EventBudgetOptions;
  #events = 0;
  #bytes = 0;

  constructor(options: EventBudgetOptions) {
    this.#options = options;
  }

  /** Takes the record into the budget. Returns false, and takes nothing, when there is no room for it. */
  take({ json }: AuditRecord): boolean {
    const { maxEvents, maxBytes } = this.#options;
    if (this.#events >= maxEvents || this.#bytes + json.length > maxBytes) return false;
    this.#events++;
    this.#bytes += json.length;
    return true;
  }

  giveBack(records: readonly AuditRecord[]): void {
    this.#events -= records.length;
    for (const { json } of records) this.#bytes -= json.length;
  }
}
