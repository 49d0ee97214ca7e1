// ControllerRunner: one controller at work: its handlers on the shared informers, its queue, its reconcile loop. Wires what
// controller-builder.ts describes out of the parts below (change-to-keys.ts, reconcile-loop.ts); started by the manager.

import {
  type Clock,
  type DeepReadonly,
  type KubernetesObject,
  type LogFields,
  type Logger,
  objectKey,
  type Resource,
  type ResourceClient,
} from '@kapstan/api';
import { guardedCall, immediate, TurnSlice } from '@kapstan/api/internal';
import type { EventHandlerRegistration, ObjectChange } from '@kapstan/informers';
import { from, type Subscription } from 'rxjs';
import { changeHandler, defaultPriority, keyProblem, nameOf, textsOf } from './change-to-keys.ts';
import type { Controller, ControllerSource, Reconciled, ReconcileKeys } from './controller-builder.ts';
import type { ControllerMetrics } from './controller-metrics.ts';
import type { EventRecorder } from './events/event-recorder.ts';
import { addFinalizer, hasFinalizer, isFinalizerAddition, removeFinalizer } from './finalizer.ts';
import type { InformerCache } from './informer-cache.ts';
import { ObservedClient } from './observed-client.ts';
import type { OwnWrites } from './own-writes.ts';
import { ownersOf } from './owners-of.ts';
import { accepts, type Predicate } from './predicate.ts';
import { WantedObjects } from './prune-children.ts';
import { ReconcileLoop, type ReconcileRequest, type ReconcileResult, type SyncContext } from './reconcile-loop.ts';
import { type ReconcilerContext, reconcilerContext } from './reconciler-context.ts';
import { RunsUnderWay } from './runs-under-way.ts';
import { stackOnceLogger } from './stack-once-logger.ts';
import { RateLimitingQueue } from './workqueue/index.ts';
import { requirePriority } from './workqueue/queue-order.ts';

/** What the manager lends to each of its controllers. */
export interface ControllerPorts {
  /** Its writes are refused when this process may not write. */
  readonly client: ResourceClient;
  readonly cache: InformerCache;
  readonly ownWrites: OwnWrites;
  readonly recorder: EventRecorder;
  readonly metrics: ControllerMetrics;
  readonly gracePeriodMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

const defaultSlowAfterMs = 60_000;

/** Whose changes are heard, which of them, and what they make necessary. */
interface Source {
  readonly kind: Resource;
  readonly when: Predicate<KubernetesObject>;
  readonly keysOf: (object: DeepReadonly<KubernetesObject>) => ReconcileKeys;
}

/** Instead of the answer of a function that throws. */
interface Fallback<R> {
  readonly otherwise: R;
  readonly problem: string;
  readonly fields: LogFields;
}

interface FinalizeParts {
  readonly client: ResourceClient;
  readonly context: (object: DeepReadonly<KubernetesObject>) => ReconcilerContext<KubernetesObject>;
  readonly shown: () => Promise<void>;
}

export class ControllerRunner {
  readonly #controller: Controller;
  readonly #ports: ControllerPorts;
  readonly #queue: RateLimitingQueue<string>;
  readonly #registrations: EventHandlerRegistration[] = [];
  readonly #sources: Source[] = [];
  /** False before the work begins: a standby hears of nothing, as what happens is in the caches. Source: controller-runtime. */
  #isWorking = false;
  readonly #runs: RunsUnderWay;
  readonly #userLog: Logger;
  readonly #log: Logger;
  /** What was wrong with keys that a map gave, each told once. */
  readonly #wrongKeys = new Set<string>();

  /** Registers its handlers: the informers are started afterwards. Throws TypeError on bad settings. */
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
    this.#queue = new RateLimitingQueue({
      name,
      clock: ports.clock,
      priority: priorityQueue,
      observer: ports.metrics.queueObserver(name),
      ...(rateLimiter === undefined ? {} : { rateLimiter }),
    });
    ports.metrics.controllerAdded(name, workers);
    const finalizers = controller.finalizers.map((finalizer) => finalizer.name);
    this.#follow({
      kind: controller.resource,
      // The run that adds a finalizer goes on with it: reconciling once more would undo what a TerminalError asks for.
      when: (change) => !isFinalizerAddition(change, finalizers) && accepts(controller.when, change),
      keysOf: (object) => [nameOf(object)],
    });
    for (const source of controller.sources) if (source.type !== 'trigger') this.#follow(this.#sourceOf(source));
    for (const { resource: kind, name: index, valuesOf } of controller.indexes)
      ports.cache.index(kind, index, valuesOf);
  }

  /** Which objects of this controller are being reconciled: "pod default/a". */
  get underWay(): readonly string[] {
    return this.#runs.keys.map((key) => `${this.#controller.name} ${key}`);
  }

  /** Works until `stop` aborts, after a grace period, or at once until `lost` does. Resolves when nothing is under way. */
  async run({ stop, lost }: { readonly stop: AbortSignal; readonly lost: AbortSignal }): Promise<void> {
    const { name, settings } = this.#controller;
    const { clock, metrics, gracePeriodMs } = this.#ports;
    const ends = AbortSignal.any([stop, lost]);
    await settled(Promise.all(this.#registrations.map((registration) => registration.whenSynced())), ends);
    await this.#begin(ends);
    const triggers = this.#subscribe();
    try {
      await new ReconcileLoop({
        queue: this.#queue,
        workers: settings.workers ?? 1,
        gracePeriodMs,
        abort: lost,
        clock,
        logger: this.#userLog,
        reconcile: (request, context) => this.#measured(request, context),
        onOutcome: (outcome) => {
          metrics.reconcileEnded(name, outcome);
          return settings.onOutcome?.(outcome);
        },
      }).run(stop);
    } finally {
      this.#isWorking = false;
      for (const trigger of triggers)
        guardedCall(
          () => trigger.unsubscribe(),
          (error) => this.#log.error('A trigger failed when it was ended', { error }),
        );
    }
  }

  // ---- From changes to keys ----

  #sourceOf(source: Exclude<ControllerSource, { readonly type: 'trigger' }>): Source {
    const { resource: kind, when } = source;
    if (source.type === 'owned')
      return { kind, when, keysOf: ownersOf(this.#controller.resource, { isController: true }) };
    const { cache } = this.#ports;
    const caches = { cache: <X extends KubernetesObject>(other: Resource<X>) => cache.reader(other) };
    return { kind, when, keysOf: (object) => source.map(object, caches) };
  }

  /** Hears changes from now on, and first of all objects that are there, in slices: there may be many. */
  async #begin(ends: AbortSignal): Promise<void> {
    const { cache, clock } = this.#ports;
    this.#isWorking = true;
    const slice = new TurnSlice({ clock });
    for (const source of this.#sources)
      for (const object of cache.informers(source.kind).flatMap(({ indexer }) => indexer.list())) {
        const { namespace, name } = nameOf(object);
        this.#hear({ type: 'added', key: objectKey(namespace, name), object, isInInitialList: true }, source);
        if (!slice.endsHere()) continue;
        await slice.nextTurn();
        if (ends.aborted) return;
      }
  }

  #follow(source: Source): void {
    this.#sources.push(source);
    const handler = changeHandler((change) => {
      if (this.#isWorking) this.#hear(change, source);
    });
    for (const informer of this.#ports.cache.informers(source.kind)) {
      this.#ports.ownWrites.follow(informer);
      this.#registrations.push(informer.addEventHandler(handler));
    }
  }

  #hear(change: ObjectChange<KubernetesObject>, { kind, when, keysOf }: Source): void {
    const fields = { kind: kind.kind, key: change.key };
    const heard = { otherwise: true, problem: 'A predicate failed; the change counts', fields };
    if (!this.#ask(() => accepts(when, change), heard)) return;
    const { priority = defaultPriority } = kind === this.#controller.resource ? this.#controller.settings : {};
    const usual = {
      otherwise: defaultPriority(change),
      problem: 'The function for priorities failed; the default counts',
      fields,
    };
    const none = { otherwise: [], problem: 'A change could not be mapped to objects; it is lost', fields };
    // Both states: who was named before must hear that it is not any more. Each once: a worker takes the first at once.
    const objects = change.type === 'updated' ? [change.oldObject, change.object] : [change.object];
    const keys = objects.flatMap((object) =>
      object === undefined ? [] : this.#ask(() => this.#matching(textsOf(keysOf(object))), none),
    );
    const urgency = this.#ask(() => {
      const given = immediate(priority(change), 'a priority');
      requirePriority(given);
      return given;
    }, usual);
    for (const key of new Set(keys)) this.#queue.add(key, urgency);
  }

  /** Without those that can never name an object. */
  #matching(keys: readonly string[]): readonly string[] {
    return keys.filter((key) => {
      const problem = keyProblem(key, this.#controller.resource);
      if (problem === undefined) return true;
      if (!this.#wrongKeys.has(problem))
        this.#log.error('A key can never name an object; it is dropped, and others like it from now on', {
          key,
          problem,
        });
      this.#wrongKeys.add(problem);
      return false;
    });
  }

  /** What a function of the user answers. What it throws must not cost the change: it is told, and another answer counts. */
  #ask<R>(question: () => R, { otherwise, problem, fields }: Fallback<R>): R {
    try {
      return question();
    } catch (error) {
      this.#log.error(problem, { ...fields, error });
      return otherwise;
    }
  }

  #subscribe(): readonly Subscription[] {
    return this.#controller.sources.flatMap((source) => {
      if (source.type !== 'trigger') return [];
      const none = { otherwise: [], problem: 'A value could not be mapped to objects; it is lost', fields: {} };
      const next = (value: unknown): void => {
        const keys = this.#ask(() => this.#matching(textsOf(source.map(value))), none);
        for (const key of new Set(keys)) this.#queue.add(key);
      };
      const error = (failure: unknown): void => this.#log.error('A trigger failed', { error: failure });
      const complete = (): void => this.#log.info('A trigger has ended');
      return [from(source.trigger).subscribe({ next, error, complete })];
    });
  }

  // ---- One run ----

  async #measured(request: ReconcileRequest, context: SyncContext): Promise<ReconcileResult | undefined> {
    const ended = this.#ports.metrics.reconcileStarted(this.#controller.name);
    const run = this.#runs.begin(request.key, context.signal);
    try {
      return await this.#reconcile(request, { ...context, signal: run.signal });
    } finally {
      run.end();
      ended();
    }
  }

  async #reconcile(request: ReconcileRequest, { signal, attempt }: SyncContext): Promise<ReconcileResult | undefined> {
    const controller = this.#controller;
    const ports = this.#ports;
    const writer = `${controller.name} ${request.key}`;
    const log = withFields(this.#userLog, { key: request.key });
    const shown = async (): Promise<void> => {
      if (!(await ports.ownWrites.shown(writer)))
        log.warn('The cache does not show what was written; going on without');
    };
    await shown();
    const cached = ports.cache.reader(controller.resource).get(request);
    if (cached === undefined) return undefined;
    const observer = ports.ownWrites.observer(writer);
    const wanted = new WantedObjects();
    const client = new ObservedClient({ client: ports.client, observer, wanted: wanted.add, signal });
    const context = (object: DeepReadonly<KubernetesObject>) => {
      const { cache, recorder } = ports;
      const parts = { controller: controller.name, kind: controller.resource, cache, recorder };
      return reconcilerContext({ ...parts, object, client, wanted, signal, attempt, log, shown });
    };
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

  async #finalize(
    cached: DeepReadonly<KubernetesObject>,
    { client, context, shown }: FinalizeParts,
  ): Promise<ReconcileResult | undefined> {
    const { finalizers, resource: kind, name: fieldManager } = this.#controller;
    let left: DeepReadonly<KubernetesObject> | undefined = cached;
    // On to the next at once: a predicate may drop the update that a removal makes.
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

/** What the cache found by its name has one. */
const named = (object: DeepReadonly<KubernetesObject>): Reconciled<KubernetesObject> =>
  object as Reconciled<KubernetesObject>;

function withFields(logger: Logger, fields: LogFields): Logger {
  const write =
    (level: keyof Logger) =>
    (message: string, more?: LogFields): void =>
      logger[level](message, { ...fields, ...more });
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
}

/** Resolves when the promise or the signal is done. */
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
