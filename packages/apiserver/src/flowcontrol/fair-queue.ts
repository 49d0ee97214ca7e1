// FlowRequest is one request between its classification and its end; FairQueue is one queue of a level, with the
// requests that wait in it and those that were taken from it and run. active-schema.ts makes requests, queue-set.ts moves them.
import type { UserInfo } from '../registry/definition/request-context.ts';
import type { FlowCounts } from './flow-counts.ts';
import type { FlowTarget } from './flow-schema.ts';
import { RequestList } from './request-list.ts';
import type { SeatSeconds } from './seat-seconds.ts';
import type { WorkEstimate } from './work-estimate.ts';

/** lingering: the request has ended, but its seats are still taken. */
type Phase = 'new' | 'waiting' | 'executing' | 'lingering' | 'ended' | 'refused';

/** A request on arrival. */
export interface AskedRequest {
  readonly user: UserInfo;
  readonly target: FlowTarget;
  readonly query: URLSearchParams;
}

export class FlowRequest {
  readonly counts: FlowCounts;
  readonly target: FlowTarget;
  readonly user: UserInfo;
  readonly arrivedMs: number;
  /** Distinguishes the flows of a schema: the name of a user or of a namespace. */
  distinguisher = '';
  initialSeats = 1;
  finalSeats = 0;
  lingerMs = 0;
  /** The largest number of seats that the request takes at any time. */
  maxSeats = 1;
  phase: Phase = 'new';
  /** Undefined where there are no queues. */
  queue: FairQueue | undefined = undefined;
  startedMs = 0;
  /** The reading of the progress meter on arrival. It has a meaning only while the request waits. */
  arrivalMeter: SeatSeconds = 0;
  totalWork: SeatSeconds = 0;
  finalWork: SeatSeconds = 0;
  /** Called once when a request that had to wait starts to run. */
  onStart: (() => void) | undefined = undefined;
  previous: FlowRequest | undefined = undefined;
  next: FlowRequest | undefined = undefined;

  constructor(counts: FlowCounts, { target, user }: AskedRequest, arrivedMs: number) {
    this.counts = counts;
    this.target = target;
    this.user = user;
    this.arrivedMs = arrivedMs;
  }

  /** Takes over the estimate. Only before the request is queued. */
  take({ initialSeats, finalSeats, lingerMs }: WorkEstimate): void {
    this.initialSeats = initialSeats;
    this.finalSeats = finalSeats;
    this.lingerMs = lingerMs;
    this.maxSeats = Math.max(initialSeats, finalSeats);
  }
}

export class FairQueue {
  readonly index: number;
  readonly waiting: RequestList<FlowRequest> = new RequestList();
  readonly executing: RequestList<FlowRequest> = new RequestList();
  /**
   * The reading of the progress meter at which the oldest waiting request would start in the ideal world, where all queues share the seats
   * evenly. Source: nextDispatchR.
   */
  nextDispatch: SeatSeconds = 0;
  /** Seats of the requests that run or linger. */
  seatsInUse = 0;
  initialSeatsWaiting = 0;
  seatsWaiting = 0;
  workWaiting: SeatSeconds = 0;
  /** Index among the queues with waiting requests; -1 while none waits. */
  busyIndex = -1;

  constructor(index: number) {
    this.index = index;
  }

  /** True while a request waits or runs: the queue then has a share of the seats. */
  get isActive(): boolean {
    return this.waiting.length > 0 || this.executing.length > 0;
  }

  enqueue(request: FlowRequest): void {
    this.waiting.add(request);
    this.initialSeatsWaiting += request.initialSeats;
    this.seatsWaiting += request.maxSeats;
    this.workWaiting += request.totalWork;
  }

  dequeue(request: FlowRequest): void {
    this.waiting.remove(request);
    this.initialSeatsWaiting -= request.initialSeats;
    this.seatsWaiting -= request.maxSeats;
    this.workWaiting -= request.totalWork;
  }

  /**
   * Moves the queue's meter forward to at least the arrival of its waiting request. A queue whose requests ended sooner than estimated must
   * not save up that time for later.
   */
  boundNextDispatch(): void {
    const oldest = this.waiting.first;
    if (oldest !== undefined && this.nextDispatch < oldest.arrivalMeter) this.nextDispatch = oldest.arrivalMeter;
  }
}
