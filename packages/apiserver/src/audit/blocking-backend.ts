// BlockingBackend lets each request wait until its event is sent or lost: the modes blocking and blocking-strict. Made
// by audit-backends.ts. Source: apiserver server/options/audit.go (wrapBackend, ignoreErrorsBackend).
import type { AuditBackend, AuditSender } from './audit-backend.ts';
import type { AuditCounts } from './audit-counts.ts';
import type { AuditRecord } from './audit-record.ts';
import { EventBudget, type EventBudgetOptions } from './event-budget.ts';

export interface BlockingBackendOptions extends EventBudgetOptions {
  readonly sender: AuditSender;
  /** True = a lost event refuses its request. */
  readonly isStrict: boolean;
  readonly counts: AuditCounts;
}

export class BlockingBackend implements AuditBackend {
  readonly #options: BlockingBackendOptions;
  readonly #budget: EventBudget;

  constructor(options: BlockingBackendOptions) {
    this.#options = options;
    this.#budget = new EventBudget(options);
  }

  async write(record: AuditRecord): Promise<boolean> {
    const { sender, isStrict, counts } = this.#options;
    if (!this.#budget.take(record)) {
      counts.lost('buffered', 1);
      return !isStrict;
    }
    const isSent = await sender.send([record]);
    this.#budget.giveBack([record]);
    return isSent || !isStrict;
  }

  close(withinMs: number): Promise<void> {
    return this.#options.sender.close(withinMs);
  }
}
