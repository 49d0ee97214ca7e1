// InflightLimit limits how many requests run at once, reads and writes apart, and shares the places between users.
// Asked by api-server.ts. The numbers are those of filters.WithMaxInFlightLimit; sharing is a simple form of what
// priority-and-fairness.go does.

import type { Clock } from '@kapstan/api';
import type { CallSignal } from '@kapstan/api/internal';
import { mastersGroup } from '../../authz/masters-authorizer.ts';
import type { UserInfo } from '../../registry/definition/request-context.ts';
import { isLongRunning, type RequestInfo } from '../exchange/request-info.ts';

export interface InflightLimits {
  /** Reads at once. 0 = no limit. Default 400. */
  readonly maxRequestsInflight: number;
  /** Writes at once. 0 = no limit. Default 200. */
  readonly maxMutatingRequestsInflight: number;
  /** Longest wait of a request whose user has less than a fair share, in milliseconds. */
  readonly maxWaitMs: number;
  readonly clock: Clock;
}

/** Gives the place back. Idempotent. */
export type LeavePlace = () => void;

type LaneName = 'reading' | 'mutating';

export class InflightLimit {
  readonly #lanes: Readonly<Record<LaneName, Lane>>;

  constructor({ maxRequestsInflight, maxMutatingRequestsInflight, maxWaitMs, clock }: InflightLimits) {
    this.#lanes = {
      reading: new Lane(maxRequestsInflight, maxWaitMs, clock),
      mutating: new Lane(maxMutatingRequestsInflight, maxWaitMs, clock),
    };
  }

  /**
   * Returns the function that gives the place back, or undefined when there is none. Returns a promise if the request
   * has to wait for a place; the signal ends the wait. Long-running requests and probes take no place.
   */
  enter(
    info: RequestInfo,
    user: UserInfo,
    signal: CallSignal,
  ): LeavePlace | undefined | Promise<LeavePlace | undefined> {
    if (isLongRunning(info) || isProbe(info)) return () => undefined;
    const lane = this.#lanes[['get', 'list', 'watch'].includes(info.verb) ? 'reading' : 'mutating'];
    return user.groups.includes(mastersGroup) ? lane.enterExempt() : lane.enter(user.name, signal);
  }

  /** Requests that run now. */
  counts(): Readonly<Record<LaneName, number>> {
    return { reading: this.#lanes.reading.running, mutating: this.#lanes.mutating.running };
  }

  /** Requests that wait for a place. */
  waiting(): Readonly<Record<LaneName, number>> {
    return { reading: this.#lanes.reading.waiting, mutating: this.#lanes.mutating.waiting };
  }
}

/** A busy server must not be restarted because its probe had to wait. Source: the flow schema "probes". */
function isProbe(info: RequestInfo): boolean {
  return info.type === 'path' && info.verb === 'get' && probes.has(info.path);
}

const probes: ReadonlySet<string> = new Set(['/healthz', '/livez', '/readyz']);

interface Waiter {
  readonly user: string;
  readonly resolve: (leave: LeavePlace | undefined) => void;
  /** Stops the waiter's timer and its listener on the signal. */
  readonly settle: () => void;
}

/** A user's places and waiters in a lane. Kept while there are any. */
interface Share {
  running: number;
  waiting: number;
}

/**
 * While there is room everybody gets a place, except that one user may hold at most seven eighths of them: users who
 * hold places for long, by a body that does not arrive, cannot keep everyone else out. When there is no room, the
 * places are shared among the present users: a user with a full share is refused, one with less waits, and a freed
 * place goes to the waiter whose user holds the fewest.
 * Invariant: while there is room, only a user with the most places that one may have waits.
 */
class Lane {
  readonly #limit: number;
  /** Most places that one user gets. */
  readonly #most: number;
  readonly #maxWaitMs: number;
  readonly #clock: Clock;
  readonly #shares = new Map<string, Share>();
  /** Waiters, the oldest first. */
  readonly #waiters = new Set<Waiter>();
  #taken = 0;
  #exempt = 0;

  constructor(limit: number, maxWaitMs: number, clock: Clock) {
    this.#limit = limit;
    this.#most = limit - Math.floor(limit / 8);
    this.#maxWaitMs = maxWaitMs;
    this.#clock = clock;
  }

  get running(): number {
    return this.#taken + this.#exempt;
  }

  get waiting(): number {
    return this.#waiters.size;
  }

  /** Enters beside the limit: superusers never wait and take nobody's place. */
  enterExempt(): LeavePlace {
    this.#exempt++;
    return once(() => {
      this.#exempt--;
    });
  }

  enter(user: string, signal: CallSignal): LeavePlace | undefined | Promise<LeavePlace | undefined> {
    if (this.#limit === 0) return this.enterExempt();
    const { running, waiting } = this.#shares.get(user) ?? { running: 0, waiting: 0 };
    if (this.#taken < this.#limit && running < this.#most) return this.#take(user);
    const hasShare = running + waiting >= this.#shareOf(user);
    return hasShare || this.#waiters.size >= this.#limit || signal.aborted ? undefined : this.#wait(user, signal);
  }

  /** Returns the fair share of each present user, including the one who asks. At least one. */
  #shareOf(user: string): number {
    const users = this.#shares.size + (this.#shares.has(user) ? 0 : 1);
    return Math.max(1, Math.floor(this.#limit / users));
  }

  #take(user: string): LeavePlace {
    this.#taken++;
    this.#change(user, { running: 1, waiting: 0 });
    return once(() => this.#giveBack(user));
  }

  // Gives a place back in one step: it is never free while somebody waits.
  #giveBack(user: string): void {
    this.#taken--;
    this.#change(user, { running: -1, waiting: 0 });
    const next = this.#nextWaiter();
    if (next === undefined) return;
    this.#remove(next);
    next.resolve(this.#take(next.user));
  }

  #wait(user: string, signal: CallSignal): Promise<LeavePlace | undefined> {
    return new Promise((resolve) => {
      const giveUp = (): void => {
        this.#remove(waiter);
        resolve(undefined);
      };
      const cancel = this.#clock.setBackgroundTimer(giveUp, this.#maxWaitMs);
      signal.addEventListener('abort', giveUp, { once: true });
      const settle = (): void => {
        cancel();
        signal.removeEventListener('abort', giveUp);
      };
      const waiter: Waiter = { user, resolve, settle };
      this.#waiters.add(waiter);
      this.#change(user, { running: 0, waiting: 1 });
    });
  }

  #remove(waiter: Waiter): void {
    waiter.settle();
    this.#waiters.delete(waiter);
    this.#change(waiter.user, { running: 0, waiting: -1 });
  }

  /** Returns the oldest waiter among those whose user holds the fewest places. */
  #nextWaiter(): Waiter | undefined {
    let next: Waiter | undefined;
    let fewest = Number.POSITIVE_INFINITY;
    for (const waiter of this.#waiters) {
      const running = this.#shares.get(waiter.user)?.running ?? 0;
      if (running >= fewest || running >= this.#most) continue;
      next = waiter;
      fewest = running;
    }
    return next;
  }

  #change(user: string, by: Readonly<Share>): void {
    const share = this.#shares.get(user) ?? { running: 0, waiting: 0 };
    share.running += by.running;
    share.waiting += by.waiting;
    if (share.running + share.waiting === 0) this.#shares.delete(user);
    else this.#shares.set(user, share);
  }
}

function once(work: () => void): () => void {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    work();
  };
}
