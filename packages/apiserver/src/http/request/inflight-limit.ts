// InflightLimit limits the number of concurrent requests, separately for reads and writes. A request above the limit is refused. Servers
// without flow schemas use it. Asked by request-chain.ts. Source: filters/maxinflight.go.
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
  /** Maximum number of concurrent reads. 0 = no limit. Default 400. */
  readonly maxRequestsInflight: number;
  /** Maximum number of concurrent writes. 0 = no limit. Default 200. */
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

  /** Long-running requests take no place. Superusers are admitted even when no place is left. */
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
