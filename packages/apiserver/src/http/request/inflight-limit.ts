// InflightLimit limits how many requests run at once, reads and writes apart; a request that finds no place is refused. It is the limit of a
// server without flow schemas. Asked by request-chain.ts. Source: filters/maxinflight.go.
import type { MetricFamily } from '@kapstan/api/internal';
import { mastersGroup } from '../../authz/masters-authorizer.ts';
import { isLongRunning } from '../exchange/request-info.ts';
import {
  freePlace,
  type KindCounts,
  type LimitedRequest,
  type RequestLimit,
  type RequestPlace,
} from './request-limit.ts';

export interface InflightLimits {
  /** Reads at once. 0 = no limit. Default 400. */
  readonly maxRequestsInflight: number;
  /** Writes at once. 0 = no limit. Default 200. */
  readonly maxMutatingRequestsInflight: number;
}

const reads: ReadonlySet<string> = new Set(['get', 'list', 'watch']);
const noneWaiting: KindCounts = { readOnly: 0, mutating: 0 };

export class InflightLimit implements RequestLimit {
  readonly #readOnly: Lane;
  readonly #mutating: Lane;

  constructor({ maxRequestsInflight, maxMutatingRequestsInflight }: InflightLimits) {
    this.#readOnly = new Lane(maxRequestsInflight);
    this.#mutating = new Lane(maxMutatingRequestsInflight);
  }

  /** Long-running requests take no place. Superusers come in beside the limit when there is none left. */
  enter({ exchange, info, user }: LimitedRequest): RequestPlace | undefined {
    if (isLongRunning(info)) return freePlace;
    const lane = reads.has(info.verb) ? this.#readOnly : this.#mutating;
    if (lane.hasRoom) return new Place(lane);
    if (user.groups.includes(mastersGroup)) return freePlace;
    exchange.setHeader('Retry-After', '1');
    return undefined;
  }

  executing(): KindCounts {
    return { readOnly: this.#readOnly.running, mutating: this.#mutating.running };
  }

  waiting(): KindCounts {
    return noneWaiting;
  }

  families(): readonly MetricFamily[] {
    return [];
  }
}

class Lane {
  readonly #limit: number;
  running = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get hasRoom(): boolean {
    return this.#limit === 0 || this.running < this.#limit;
  }
}

class Place implements RequestPlace {
  #lane: Lane | undefined;

  constructor(lane: Lane) {
    this.#lane = lane;
    lane.running++;
  }

  leave(): void {
    if (this.#lane !== undefined) this.#lane.running--;
    this.#lane = undefined;
  }

  end(): void {
    this.leave();
  }
}
