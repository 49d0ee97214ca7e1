// ControllerMetrics: the metrics of a manager in Prometheus' format, with the names of client-go and
// controller-runtime. Filled by work queues, controller-runner.ts and the manager; shown by probe-server.ts.
import diagnostics_channel from 'node:diagnostics_channel';
import { type Clock, systemClock } from '@kapstan/api';
import {
  type OptionTable,
  objectWith,
  optional,
  type RequestMeasure,
  RequestMetrics,
  requireClock,
} from '@kapstan/api/internal';
import { InformerMetrics } from '@kapstan/informers';
import { requirePartOptions } from '../guards/part-options.ts';
import { isTerminalError, type ReconcileOutcome } from '../reconcile/reconcile-loop.ts';
import type { WorkQueueObserver } from '../workqueue/index.ts';
import { Counter, Gauge, Histogram, Registry } from './prometheus.ts';
import { registerFamilies } from './registered-families.ts';

// Source: controller-runtime pkg/metrics/workqueue.go and pkg/internal/controller/metrics.
const queueBuckets = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1, 10, 100, 1000];
const reconcileBuckets = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.25, 1.5, 1.75, 2,
  2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60,
];
const results = ['success', 'error', 'requeue', 'requeue_after'] as const;

interface QueueTimes {
  readonly addedAtMs: Map<string, number>;
  readonly startedAtMs: Map<string, number>;
}

/** Since when the keys of a queue wait and are worked on, by the monotonic clock. The first one is the oldest. */
export interface QueueAges {
  readonly addedAtMs: ReadonlyMap<string, number>;
  readonly startedAtMs: ReadonlyMap<string, number>;
}

interface ControllerMetricsOptions {
  readonly registry?: Registry | undefined;
  readonly clock?: Clock | undefined;
}

const table: OptionTable<ControllerMetricsOptions> = {
  registry: optional(objectWith('registerMetric', 'metrics')),
  clock: requireClock,
};

/** A manager has one. In your own loop, call {@link ControllerMetrics.queueObserver} and the similar methods. */
export class ControllerMetrics {
  /** The metrics, to be shown or merged into another registry. */
  readonly registry: Registry;
  readonly #clock: Clock;
  readonly #queues = new Map<string, QueueTimes>();
  readonly #depth: Gauge;
  readonly #adds: Counter;
  readonly #retries: Counter;
  readonly #queueSeconds: Histogram;
  readonly #workSeconds: Histogram;
  readonly #reconciles: Counter;
  readonly #errors: Counter;
  readonly #terminalErrors: Counter;
  readonly #timeouts: Counter;
  readonly #reconcileSeconds: Histogram;
  readonly #maxWorkers: Gauge;
  readonly #activeWorkers: Gauge;
  readonly #leader: Gauge;
  readonly #slowRenewals: Counter;
  readonly #requests = new RequestMetrics();
  /** Informers show themselves here, see {@link InformerMetrics.named}. */
  readonly informers: InformerMetrics = new InformerMetrics();

  /** Throws TypeError on bad options. */
  constructor(options: ControllerMetricsOptions = {}) {
    requirePartOptions(options, table, 'ControllerMetrics');
    const { registry = new Registry(), clock = systemClock } = options;
    this.registry = registry;
    this.#clock = clock;
    const registers = [registry];
    const queue = { labelNames: ['name', 'controller'], registers };
    const own = { labelNames: ['controller'], registers };
    this.#depth = new Gauge({
      name: 'workqueue_depth',
      help: 'Keys waiting, by priority.',
      labelNames: [...queue.labelNames, 'priority'],
      registers,
    });
    this.#adds = new Counter({ name: 'workqueue_adds_total', help: 'Keys added to the queue.', ...queue });
    this.#retries = new Counter({ name: 'workqueue_retries_total', help: 'Keys added for a later retry.', ...queue });
    const timed = { ...queue, buckets: queueBuckets };
    this.#queueSeconds = new Histogram({
      name: 'workqueue_queue_duration_seconds',
      help: 'Time that keys waited.',
      ...timed,
    });
    this.#workSeconds = new Histogram({
      name: 'workqueue_work_duration_seconds',
      help: 'Time that workers had keys.',
      ...timed,
    });
    this.#ages('workqueue_unfinished_work_seconds', 'Time spent so far on all keys in work, summed.', sum);
    this.#ages('workqueue_longest_running_processor_seconds', 'Time spent so far on the oldest key in work.', (ages) =>
      Math.max(0, ...ages),
    );
    this.#reconciles = new Counter({
      name: 'controller_runtime_reconcile_total',
      help: 'Reconciles by result.',
      labelNames: ['controller', 'result'],
      registers,
    });
    const counter = (name: string, help: string): Counter =>
      new Counter({ name: `controller_runtime_${name}_total`, help, ...own });
    this.#errors = counter('reconcile_errors', 'Failed reconciles.');
    this.#terminalErrors = counter('terminal_reconcile_errors', 'Reconciles that ended with a TerminalError.');
    this.#timeouts = counter('reconcile_timeouts', 'Reconciles aborted because they took too long.');
    this.#reconcileSeconds = new Histogram({
      name: 'controller_runtime_reconcile_time_seconds',
      help: 'Time that reconciles took.',
      buckets: reconcileBuckets,
      ...own,
    });
    this.#maxWorkers = new Gauge({ name: 'controller_runtime_max_concurrent_reconciles', help: 'Workers.', ...own });
    this.#activeWorkers = new Gauge({
      name: 'controller_runtime_active_workers',
      help: 'Workers that reconcile at present.',
      ...own,
    });
    const lease = { labelNames: ['name'], registers };
    this.#leader = new Gauge({
      name: 'leader_election_master_status',
      help: 'Whether this process holds the lease: 1, else 0.',
      ...lease,
    });
    this.#slowRenewals = new Counter({
      name: 'leader_election_slowpath_total',
      help: 'Renewals of the lease that had to read it first.',
      ...lease,
    });
    registerFamilies(this.#requests, registry);
    registerFamilies(this.informers, registry);
  }

  /** Returns the observer for a work queue of that name. */
  queueObserver(name: string): WorkQueueObserver<string> {
    const times: QueueTimes = { addedAtMs: new Map(), startedAtMs: new Map() };
    this.#queues.set(name, times);
    const labels = { name, controller: name };
    // The counter is shown from the start, so that a rate over it begins at 0.
    this.#adds.inc(labels, 0);
    this.#retries.inc(labels, 0);
    // "" for queues without priorities, as in controller-runtime.
    const waiting = (priority: number | undefined) => ({ ...labels, priority: String(priority ?? '') });
    return {
      added: (key, priority) => {
        this.#adds.inc(labels);
        this.#depth.inc(waiting(priority));
        times.addedAtMs.set(key, this.#clock.monotonicNow());
      },
      raised: (_key, from, to) => {
        this.#depth.dec(waiting(from));
        this.#depth.inc(waiting(to));
      },
      started: (key, priority) => {
        this.#depth.dec(waiting(priority));
        this.#queueSeconds.observe(labels, this.#secondsSince(times.addedAtMs, key));
        times.startedAtMs.set(key, this.#clock.monotonicNow());
      },
      finished: (key) => this.#workSeconds.observe(labels, this.#secondsSince(times.startedAtMs, key)),
      retried: () => this.#retries.inc(labels),
    };
  }

  /** Returns the ages of the keys in a queue of that name. Live: it changes with the queue. */
  queueAges(name: string): QueueAges | undefined {
    return this.#queues.get(name);
  }

  /** Records a new controller. */
  controllerAdded(controller: string, workers: number): void {
    this.#maxWorkers.set({ controller }, workers);
    this.#activeWorkers.set({ controller }, 0);
    for (const result of results) this.#reconciles.inc({ controller, result }, 0);
    this.#errors.inc({ controller }, 0);
    this.#terminalErrors.inc({ controller }, 0);
    this.#timeouts.inc({ controller }, 0);
  }

  /** Records the begin of a run; call the result when it has ended. */
  reconcileStarted(controller: string): () => void {
    const startedAtMs = this.#clock.monotonicNow();
    this.#activeWorkers.inc({ controller });
    return () => {
      this.#activeWorkers.dec({ controller });
      this.#reconcileSeconds.observe({ controller }, (this.#clock.monotonicNow() - startedAtMs) / 1000);
    };
  }

  /** Records that a run has exceeded its time. */
  reconcileTimedOut(controller: string): void {
    this.#timeouts.inc({ controller });
  }

  /** Records the result of a run. */
  reconcileEnded(controller: string, outcome: ReconcileOutcome): void {
    this.#reconciles.inc({ controller, result: resultOf(outcome) });
    if (outcome.type !== 'failed') return;
    this.#errors.inc({ controller });
    if (isTerminalError(outcome.error)) this.#terminalErrors.inc({ controller });
  }

  /** Records that this process begins or ceases to hold the lease of that name, or to want it. */
  leaderChanged(name: string, isLeader: boolean): void {
    this.#leader.set({ name }, isLeader ? 1 : 0);
    this.#slowRenewals.inc({ name }, 0);
  }

  /** Records a renewal that could not be written directly from the last write. */
  renewedSlowly(name: string): void {
    this.#slowRenewals.inc({ name });
  }

  /** Counts the requests of @kapstan/client in this process until the result is called. */
  followRequests(): () => void {
    const onRequest = (message: unknown): void => this.#requests.observe(message as RequestMeasure);
    diagnostics_channel.subscribe('kapstan:client:request', onRequest);
    return () => {
      diagnostics_channel.unsubscribe('kapstan:client:request', onRequest);
    };
  }

  /** Returns a gauge of the ages of keys in work, computed on demand. */
  #ages(name: string, help: string, combine: (secondsOfEach: readonly number[]) => number): void {
    const secondsOf = ({ startedAtMs }: QueueTimes): readonly number[] =>
      [...startedAtMs.values()].map((since) => (this.#clock.monotonicNow() - since) / 1000);
    const queues = this.#queues;
    new Gauge({
      name,
      help,
      labelNames: ['name', 'controller'],
      registers: [this.registry],
      collect() {
        for (const [queue, times] of queues) this.set({ name: queue, controller: queue }, combine(secondsOf(times)));
      },
    });
  }

  #secondsSince(times: Map<string, number>, key: string): number {
    const now = this.#clock.monotonicNow();
    const since = times.get(key) ?? now;
    times.delete(key);
    return (now - since) / 1000;
  }
}

function resultOf(outcome: ReconcileOutcome): (typeof results)[number] {
  if (outcome.type === 'failed') return 'error';
  if (outcome.requeueAfterMs === undefined) return 'success';
  return outcome.requeueAfterMs > 0 ? 'requeue_after' : 'requeue';
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
