// ControllerRunner: one controller at work: its handlers on the shared informers, its queue, its reconcile loop. Wires what
// controller-builder.ts describes out of the parts below; started by the manager.
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
import {
  type EventHandlerRegistration,
  isDeletedFinalStateUnknown,
  metaNamespaceIndex,
  type ObjectChange,
  type ResourceEventHandler,
} from '@kapstan/informers';
import { from, type Subscription } from 'rxjs';
import type { Controller, ControllerSource, ReconcileKeys } from './controller-builder.ts';
import type { ControllerMetrics } from './controller-metrics.ts';
import type { EventRecorder } from './events/event-recorder.ts';
import { addFinalizer, hasFinalizer, removeFinalizer } from './finalizer.ts';
import type { InformerCache } from './informer-cache.ts';
import { ObservedClient } from './observed-client.ts';
import type { OwnWrites } from './own-writes.ts';
import type { Predicate } from './predicate.ts';
import { type ReconcileContext, ReconcileLoop, type ReconcileRequest, type ReconcileResult } from './reconcile-loop.ts';
import { type ReconcilerContext, reconcilerContext } from './reconciler-context.ts';
import { RateLimitingQueue } from './workqueue/index.ts';

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

/** Source: controller-runtime handler.LowPriority. */
const lowPriority = -100;

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
  readonly #log: Logger;

  /** Registers its handlers: the informers are started afterwards. Throws TypeError on bad settings. */
  constructor(controller: Controller, ports: ControllerPorts) {
    const { name, settings } = controller;
    const { rateLimiter, priorityQueue = {}, workers = 1, timeoutMs = 0 } = settings;
    if (!(timeoutMs >= 0)) throw new TypeError(`timeoutMs must be a number of at least 0, not ${timeoutMs}`);
    this.#controller = controller;
    this.#ports = ports;
    this.#log = withFields(ports.logger, { controller: name });
    this.#queue = new RateLimitingQueue({
      name,
      clock: ports.clock,
      priority: priorityQueue,
      observer: ports.metrics.queueObserver(name),
      ...(rateLimiter === undefined ? {} : { rateLimiter }),
    });
    ports.metrics.controllerAdded(name, workers);
    this.#follow(controller.kind, controller.when, (object) => [nameOf(object)]);
    for (const source of controller.sources) this.#followSource(source);
  }

  /** Works until `stop` aborts, after a grace period, or at once until `lost` does. Resolves when nothing is under way. */
  async run({ stop, lost }: { readonly stop: AbortSignal; readonly lost: AbortSignal }): Promise<void> {
    const { name, settings } = this.#controller;
    const { clock, metrics, gracePeriodMs } = this.#ports;
    const ends = AbortSignal.any([stop, lost]);
    // Informers have synced; now also what they told these handlers is in the queue.
    await settled(Promise.all(this.#registrations.map((registration) => registration.whenSynced())), ends);
    const triggers = this.#subscribe();
    try {
      await new ReconcileLoop({
        queue: this.#queue,
        workers: settings.workers ?? 1,
        gracePeriodMs,
        abort: lost,
        clock,
        logger: this.#log,
        reconcile: (request, context) => this.#measured(request, context),
        onOutcome: (outcome) => {
          metrics.reconcileEnded(name, outcome);
          settings.onOutcome?.(outcome);
        },
      }).run(stop);
    } finally {
      for (const trigger of triggers) trigger.unsubscribe();
    }
  }

  // ---- From changes to keys ----

  #followSource(source: ControllerSource): void {
    const { cache } = this.#ports;
    const caches = { cache: <X extends KubernetesObject>(kind: Resource<X>) => cache.reader(kind) };
    switch (source.type) {
      case 'owned':
        return this.#follow(source.kind, source.when, (object) => ownersOf(object, this.#controller.kind));
      case 'watched':
        return this.#follow(source.kind, source.when, (object) => source.map(object, caches));
      case 'trigger':
    }
  }

  #follow(
    kind: Resource,
    when: Predicate<KubernetesObject>,
    keysOf: (object: DeepReadonly<KubernetesObject>) => ReconcileKeys,
  ): void {
    const isOwnKind = kind === this.#controller.kind;
    const priorityOf = (isOwnKind ? this.#controller.settings.priority : undefined) ?? defaultPriority;
    const handler = changeHandler((change) => {
      if (!when(change)) return;
      const priority = priorityOf(change);
      // Both states: who was named before must hear that it is not any more. Each once: a worker takes the first at once.
      const objects = change.type === 'updated' ? [change.oldObject, change.object] : [change.object];
      this.#add(
        objects.flatMap((object) => (object === undefined ? [] : keysOf(object))),
        priority,
      );
    });
    for (const informer of this.#ports.cache.informers(kind)) {
      this.#ports.ownWrites.follow(informer);
      this.#registrations.push(informer.addEventHandler(handler));
    }
  }

  #add(keys: ReconcileKeys, priority: number): void {
    const texts = keys.map((key) => (typeof key === 'string' ? key : objectKey(key.namespace ?? '', key.name)));
    for (const text of new Set(texts)) this.#queue.add(text, priority);
  }

  #subscribe(): readonly Subscription[] {
    return this.#controller.sources.flatMap((source) => {
      if (source.type !== 'trigger') return [];
      const next = (value: unknown): void => {
        try {
          this.#add(source.map(value), 0);
        } catch (error) {
          this.#log.error('A trigger could not be mapped to objects', { error: String(error) });
        }
      };
      const error = (failure: unknown): void => this.#log.error('A trigger failed', { error: String(failure) });
      return [from(source.trigger).subscribe({ next, error })];
    });
  }

  // ---- One run ----

  async #measured(request: ReconcileRequest, context: ReconcileContext): Promise<ReconcileResult | undefined> {
    const ended = this.#ports.metrics.reconcileStarted(this.#controller.name);
    const run = runSignal(context.signal, this.#controller.settings.timeoutMs ?? 0, this.#ports.clock);
    try {
      return await this.#reconcile(request, { ...context, signal: run.signal });
    } finally {
      run.end();
      ended();
    }
  }

  async #reconcile(
    request: ReconcileRequest,
    { signal, attempt }: ReconcileContext,
  ): Promise<ReconcileResult | undefined> {
    const { controller, ports } = { controller: this.#controller, ports: this.#ports };
    const writer = `${controller.name} ${request.key}`;
    const log = withFields(this.#log, { key: request.key });
    const shown = async (): Promise<void> => {
      if (!(await ports.ownWrites.shown(writer)))
        log.warn('The cache does not show what was written; going on without');
    };
    await shown();
    const cached = ports.cache.reader(controller.kind).get(request);
    if (cached === undefined) return undefined;
    const observer = ports.ownWrites.observer(writer);
    const client = new ObservedClient({ client: ports.client, observer, signal });
    const context = (object: DeepReadonly<KubernetesObject>) => {
      const { cache, recorder } = ports;
      const parts = { controller: controller.name, kind: controller.kind, cache, recorder };
      return reconcilerContext({ ...parts, object, client, signal, attempt, log, shown });
    };
    if (cached.metadata?.deletionTimestamp !== undefined)
      return await this.#finalize(cached, { client, context, shown });
    let object = cached;
    for (const { name } of controller.finalizers)
      object = await addFinalizer(client, controller.kind, { object, finalizer: name });
    return (await controller.reconcile(object, context(object))) ?? undefined;
  }

  async #finalize(
    cached: DeepReadonly<KubernetesObject>,
    { client, context, shown }: FinalizeParts,
  ): Promise<ReconcileResult | undefined> {
    const { finalizers, kind } = this.#controller;
    let left: DeepReadonly<KubernetesObject> | undefined = cached;
    // On to the next at once: a predicate may drop the update that a removal makes.
    for (const { name, finalize } of finalizers) {
      if (!hasFinalizer(left, name)) continue;
      if (left !== cached) await shown();
      const result = await finalize(left, context(left));
      if (typeof result === 'object') return result;
      left = await removeFinalizer(client, kind, { object: left, finalizer: name });
      if (left === undefined) return undefined;
    }
    return undefined;
  }
}

/** What comes only because a program began, or once more, may wait. */
function defaultPriority(change: ObjectChange<KubernetesObject>): number {
  const isOld = change.type === 'added' ? change.isInInitialList : change.type === 'updated' && isResync(change);
  return isOld ? lowPriority : 0;
}

function isResync({ oldObject, object }: ObjectChange<KubernetesObject> & { readonly type: 'updated' }): boolean {
  return oldObject === object || oldObject.metadata?.resourceVersion === object.metadata?.resourceVersion;
}

/** The objects of the kind that control an object; the version of the reference does not count. */
function ownersOf(object: DeepReadonly<KubernetesObject>, kind: Resource): ReconcileKeys {
  const owner = object.metadata?.ownerReferences?.find((reference) => reference.controller === true);
  if (owner === undefined || owner.kind !== kind.kind) return [];
  const group = owner.apiVersion.includes('/') ? owner.apiVersion.split('/')[0] : '';
  if (group !== kind.group) return [];
  return [kind.scope === 'Cluster' ? owner.name : { namespace: object.metadata?.namespace ?? '', name: owner.name }];
}

function nameOf(object: DeepReadonly<KubernetesObject>): { readonly namespace: string; readonly name: string } {
  return { namespace: metaNamespaceIndex(object)[0] ?? '', name: object.metadata?.name ?? '' };
}

/** A handler that is told of changes in one shape. */
function changeHandler(next: (change: ObjectChange<KubernetesObject>) => void): ResourceEventHandler<KubernetesObject> {
  const keyOf = (object: DeepReadonly<KubernetesObject>) => objectKey(nameOf(object).namespace, nameOf(object).name);
  return {
    onAdd: (object, isInInitialList) => next({ type: 'added', key: keyOf(object), object, isInInitialList }),
    onUpdate: (oldObject, object) => next({ type: 'updated', key: keyOf(object), object, oldObject }),
    onDelete: (last) => {
      if (!isDeletedFinalStateUnknown(last))
        return next({ type: 'deleted', key: keyOf(last), object: last, isFinalStateUnknown: false });
      next({ type: 'deleted', key: last.key, object: last.object, isFinalStateUnknown: true });
    },
  };
}

/** The signal of one run: that of the loop, and a time limit. */
function runSignal(
  outer: AbortSignal,
  timeoutMs: number,
  clock: Clock,
): { readonly signal: AbortSignal; readonly end: () => void } {
  if (timeoutMs === 0) return { signal: outer, end: () => undefined };
  const own = new AbortController();
  const onAbort = (): void => own.abort(outer.reason);
  if (outer.aborted) onAbort();
  outer.addEventListener('abort', onAbort, { once: true });
  const cancel = clock.setTimer(
    () => own.abort(new Error(`the reconcile took longer than ${timeoutMs} ms`)),
    timeoutMs,
  );
  const end = (): void => {
    cancel();
    outer.removeEventListener('abort', onAbort);
  };
  return { signal: own.signal, end };
}

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
