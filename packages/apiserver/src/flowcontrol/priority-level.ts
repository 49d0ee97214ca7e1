// PriorityLevel is one level of the acting configuration: its queues, its limits and its measurements. Made and configured by
// flow-control.ts. Source: apf_controller.go priorityLevelState.
import type { CancelTimer, Clock } from '@kapstan/api';
import { DroppedRequests } from './dropped-requests.ts';
import type { FlowRequest } from './fair-queue.ts';
import type { PriorityLevelConfig } from './flow-schema.ts';
import { QueueSet } from './queue-set.ts';
import { SeatDemand } from './seat-demand.ts';
import type { CurrentLimit, SeatLimits } from './seat-limits.ts';
import { isDealable } from './shuffle-sharding.ts';
import { TimedRatio } from './timed-ratio.ts';

const utilizationBounds = [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1];
const requestBounds = [0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.25, 0.5, 0.75, 1];
const demandBounds = [0.2, 0.4, 0.6, 0.8, 1, 1.2, 1.4, 1.7, 2, 2.8, 4, 6];

/** Histograms over time. Source: metrics.go, vectors of TimingRatioHistogram. */
interface LevelRatios {
  readonly seats: TimedRatio;
  readonly waiting: TimedRatio;
  readonly executing: TimedRatio;
  readonly demand: TimedRatio;
}

interface LevelClocks {
  readonly clock: Clock;
  /** Times the seats that requests hold after their end. */
  readonly lingerClock: Clock;
}

export class PriorityLevel {
  readonly queues: QueueSet;
  readonly demand: SeatDemand;
  readonly ratios: LevelRatios;
  readonly dropped: DroppedRequests = new DroppedRequests();
  readonly #clocks: LevelClocks;
  /** Timers of requests that hold their seats for a while. */
  readonly #lingering = new Map<FlowRequest, CancelTimer>();
  #config: PriorityLevelConfig;
  limits: SeatLimits = { nominal: 0, min: 0, max: 0 };
  /** The current limit, and the smoothed target that it follows. */
  current: CurrentLimit = { current: 0, target: 0 };
  /** Undefined = the level sets no bound. */
  widestRequest: number | undefined;
  /** True for a level that is no longer configured and disappears with its last request. */
  isQuiescing = false;

  constructor(config: PriorityLevelConfig, clocks: LevelClocks) {
    const nowMs = clocks.clock.monotonicNow();
    this.#config = config;
    this.#clocks = clocks;
    this.demand = new SeatDemand(nowMs);
    this.ratios = {
      seats: new TimedRatio(utilizationBounds, nowMs),
      waiting: new TimedRatio(requestBounds, nowMs),
      executing: new TimedRatio(requestBounds, nowMs),
      demand: new TimedRatio(demandBounds, nowMs),
    };
    this.queues = new QueueSet(
      { limit: 0, queuing: config.queuing },
      { nowMs, onChange: (changedMs) => this.#measure(changedMs) },
    );
  }

  get config(): PriorityLevelConfig {
    return this.#config;
  }

  set config(config: PriorityLevelConfig) {
    this.#config = config;
  }

  get isUnlimited(): boolean {
    return this.#config.queuing === 'unlimited';
  }

  /**
   * Applies a new limit and starts the requests that now have room. `spare` is the divisor of ratios of a level without
   * seats.
   */
  setCurrent(current: CurrentLimit, spare: number, nowMs: number): void {
    const { queuing } = this.#config;
    this.current = current;
    const divisor = current.current > 0 ? current.current : spare;
    this.ratios.seats.setDenominator(divisor, nowMs);
    this.ratios.executing.setDenominator(divisor, nowMs);
    this.ratios.demand.setDenominator(divisor, nowMs);
    const places = typeof queuing === 'string' ? 1 : queuing.queues * Math.max(1, queuing.queueLengthLimit);
    this.ratios.waiting.setDenominator(places, nowMs);
    this.queues.configure({ limit: current.current, queuing }, nowMs);
  }

  /** Ends a running request; seats that it holds longer are freed by a timer. */
  finish(request: FlowRequest, nowMs: number): void {
    this.queues.finish(request, nowMs);
    if (request.phase !== 'lingering') return;
    const { clock, lingerClock } = this.#clocks;
    const release = (): void => {
      this.#lingering.delete(request);
      this.queues.release(request, clock.monotonicNow());
    };
    this.#lingering.set(request, lingerClock.setBackgroundTimer(release, request.lingerMs));
  }

  /** Stops all timers. */
  close(): void {
    for (const cancel of this.#lingering.values()) cancel();
    this.#lingering.clear();
  }

  #measure(nowMs: number): void {
    const { waiting, executing, seatsInUse, seatsWaiting } = this.queues;
    const { ratios } = this;
    ratios.waiting.set(waiting, nowMs);
    ratios.executing.set(executing, nowMs);
    ratios.seats.set(seatsInUse, nowMs);
    ratios.demand.set(seatsInUse + seatsWaiting, nowMs);
    this.demand.set(seatsInUse + seatsWaiting, nowMs);
  }
}

/** Returns false for queues that cannot be dealt in hands; such a configuration is ignored. */
export function isUsable({ queuing }: PriorityLevelConfig): boolean {
  return typeof queuing === 'string' || isDealable(queuing.queues, queuing.handSize);
}
