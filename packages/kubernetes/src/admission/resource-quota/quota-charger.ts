// QuotaCharger charges the quotas of one namespace for waiting requests: it reads the quotas once and writes each once for all of them.
// Called by quota-queue.ts. Source: apiserver pkg/admission/plugin/resourcequota checkQuotas. Decision 0030.
import { isConflict } from '@kapstan/api';
import type { AdmissionAttributes } from '@kapstan/apiserver';
import { runInTurns } from '@kapstan/storage';
import type { PendingCharges } from './pending-charges.ts';
import { type Charge, type CheckedRequest, checkRequest, RunningQuota } from './quota-check.ts';
import type { QuotaRecords } from './quota-records.ts';
import type { QuotaState } from './quota-state.ts';

/** A request that waits for its answer. */
export interface QuotaWaiter extends CheckedRequest {
  /** True when the request is no longer waiting. */
  readonly isGone: boolean;
  admit(): void;
  refuse(error: unknown): void;
}

/** Maximum number of times that a quota changed by others meanwhile is read and compared again. */
const maxAttempts = 10;
/** Quotas that are written at the same time. */
const writesAtOnce = 32;

/** A waiting request with the quotas that have been charged for it so far. */
interface Account {
  readonly waiter: QuotaWaiter;
  readonly charged: Map<string, QuotaState>;
}

export class QuotaCharger {
  readonly #records: QuotaRecords;
  readonly #pending: PendingCharges;

  constructor(records: QuotaRecords, pending: PendingCharges) {
    this.#records = records;
    this.#pending = pending;
  }

  /** Answers all waiters. Never rejects. */
  async charge(namespace: string, waiters: readonly QuotaWaiter[]): Promise<void> {
    let open: Account[] = waiters.map((waiter) => ({ waiter, charged: new Map() }));
    try {
      let quotas = await this.#records.quotasIn(namespace);
      for (let attempt = 1; open.length > 0; attempt++) {
        const running = quotas.map((state) => new RunningQuota(state));
        open = await this.#compare(open, running);
        const failures = await this.#write(running.filter(({ taken }) => taken.size > 0));
        const [first] = failures.values();
        if (first === undefined) break;
        if (attempt === maxAttempts || ![...failures.values()].every(isConflict)) throw first;
        quotas = await this.#readAgain([...failures.keys()]);
      }
      for (const account of open) this.#admit(account);
    } catch (error) {
      for (const account of open) this.#refuse(account, error);
    }
  }

  /** Returns the accounts that wait for the quotas to be written; answers the others. */
  async #compare(accounts: readonly Account[], running: readonly RunningQuota[]): Promise<Account[]> {
    const open: Account[] = [];
    for (const account of accounts) {
      const { waiter } = account;
      try {
        const { signal } = waiter.attributes.context;
        const charges = await runInTurns(checkRequest(waiter, running), signal);
        if (charges.length === 0 || waiter.attributes.context.dryRun || waiter.isGone) this.#admit(account);
        else {
          this.#take(account, charges);
          open.push(account);
        }
      } catch (error) {
        this.#refuse(account, error);
      }
    }
    return open;
  }

  #take({ charged }: Account, charges: readonly Charge[]): void {
    for (const { quota, amounts } of charges) {
      quota.take(amounts);
      const { state } = quota;
      if (charged.has(state.name)) continue;
      charged.set(state.name, state);
      this.#pending.begin(state);
    }
  }

  /** Returns the error of each quota that could not be written. */
  async #write(changed: readonly RunningQuota[]): Promise<ReadonlyMap<QuotaState, unknown>> {
    const failures = new Map<QuotaState, unknown>();
    for (let at = 0; at < changed.length; at += writesAtOnce) {
      const some = changed.slice(at, at + writesAtOnce);
      const results = await Promise.allSettled(some.map((quota) => this.#records.write(quota)));
      for (const [index, result] of results.entries()) {
        const quota = some[index];
        if (result.status === 'rejected' && quota !== undefined) failures.set(quota.state, result.reason);
      }
    }
    return failures;
  }

  /** A quota that was deleted meanwhile no longer limits anything. */
  async #readAgain(states: readonly QuotaState[]): Promise<readonly QuotaState[]> {
    const read = await Promise.all(states.map((state) => this.#records.read(state)));
    return read.filter((state) => state !== undefined);
  }

  /** The charges stay pending until the write of the request has ended. */
  #admit({ waiter, charged }: Account): void {
    const finish = (committed: boolean): void => {
      for (const state of charged.values()) this.#pending.end(state, committed);
    };
    if (waiter.isGone) finish(false);
    else if (charged.size > 0) whenWritten(waiter.attributes, finish);
    waiter.admit();
  }

  #refuse({ waiter, charged }: Account, error: unknown): void {
    for (const state of charged.values()) this.#pending.end(state, false);
    waiter.refuse(error);
  }
}

function whenWritten({ finishers }: AdmissionAttributes, finish: (committed: boolean) => void): void {
  if (finishers === undefined) finish(true);
  else finishers.push(async (committed) => finish(committed));
}
