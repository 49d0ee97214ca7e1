// FlowControl decides when each request runs: it finds the request's flow schema, estimates its seats and hands it to the queues of its
// level. Used by http/request/priority-and-fairness.ts. Source: util/flowcontrol/apf_controller.go, apf_filter.go.
import { type CancelTimer, type Clock, systemClock } from '@kapstan/api';
import { runWhole } from '@kapstan/api/internal';
import { runInTurns } from '@kapstan/storage';
import { ActiveSchema, ClassifiedRequest } from './active-schema.ts';
import type { AskedRequest } from './fair-queue.ts';
import { FlowClassifier } from './flow-classifier.ts';
import { FlowCounts } from './flow-counts.ts';
import type { FlowConfiguration, FlowSchema, PriorityLevelConfig } from './flow-schema.ts';
import { InFlightRequests } from './in-flight-requests.ts';
import { isUsable, PriorityLevel } from './priority-level.ts';
import { adjustLimits, nominalLimits, widestRequest } from './seat-limits.ts';
import { WatchTracker } from './watch-tracker.ts';
import { WorkEstimator, type WorkEstimatorPorts } from './work-estimator.ts';

/** Options of {@link FlowControl}. */
export interface FlowControlOptions extends Omit<WorkEstimatorPorts, 'watches'> {
  /** Total number of seats of all levels. At least 1. */
  readonly seats: number;
  /**
   * Configuration that applies until {@link FlowControl.configure} is called. It must contain the level of its
   * fallback.
   */
  readonly configuration: FlowConfiguration;
  /** Resource → field by which caches find watches. */
  readonly watchIndexes: ReadonlyMap<string, string>;
  readonly clock: Clock;
  /**
   * Clock for the seats that writes hold after their end. Default: the real clock, because these seats represent processor use, and no
   * request may wait for a clock that a test has stopped.
   */
  readonly lingerClock?: Clock | undefined;
}

interface ActingSchemas {
  /** The schemas in the order in which the classifier knows them. */
  readonly schemas: readonly ActiveSchema[];
  readonly fallback: ActiveSchema;
  readonly classifier: FlowClassifier;
}

/**
 * Maximum number of rules and subjects of a configuration that is applied in one turn, which takes a millisecond or
 * two.
 */
const smallSize = 2_000;
/** Interval at which the levels' borrowed seats are computed again. Source: borrowingAdjustmentPeriod. */
const adjustmentMs = 10_000;

/** Priority and fairness: decides when each request runs, by FlowSchemas and PriorityLevelConfigurations. */
export class FlowControl {
  readonly #clock: Clock;
  readonly #lingerClock: Clock;
  readonly #seats: number;
  readonly #estimator: WorkEstimator;
  readonly watches: WatchTracker;
  readonly inFlight: InFlightRequests;
  /** Levels of the configuration, and removed levels that still have requests. */
  readonly #levels = new Map<string, PriorityLevel>();
  readonly #counts = new Map<string, FlowCounts>();
  #acting: ActingSchemas;
  #fairFraction = 0;
  #wanted: FlowConfiguration;
  #isBuilding = false;
  #cancelAdjustment: CancelTimer | undefined;
  #isClosed = false;

  constructor(options: FlowControlOptions) {
    const { seats, configuration, watchIndexes, clock } = options;
    this.#clock = clock;
    this.#lingerClock = options.lingerClock ?? systemClock;
    this.#seats = seats;
    this.watches = new WatchTracker(watchIndexes);
    this.#estimator = new WorkEstimator({ ...options, watches: this.watches });
    this.inFlight = new InFlightRequests(clock.monotonicNow());
    this.#wanted = configuration;
    const schemas = inOrder(configuration);
    this.#acting = this.#apply(configuration, schemas, runWhole(FlowClassifier.build(schemas)));
  }

  get levels(): ReadonlyMap<string, PriorityLevel> {
    return this.#levels;
  }

  /** Counts of the configured schemas, and of removed schemas that still have requests. */
  get counts(): Iterable<FlowCounts> {
    return this.#counts.values();
  }

  /** Fraction of its demand that each level was granted in the last adjustment. */
  get fairFraction(): number {
    return this.#fairFraction;
  }

  /** Begins to adjust the limits to the demand of the levels. */
  start(): void {
    if (this.#isClosed) return;
    this.#cancelAdjustment = this.#clock.setBackgroundTimer(() => {
      this.#adjust(this.#clock.monotonicNow());
      this.start();
    }, adjustmentMs);
  }

  /** Stops all timers. Requests that wait must be cancelled by their owners. */
  close(): void {
    this.#isClosed = true;
    this.#cancelAdjustment?.();
    for (const level of this.#levels.values()) level.close();
  }

  /**
   * Applies another configuration: a small one at once, a large one after some turns. Waiting requests keep their places, and a removed
   * level stays until its requests have ended.
   */
  configure(configuration: FlowConfiguration): void {
    this.#wanted = configuration;
    if (!this.#isBuilding) this.#build();
  }

  /** Classifies a request and starts, queues or refuses it; its phase shows which. */
  admit(asked: AskedRequest, nowMs: number): ClassifiedRequest {
    const { classifier, schemas, fallback } = this.#acting;
    const active = schemas[classifier.find(asked.user, asked.target)] ?? fallback;
    const { level, counts } = active;
    const request = new ClassifiedRequest(active, asked, nowMs);
    const estimate = this.#estimator.estimate(asked.target, asked.query, level.widestRequest);
    request.take(estimate);
    counts.seats.observe(request.maxSeats);
    if (estimate.watchCount !== undefined) counts.watches.observe(estimate.watchCount);
    request.distinguisher = active.distinguisherOf(asked.user, asked.target);
    level.queues.start(request, active.handOf(request.distinguisher), nowMs);
    if (request.phase === 'executing') this.#begin(request, nowMs);
    else if (request.phase === 'refused') this.#refuse(request, nowMs);
    else this.#wait(request, nowMs);
    return request;
  }

  /** Ends a running request. Idempotent. */
  finish(request: ClassifiedRequest): void {
    if (request.phase !== 'executing') return;
    const nowMs = this.#clock.monotonicNow();
    const { level, counts } = request.active;
    this.inFlight.end(request.isMutating, nowMs);
    (request.isWatch ? counts.watchStarts : counts.executions).observe(nowMs - request.startedMs);
    level.finish(request, nowMs);
    if (level.isQuiescing) this.#reap(level);
  }

  /** Gives up a request that still waits. */
  cancel(request: ClassifiedRequest): void {
    if (request.phase !== 'waiting') return;
    const nowMs = this.#clock.monotonicNow();
    const { level } = request.active;
    this.inFlight.stopWaiting(request.isMutating, nowMs);
    level.queues.cancel(request, nowMs);
    this.#refuse(request, nowMs);
    if (level.isQuiescing) this.#reap(level);
  }

  #begin(request: ClassifiedRequest, nowMs: number): void {
    const { counts, level } = request.active;
    this.inFlight.begin(request.isMutating, nowMs);
    if (!level.isUnlimited) counts.waits.observe(nowMs - request.arrivedMs);
  }

  #wait(request: ClassifiedRequest, nowMs: number): void {
    this.inFlight.wait(request.isMutating, nowMs);
    request.onStart = () => {
      this.inFlight.stopWaiting(request.isMutating, request.startedMs);
      this.#begin(request, request.startedMs);
      request.onAdmitted?.();
    };
  }

  #refuse(request: ClassifiedRequest, nowMs: number): void {
    const { counts, level } = request.active;
    counts.vainWaits.observe(nowMs - request.arrivedMs);
    level.dropped.record(Math.floor(nowMs / 1000));
  }

  #build(): void {
    const configuration = this.#wanted;
    const schemas = inOrder(configuration);
    const building = FlowClassifier.build(schemas);
    const built = isSmall(schemas) ? runWhole(building) : runInTurns(building);
    if (!(built instanceof Promise)) {
      this.#acting = this.#apply(configuration, schemas, built);
      return;
    }
    this.#isBuilding = true;
    void built.then((classifier) => {
      this.#isBuilding = false;
      if (this.#isClosed) return;
      this.#acting = this.#apply(configuration, schemas, classifier);
      if (this.#wanted !== configuration) this.#build();
    });
  }

  /** Atomic: levels, limits and classifier change together. */
  #apply(configuration: FlowConfiguration, ordered: readonly FlowSchema[], classifier: FlowClassifier): ActingSchemas {
    const configs = new Map(configuration.levels.filter(isUsable).map((config) => [config.name, config]));
    for (const config of configs.values()) this.#configureLevel(config);
    for (const level of [...this.#levels.values()]) {
      level.isQuiescing = !configs.has(level.config.name);
      if (level.isQuiescing) this.#forgetIdle(level);
    }
    const schemas = ordered.map((schema) => this.#activate(schema));
    const fallback = schemas.find(({ schema }) => schema.name === configuration.fallback) ?? schemas.at(-1);
    if (fallback === undefined) throw new TypeError('a configuration needs a flow schema whose priority level exists');
    this.#forgetCounts(schemas);
    this.#divide(this.#clock.monotonicNow());
    return { schemas, fallback, classifier };
  }

  #configureLevel(config: PriorityLevelConfig): void {
    const known = this.#levels.get(config.name);
    if (known === undefined)
      this.#levels.set(config.name, new PriorityLevel(config, { clock: this.#clock, lingerClock: this.#lingerClock }));
    else known.config = config;
  }

  #activate(schema: FlowSchema): ActiveSchema {
    const level = this.#levels.get(schema.levelName);
    if (level === undefined) throw new Error(`the priority level "${schema.levelName}" does not exist`);
    const key = `${level.config.name}/${schema.name}`;
    const counts = this.#counts.get(key) ?? new FlowCounts(schema.name, level.config.name);
    this.#counts.set(key, counts);
    return new ActiveSchema(schema, level, counts);
  }

  /** Counts of a removed schema are kept as long as it has requests. */
  #forgetCounts(schemas: readonly ActiveSchema[]): void {
    const acting = new Set(schemas.map(({ counts }) => counts));
    for (const [key, counts] of this.#counts) if (!acting.has(counts) && !counts.isUsed) this.#counts.delete(key);
  }

  #forgetIdle(level: PriorityLevel): boolean {
    if (!level.queues.isIdle) return false;
    level.close();
    this.#levels.delete(level.config.name);
    return true;
  }

  /** Removes a level that is no longer configured and has served its last request. */
  #reap(level: PriorityLevel): void {
    if (!this.#forgetIdle(level)) return;
    this.#forgetCounts(this.#acting.schemas);
    this.#divide(this.#clock.monotonicNow());
  }

  /** Divides the seats among the levels by their shares. */
  #divide(nowMs: number): void {
    const levels = [...this.#levels.values()];
    const shares = levels.reduce((sum, { config }) => sum + config.shares, 0);
    let places = 0;
    for (const level of levels) {
      const isNew = level.limits.max === 0;
      level.limits = nominalLimits(level.config, this.#seats, shares);
      const { nominal, min } = level.limits;
      level.widestRequest = widestRequest(level.config, level.limits);
      if (isNew) level.current = { current: nominal - Math.floor((nominal - min) / 2), target: 0 };
      const { queuing } = level.config;
      if (typeof queuing !== 'string') places += queuing.queues * queuing.queueLengthLimit;
    }
    this.inFlight.setLimits(
      { waiting: places, executing: levels.reduce((sum, { limits }) => sum + limits.nominal, 0) },
      nowMs,
    );
    this.#adjust(nowMs);
  }

  /** Lends and borrows seats according to the demand of the levels since the last adjustment. */
  #adjust(nowMs: number): void {
    const levels = [...this.#levels.values()];
    for (const { demand } of levels) demand.endPeriod(nowMs);
    const { limits, fairFraction } = adjustLimits(
      levels.map(({ limits: own, isUnlimited, demand, current: { current } }) => ({
        limits: own,
        isUnlimited,
        highWatermark: demand.highWatermark,
        smoothed: demand.smoothed,
        current,
      })),
    );
    this.#fairFraction = fairFraction;
    const spare = Math.max(1, Math.round(this.#seats / 10));
    for (const [index, level] of levels.entries()) level.setCurrent(limits[index] ?? level.current, spare, nowMs);
  }
}

/** Returns the schemas whose level exists, in the order in which they are asked. Source: apihelpers FlowSchemaSequence. */
function inOrder({ schemas, levels }: FlowConfiguration): readonly FlowSchema[] {
  const usable = new Set(levels.filter(isUsable).map(({ name }) => name));
  return schemas
    .filter(({ levelName }) => usable.has(levelName))
    .sort((a, b) => a.precedence - b.precedence || (a.name < b.name ? -1 : 1));
}

function isSmall(schemas: readonly FlowSchema[]): boolean {
  let size = 0;
  for (const { rules } of schemas)
    for (const { subjects, resourceRules, pathRules } of rules)
      size += 1 + subjects.length + resourceRules.length + pathRules.length;
  return size <= smallSize;
}
