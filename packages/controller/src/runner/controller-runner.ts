// ControllerRunner runs one controller: its sources, its queue, its reconcile loop. It connects the parts
// (controller-sources.ts, reconcile-loop.ts) as controller-builder.ts describes; the manager starts it.

import type {
  Clock,
  DeepReadonly,
  KubernetesObject,
  LogFields,
  Logger,
  ResourceClient,
  WriteObserver,
} from '@kapstan/api';
import { type ErrorText, guardedCall } from '@kapstan/api/internal';

import type { Controller, ReconciledObject } from '../builder/controller-builder.ts';
import { addFinalizer, hasFinalizer, removeFinalizer } from '../builder/finalizer.ts';
import { WantedObjects } from '../builder/prune-children.ts';
import { type ReconcilerContext, reconcilerContext } from '../builder/reconciler-context.ts';
import type { InformerCache } from '../cache/informer-cache.ts';
import { ObservedClient } from '../cache/observed-client.ts';
import type { OwnWrites } from '../cache/own-writes.ts';
import type { EventRecorder } from '../events/event-recorder.ts';
import { stackOnceLogger } from '../guards/stack-once-logger.ts';
import { bothObservers, recordedClient, recordedHandler } from '../inspector/recorded-run.ts';
import { RunHistory } from '../inspector/run-history.ts';
import { WakeCauses } from '../inspector/wake-causes.ts';
import type { ControllerMetrics } from '../metrics/controller-metrics.ts';

import {
  ReconcileLoop,
  type ReconcileRequest,
  type ReconcileResult,
  type SyncContext,
  type SyncHandler,
} from '../reconcile/reconcile-loop.ts';
import { RunsUnderWay } from '../reconcile/runs-under-way.ts';
import { RunTracer, type SharedTracing } from '../tracing/run-tracer.ts';
import { annotatedLink } from '../tracing/trace-annotation.ts';
import { RateLimitingQueue } from '../workqueue/index.ts';
import { rateLimiterOf } from '../workqueue/rate-limiter.ts';
import { ControllerSources } from './controller-sources.ts';

/** Parts that the manager shares with each of its controllers. */
export interface ControllerPorts {
  /** The writer, whose writes are refused when this process may not write. */
  readonly client: ResourceClient;
  readonly cache: InformerCache;
  readonly ownWrites: OwnWrites;
  readonly recorder: EventRecorder;
  readonly metrics: ControllerMetrics;
  readonly gracePeriodMs: number;
  /** Describes errors of runs, which are remembered for the inspector. Undefined = it is off, and nothing is remembered. */
  readonly errorText: ErrorText | undefined;
  /** Undefined where nothing is traced. */
  readonly tracing: SharedTracing | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A controller as the inspector sees it. */
export interface InspectedController {
  readonly controller: Controller;
  readonly queue: RateLimitingQueue<string>;
  readonly history: RunHistory;
}

const defaultSlowAfterMs = 60_000;
interface FinalizeParts {
  readonly client: ResourceClient;
  readonly context: (object: DeepReadonly<KubernetesObject>) => ReconcilerContext<KubernetesObject>;
  readonly shown: () => Promise<void>;
}

export class ControllerRunner {
  readonly #controller: Controller;
  readonly #ports: ControllerPorts;
  readonly #queue: RateLimitingQueue<string>;
  readonly #sources: ControllerSources;
  readonly #runs: RunsUnderWay;
  /** Undefined where the inspector is off. */
  readonly #history: RunHistory | undefined;
  /** Undefined where nothing is traced. */
  readonly #tracer: RunTracer | undefined;
  readonly #userLog: Logger;
  readonly #log: Logger;

  /** Registers its handlers, so start the informers afterwards. Throws TypeError on bad settings. */
  constructor(controller: Controller, ports: ControllerPorts) {
    const { name, settings } = controller;
    const { rateLimiter, priorityQueue = {}, workers = 1, timeoutMs = 0, slowAfterMs = defaultSlowAfterMs } = settings;
    this.#controller = controller;
    this.#ports = ports;
    this.#userLog = withFields(ports.logger, { controller: name });
    this.#log = stackOnceLogger(this.#userLog, ports.clock);
    this.#runs = new RunsUnderWay({
      clock: ports.clock,
      log: this.#log,
      timeoutMs,
      slowAfterMs,
      onTimeout: () => ports.metrics.reconcileTimedOut(name),
    });
    const { errorText, tracing } = ports;
    const causes = errorText === undefined && tracing === undefined ? undefined : new WakeCauses(ports.clock);
    this.#history = causes && errorText && new RunHistory({ causes, errorText });
    this.#tracer = causes && tracing && new RunTracer(controller, tracing, causes);
    const observer = ports.metrics.queueObserver(name);
    this.#queue = new RateLimitingQueue({
      name,
      clock: ports.clock,
      priority: priorityQueue,
      observer: causes === undefined ? observer : bothObservers(observer, causes.observer),
      rateLimiter: rateLimiterOf(rateLimiter, ports.clock),
    });
    ports.metrics.controllerAdded(name, workers);
    const linkOf = tracing && annotatedLink;
    this.#sources = new ControllerSources(controller, { ...ports, queue: this.#queue, causes, linkOf, log: this.#log });
  }

  /** Undefined where the inspector is off. */
  get inspected(): InspectedController | undefined {
    const history = this.#history;
    return history && { controller: this.#controller, queue: this.#queue, history };
  }

  /** Objects of this controller that are being reconciled, for example "pod default/a". */
  get underWay(): readonly string[] {
    return this.#runs.keys.map((key) => `${this.#controller.name} ${key}`);
  }

  /**
   * Works until `stop` aborts, and then for a grace period, or until `lost` aborts. Resolves when nothing is under way.
   */
  async run({ stop, lost }: { readonly stop: AbortSignal; readonly lost: AbortSignal }): Promise<void> {
    const { name, settings } = this.#controller;
    const { clock, metrics, gracePeriodMs } = this.#ports;
    const ends = AbortSignal.any([stop, lost]);
    await settled(this.#sources.whenSynced(), ends);
    await this.#sources.begin(ends);
    const triggers = this.#sources.subscribe();
    const history = this.#history;
    try {
      await new ReconcileLoop({
        queue: this.#queue,
        workers: settings.workers ?? 1,
        gracePeriodMs,
        abort: lost,
        clock,
        logger: this.#userLog,
        reconcile: this.#handler(),
        onOutcome: (outcome) => {
          history?.outcome(outcome);
          metrics.reconcileEnded(name, outcome);
          return settings.onOutcome?.(outcome);
        },
      }).run(stop);
    } finally {
      this.#sources.stop();
      for (const trigger of triggers)
        guardedCall(
          () => trigger.unsubscribe(),
          (error) => this.#log.error('a trigger failed to unsubscribe', { error }),
        );
    }
  }

  // ---- One run ----

  /** Wraps a run in the enabled features, once: disabled ones cost nothing. */
  #handler(): SyncHandler {
    const history = this.#history;
    const recorded = history === undefined ? this.#measured : recordedHandler(history, this.#measured);
    return this.#tracer?.handler(recorded) ?? recorded;
  }

  readonly #measured: SyncHandler = async (request, context) => {
    const ended = this.#ports.metrics.reconcileStarted(this.#controller.name);
    const run = this.#runs.begin(request.key, context.signal);
    try {
      return await this.#reconcile(request, { ...context, signal: run.signal });
    } finally {
      run.end();
      ended();
    }
  };

  async #reconcile(request: ReconcileRequest, { signal, attempt }: SyncContext): Promise<ReconcileResult | undefined> {
    const controller = this.#controller;
    const ports = this.#ports;
    const writer = `${controller.name} ${request.key}`;
    const log = withFields(this.#userLog, { key: request.key });
    const shown = async (): Promise<void> => {
      if (!(await ports.ownWrites.shown(writer)))
        log.warn('the cache did not show our own write in time; continuing without it');
    };
    await shown();
    const cached = ports.cache.reader(controller.resource).get(request);
    if (cached === undefined && controller.gone === undefined) return undefined;
    const wanted = new WantedObjects();
    const { below, observer } = this.#clientParts(request.key, ports.ownWrites.observer(writer));
    const client = new ObservedClient({ client: below, observer, wanted: wanted.add, signal });
    const { cache, recorder, clock } = ports;
    if (cached === undefined) {
      const { namespace, name } = request;
      const tools = { client, signal, attempt, clock, log, cache: cache.reader.bind(cache) };
      return (await controller.gone?.({ namespace, name }, tools)) ?? undefined;
    }
    const { name, resource: kind } = controller;
    const context = (object: DeepReadonly<KubernetesObject>) =>
      reconcilerContext({
        controller: name,
        kind,
        object,
        client,
        cache,
        recorder,
        signal,
        attempt,
        clock,
        log,
        wanted,
        shown,
      });
    if (cached.metadata?.deletionTimestamp !== undefined)
      return await this.#finalize(cached, { client, context, shown });
    let object = cached;
    for (const { name } of controller.finalizers)
      object = await addFinalizer(client, controller.resource, {
        object,
        finalizer: name,
        fieldManager: controller.name,
      });
    return (await controller.reconcile(named(object), context(object))) ?? undefined;
  }

  /** Returns the client below the one of a run, and the observer of its writes. */
  #clientParts(
    key: string,
    observer: WriteObserver,
  ): { readonly below: ResourceClient; readonly observer: WriteObserver } {
    const { client } = this.#ports;
    const tracer = this.#tracer;
    const history = this.#history;
    const recorded = history === undefined ? client : recordedClient(history, key, client);
    if (tracer === undefined) return { below: recorded, observer };
    return { below: tracer.client(key, recorded), observer: tracer.observer(key, observer) };
  }

  async #finalize(
    cached: DeepReadonly<KubernetesObject>,
    { client, context, shown }: FinalizeParts,
  ): Promise<ReconcileResult | undefined> {
    const { finalizers, resource: kind, name: fieldManager } = this.#controller;
    let left: DeepReadonly<KubernetesObject> | undefined = cached;
    // Continues with the next at once, because a predicate may drop the update that a removal causes.
    for (const { name, finalize } of finalizers) {
      if (!hasFinalizer(left, name)) continue;
      if (left !== cached) await shown();
      const result = await finalize(named(left), context(left));
      if (typeof result === 'object') return result;
      left = await removeFinalizer(client, kind, { object: left, finalizer: name, fieldManager });
      if (left === undefined) return undefined;
    }
    return undefined;
  }
}

/** The cache found the object by its name, so it has one. */
const named = (object: DeepReadonly<KubernetesObject>): ReconciledObject<KubernetesObject> =>
  object as ReconciledObject<KubernetesObject>;

function withFields(logger: Logger, fields: LogFields): Logger {
  const write =
    (level: keyof Logger) =>
    (message: string, more?: LogFields): void =>
      logger[level](message, { ...fields, ...more });
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
}

/** Resolves when the promise settles or the signal aborts. */
async function settled(promise: Promise<unknown>, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  let stop: () => void = () => undefined;
  const aborted = new Promise<void>((resolve) => {
    stop = resolve;
    signal.addEventListener('abort', stop, { once: true });
  });
  await Promise.race([promise, aborted]);
  signal.removeEventListener('abort', stop);
}
