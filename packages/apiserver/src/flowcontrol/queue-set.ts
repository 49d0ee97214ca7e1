// QueueSet holds the queues of one level and picks the next request: the one that would finish first if all queues shared the seats evenly.
// It is pure: time is passed in with each call. Used by priority-level.ts. Source: util/flowcontrol/fairqueuing/queueset.

import { FairQueue, type FlowRequest } from './fair-queue.ts';
import type { RefusalReason } from './flow-counts.ts';
import type { Queuing } from './flow-schema.ts';
import { RequestList } from './request-list.ts';
import { meterLimit, meterStep, msPerSeat, type SeatSeconds, seatSeconds } from './seat-seconds.ts';

export interface QueueSetLimits {
  /** Number of seats. Ignored where there is no limit. */
  readonly limit: number;
  /** 'none': requests that find no seat are refused. 'unlimited': every request finds a seat. */
  readonly queuing: Queuing | 'none' | 'unlimited';
}

/** Progress meters at the last choice of a queue. */
export interface DispatchReading {
  meter: SeatSeconds;
  /** Meter of the chosen queue, and the lowest and highest meter of all queues with waiting requests. */
  chosen: SeatSeconds;
  min: SeatSeconds;
  max: SeatSeconds;
  /** The same less the work under way. */
  minDiscounted: SeatSeconds;
  maxDiscounted: SeatSeconds;
}

/** Duration assumed for a request that is dispatched, until it ends and its real duration is known. Source: queueset estimatedServiceDuration. */
const estimatedMs = 3;
/** Idle queues beyond this number are forgotten. */
const maxIdleQueues = 1024;

export class QueueSet {
  /** Called after each change of the counts below. */
  readonly #onChange: (nowMs: number) => void;
  #limits: QueueSetLimits;
  readonly #queues = new Map<number, FairQueue>();
  /** Queues with waiting requests, in no order. */
  readonly #busy: FairQueue[] = [];
  /** Running requests that came through no queue. */
  readonly #queueless = new RequestList<FlowRequest>();
  #meter: SeatSeconds = 0;
  #syncedMs: number;
  #activeQueues = 0;
  /** Number of seats that requests of queues use, and the number that waiting requests need. */
  #queueSeatsInUse = 0;
  /** Index of the queue from which the last request was taken. */
  #robinIndex = 0;
  #enqueued = 0;
  readonly #reading: DispatchReading = { meter: 0, chosen: 0, min: 0, max: 0, minDiscounted: 0, maxDiscounted: 0 };
  waiting = 0;
  executing = 0;
  seatsInUse = 0;
  seatsWaiting = 0;
  /** Numbers since the start. */
  readonly totals = { dispatched: 0, refused: 0, cancelled: 0, epochs: 0 };

  constructor(limits: QueueSetLimits, { nowMs, onChange }: { nowMs: number; onChange: (nowMs: number) => void }) {
    this.#limits = limits;
    this.#syncedMs = nowMs;
    this.#onChange = onChange;
  }

  get isIdle(): boolean {
    return this.waiting === 0 && this.executing === 0;
  }

  get meter(): SeatSeconds {
    return this.#meter;
  }

  get lastDispatch(): Readonly<DispatchReading> {
    return this.#reading;
  }

  /** The existing queues: idle ones may be absent. */
  get queues(): ReadonlyMap<number, FairQueue> {
    return this.#queues;
  }

  get queueless(): Iterable<FlowRequest> {
    return this.#queueless;
  }

  /** Takes new limits. Requests that wait keep waiting in their queues, also in queues that get no new requests. */
  configure(limits: QueueSetLimits, nowMs: number): void {
    this.#syncTime(nowMs);
    this.#limits = limits;
    this.#dispatchAll(nowMs);
    this.#onChange(nowMs);
  }

  /**
   * Starts the request, queues it, or refuses it; its phase says which. `hand` lists the queues in which it may wait.
   */
  start(request: FlowRequest, hand: readonly number[], nowMs: number): void {
    this.#syncTime(nowMs);
    request.finalWork = seatSeconds(request.finalSeats, request.lingerMs);
    request.totalWork = seatSeconds(request.initialSeats, estimatedMs) + request.finalWork;
    request.arrivalMeter = this.#meter;
    const { queuing } = this.#limits;
    if (typeof queuing === 'string') this.#startWithoutQueue(request, nowMs);
    else if (this.#enqueue(request, hand, queuing.queueLengthLimit)) this.#dispatchAll(nowMs);
    this.#onChange(nowMs);
  }

  /** Removes a waiting request from its queue. */
  cancel(request: FlowRequest, nowMs: number): void {
    const { queue } = request;
    if (request.phase !== 'waiting' || queue === undefined) return;
    this.#syncTime(nowMs);
    this.#leaveQueue(request, queue);
    this.totals.cancelled++;
    this.#refuse(request, 'time-out');
    queue.boundNextDispatch();
    this.#settle(queue);
    // The next request may need fewer seats than the one that ended.
    this.#dispatchAll(nowMs);
    this.#onChange(nowMs);
  }

  /** Ends a running request. Its seats stay taken if it lingers; the caller then calls {@link QueueSet.release} after that time. */
  finish(request: FlowRequest, nowMs: number): void {
    if (request.phase !== 'executing') return;
    this.#syncTime(nowMs);
    this.executing--;
    request.counts.executing--;
    const { queue } = request;
    if (queue === undefined) this.#queueless.remove(request);
    else {
      queue.executing.remove(request);
      // The dispatch assumed an estimate; now the actual time is known.
      queue.nextDispatch -= seatSeconds(request.initialSeats, estimatedMs - (nowMs - request.startedMs));
      queue.boundNextDispatch();
      if (!queue.isActive) this.#activeQueues--;
    }
    if (request.lingerMs > 0) request.phase = 'lingering';
    else this.#freeSeats(request);
    this.#dispatchAll(nowMs);
    this.#onChange(nowMs);
  }

  /** Frees the seats of a request that lingers. */
  release(request: FlowRequest, nowMs: number): void {
    if (request.phase !== 'lingering') return;
    this.#syncTime(nowMs);
    this.#freeSeats(request);
    this.#dispatchAll(nowMs);
    this.#onChange(nowMs);
  }

  /**
   * Moves the progress meter on. It shows for how many seat-seconds each active queue could have had seats, if they had been shared evenly
   * at each moment.
   */
  #syncTime(nowMs: number): void {
    const passedMs = nowMs - this.#syncedMs;
    this.#syncedMs = nowMs;
    if (this.#activeQueues === 0 || passedMs <= 0) return;
    const wanted = Math.min(this.#queueSeatsInUse + this.seatsWaiting, this.#limits.limit);
    this.#meter += seatSeconds(wanted / this.#activeQueues, passedMs);
    if (this.#meter >= meterLimit) this.#setMeterBack();
  }

  #setMeterBack(): void {
    this.#meter -= meterStep;
    this.totals.epochs++;
    for (const queue of this.#queues.values()) {
      // An idle queue gets the meter's value with its next request, so its own does not matter. A queue far behind the
      // meter stops at one step below zero, because its lag is bounded by its next request anyway.
      queue.nextDispatch = queue.isActive ? Math.max(queue.nextDispatch - meterStep, -meterStep) : 0;
      for (const request of queue.waiting) request.arrivalMeter -= meterStep;
    }
  }

  #startWithoutQueue(request: FlowRequest, nowMs: number): void {
    if (!this.#hasSeats(request.maxSeats)) return this.#refuse(request, 'concurrency-limit');
    this.#queueless.add(request);
    this.#run(request, nowMs);
  }

  /** Returns false after refusing the request. */
  #enqueue(request: FlowRequest, hand: readonly number[], lengthLimit: number): boolean {
    const queue = this.#shortestOf(hand);
    if (this.seatsInUse >= this.#limits.limit && queue.waiting.length >= lengthLimit) {
      this.#refuse(request, 'queue-full');
      return false;
    }
    if (!queue.isActive) {
      queue.nextDispatch = this.#meter;
      this.#activeQueues++;
    }
    request.queue = queue;
    request.phase = 'waiting';
    queue.enqueue(request);
    if (queue.busyIndex < 0) queue.busyIndex = this.#busy.push(queue) - 1;
    this.waiting++;
    this.seatsWaiting += request.maxSeats;
    request.counts.waiting++;
    request.counts.seatsWaiting += request.maxSeats;
    request.counts.queueLengths.observe(queue.waiting.length);
    queue.boundNextDispatch();
    return true;
  }

  /**
   * Returns the queue of the hand with the least waiting work. Each request starts at another card of the hand, so that flows with common
   * cards spread.
   */
  #shortestOf(hand: readonly number[]): FairQueue {
    const offset = this.#enqueued % hand.length;
    this.#enqueued++;
    let shortest = this.#queueAt(hand[offset] ?? 0);
    for (let i = 1; i < hand.length && shortest.workWaiting > 0; i++) {
      const queue = this.#queueAt(hand[(offset + i) % hand.length] ?? 0);
      if (queue.workWaiting < shortest.workWaiting) shortest = queue;
    }
    return shortest;
  }

  #queueAt(index: number): FairQueue {
    const known = this.#queues.get(index);
    if (known !== undefined) return known;
    const queue = new FairQueue(index);
    this.#queues.set(index, queue);
    return queue;
  }

  #dispatchAll(nowMs: number): void {
    while (this.waiting > 0 && this.seatsInUse < this.#limits.limit && this.#dispatchNext(nowMs));
  }

  /** Returns false when the request that is next needs more seats than there are. */
  #dispatchNext(nowMs: number): boolean {
    const queue = this.#nextQueue();
    const request = queue?.waiting.first;
    if (queue === undefined || request === undefined) return false;
    if (!this.#hasSeats(request.maxSeats)) {
      request.counts.unaccommodated++;
      return false;
    }
    this.#robinIndex = queue.index;
    this.#leaveQueue(request, queue);
    this.#narrow(request);
    queue.executing.add(request);
    queue.seatsInUse += request.maxSeats;
    this.#queueSeatsInUse += request.maxSeats;
    this.#run(request, nowMs);
    queue.nextDispatch += request.totalWork;
    queue.boundNextDispatch();
    return true;
  }

  /** More final seats than the limit would never be free together, so fewer seats are held for a longer time. */
  #narrow(request: FlowRequest): void {
    const { limit } = this.#limits;
    if (request.finalSeats <= limit) return;
    request.lingerMs = msPerSeat(request.finalWork, limit);
    request.finalSeats = limit;
    request.maxSeats = Math.max(request.initialSeats, limit);
  }

  /** Returns the queue that would be first to finish its oldest request. Between equal ones the round robin decides. */
  #nextQueue(): FairQueue | undefined {
    let next: FairQueue | undefined;
    let finish = Number.POSITIVE_INFINITY;
    for (const queue of this.#busy) {
      const ownFinish = queue.nextDispatch + (queue.waiting.first?.totalWork ?? 0);
      if (ownFinish > finish || (ownFinish === finish && next !== undefined && this.#isEarlier(next, queue))) continue;
      next = queue;
      finish = ownFinish;
    }
    if (next !== undefined) this.#read(next);
    return next;
  }

  #read(chosen: FairQueue): void {
    const reading = this.#reading;
    reading.meter = this.#meter;
    reading.chosen = chosen.nextDispatch;
    reading.min = reading.minDiscounted = Number.POSITIVE_INFINITY;
    reading.max = reading.maxDiscounted = Number.NEGATIVE_INFINITY;
    for (const { nextDispatch, seatsInUse } of this.#busy) {
      const discounted = nextDispatch - seatSeconds(seatsInUse, estimatedMs);
      reading.min = Math.min(reading.min, nextDispatch);
      reading.max = Math.max(reading.max, nextDispatch);
      reading.minDiscounted = Math.min(reading.minDiscounted, discounted);
      reading.maxDiscounted = Math.max(reading.maxDiscounted, discounted);
    }
  }

  /** Returns whether `a` comes before `b` in the round that begins after the last served queue. */
  #isEarlier(a: FairQueue, b: FairQueue): boolean {
    const isAfter = (queue: FairQueue): boolean => queue.index > this.#robinIndex;
    return isAfter(a) === isAfter(b) ? a.index < b.index : isAfter(a);
  }

  #hasSeats(seats: number): boolean {
    const { limit, queuing } = this.#limits;
    if (queuing === 'unlimited') return true;
    // A request that is wider than everything runs alone.
    return seats > limit ? this.executing === 0 : this.seatsInUse + seats <= limit;
  }

  #run(request: FlowRequest, nowMs: number): void {
    request.phase = 'executing';
    request.startedMs = nowMs;
    this.executing++;
    this.seatsInUse += request.maxSeats;
    this.totals.dispatched++;
    const { counts } = request;
    counts.executing++;
    counts.dispatched++;
    counts.seatsInUse += request.maxSeats;
    request.onStart?.();
  }

  #refuse(request: FlowRequest, reason: RefusalReason): void {
    request.phase = 'refused';
    request.counts.refused[reason]++;
    this.totals.refused++;
  }

  #leaveQueue(request: FlowRequest, queue: FairQueue): void {
    queue.dequeue(request);
    this.waiting--;
    this.seatsWaiting -= request.maxSeats;
    request.counts.waiting--;
    request.counts.seatsWaiting -= request.maxSeats;
    if (queue.waiting.length > 0) return;
    const last = this.#busy.pop();
    if (last !== undefined && last !== queue) {
      this.#busy[queue.busyIndex] = last;
      last.busyIndex = queue.busyIndex;
    }
    queue.busyIndex = -1;
  }

  #freeSeats(request: FlowRequest): void {
    request.phase = 'ended';
    this.seatsInUse -= request.maxSeats;
    request.counts.seatsInUse -= request.maxSeats;
    const { queue } = request;
    if (queue === undefined) return;
    queue.seatsInUse -= request.maxSeats;
    this.#queueSeatsInUse -= request.maxSeats;
    this.#forget(queue);
  }

  /** Frees the resources of a request that has left its queue without running. */
  #settle(queue: FairQueue): void {
    if (queue.isActive) return;
    this.#activeQueues--;
    this.#forget(queue);
  }

  /** An idle queue has no state worth keeping, so fewer queues than configured need to exist. */
  #forget(queue: FairQueue): void {
    if (this.#queues.size > maxIdleQueues && !queue.isActive && queue.seatsInUse === 0)
      this.#queues.delete(queue.index);
  }
}
