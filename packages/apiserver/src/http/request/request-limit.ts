// RequestLimit decides when a request may run. Implemented by priority-and-fairness.ts and inflight-limit.ts, asked by request-chain.ts.
import type { MetricFamily } from '@kapstan/api/internal';
import type { UserInfo } from '../../registry/definition/request-context.ts';
import type { Exchange } from '../exchange/exchange.ts';
import type { RequestInfo } from '../exchange/request-info.ts';

/** The place of a running request. */
export interface RequestPlace {
  /** Gives the place to others. A watch calls it when it has begun. Idempotent. */
  leave(): void;
  /** Ends the request and returns the seats that it still has. Idempotent. */
  end(): void;
}

export interface LimitedRequest {
  readonly exchange: Exchange;
  readonly info: RequestInfo;
  readonly user: UserInfo;
  /** The time when the request asks for its place, on the monotonic clock. */
  readonly nowMs: number;
}

export type KindCounts = Readonly<Record<'readOnly' | 'mutating', number>>;

export interface RequestLimit {
  /**
   * Returns the place, or undefined for a refused request, for which it sets Retry-After. Returns a promise if the request has to wait,
   * which ends when the signal of the exchange aborts.
   */
  enter(request: LimitedRequest): RequestPlace | undefined | Promise<RequestPlace | undefined>;
  /** Requests that run now. */
  executing(): KindCounts;
  /** Requests that wait for a place. */
  waiting(): KindCounts;
  /** Metrics of the limit alone. */
  families(): readonly MetricFamily[];
}

/** The place of requests that are not limited. */
export const freePlace: RequestPlace = { leave: () => undefined, end: () => undefined };
