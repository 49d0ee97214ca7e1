// InflightLimit: how many requests may run at once, reads and writes apart. Source: filters.WithMaxInFlightLimit.
import { mastersGroup } from '../authz/masters-authorizer.ts';
import type { UserInfo } from '../registry/request-context.ts';
import { isLongRunning, type RequestInfo } from './request-info.ts';

export interface InflightLimits {
  /** Reads. 0 = no limit. Default 400. */
  readonly maxRequestsInflight: number;
  /** Writes. 0 = no limit. Default 200. */
  readonly maxMutatingRequestsInflight: number;
}

type Lane = 'reading' | 'mutating';

export class InflightLimit {
  readonly #limits: Readonly<Record<Lane, number>>;
  readonly #running: Record<Lane, number> = { reading: 0, mutating: 0 };

  constructor(limits: InflightLimits) {
    this.#limits = { reading: limits.maxRequestsInflight, mutating: limits.maxMutatingRequestsInflight };
  }

  /** The function that gives the place back, or undefined when there is none. Long-running requests take no place. */
  enter(info: RequestInfo, user: UserInfo): (() => void) | undefined {
    if (isLongRunning(info)) return () => undefined;
    const lane: Lane = ['get', 'list', 'watch'].includes(info.verb) ? 'reading' : 'mutating';
    const limit = this.#limits[lane];
    const isExempt = limit === 0 || user.groups.includes(mastersGroup);
    if (!isExempt && this.#running[lane] >= limit) return undefined;
    this.#running[lane]++;
    return () => {
      this.#running[lane]--;
    };
  }

  /** Requests that run now. */
  counts(): Readonly<Record<Lane, number>> {
    return { ...this.#running };
  }
}
