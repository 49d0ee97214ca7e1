// ControllerSources turns changes of a controller's sources, and values of its triggers, into keys of its queue.
// Informers call it through source-handler.ts; controller-runner.ts uses it.
import { type Clock, type KubernetesObject, type LogFields, type Logger, objectKey, type Resource } from '@kapstan/api';
import { immediate, type TraceLink, TurnSlice } from '@kapstan/api/internal';
import type { EventHandlerRegistration, ObjectChange } from '@kapstan/informers';
import type { Subscription } from 'rxjs';
// innerFrom is `from` without its schedulers, which are ten modules.
import { innerFrom } from 'rxjs/internal/observable/innerFrom';
import type { Controller, ControllerSource } from '../builder/controller-builder.ts';
import { isFinalizerAddition } from '../builder/finalizer.ts';
import { ownersOf } from '../builder/owners-of.ts';
import { accepts } from '../builder/predicate.ts';
import type { InformerCache } from '../cache/informer-cache.ts';
import type { OwnWrites } from '../cache/own-writes.ts';
import { causeType, changedObject } from '../inspector/changed-object.ts';
import type { WakeCauses, WakeReason } from '../inspector/wake-causes.ts';
import type { RateLimitingQueue } from '../workqueue/index.ts';
import { requirePriority } from '../workqueue/queue-order.ts';
import { defaultPriority, keyProblem, nameOf, textsOf } from './change-to-keys.ts';
import { type ChangeSink, type Source, SourceHandler } from './source-handler.ts';

const triggered: WakeReason = { type: 'trigger' };

/** Result used when a user's function throws. */
interface Fallback<R> {
  readonly otherwise: R;
  readonly problem: string;
  readonly fields: LogFields;
}

interface SourcesPorts {
  readonly cache: InformerCache;
  readonly ownWrites: OwnWrites;
  readonly queue: RateLimitingQueue<string>;
  /** Records why keys are added; undefined where nothing reads it. */
  readonly causes: WakeCauses | undefined;
  /** Returns the span that led to a change. Undefined if nothing is traced. */
  readonly linkOf: ((change: ObjectChange<KubernetesObject>) => TraceLink | undefined) | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

export class ControllerSources implements ChangeSink {
  readonly #controller: Controller;
  readonly #ports: SourcesPorts;
  readonly #queue: RateLimitingQueue<string>;
  readonly #log: Logger;
  readonly #registrations: EventHandlerRegistration[] = [];
  readonly #sources: Source[] = [];
  /**
   * False before the work begins: a standby ignores changes, because the caches show them later. Source:
   * controller-runtime.
   */
  #isWorking = false;
  /** Errors of keys from maps, each logged once. */
  readonly #wrongKeys = new Set<string>();

  /** Registers its handlers, so start the informers afterwards. */
  constructor(controller: Controller, ports: SourcesPorts) {
    this.#controller = controller;
    this.#ports = ports;
    this.#queue = ports.queue;
    this.#log = ports.log;
    const finalizers = controller.finalizers.map((finalizer) => finalizer.name);
    this.#follow({
      kind: controller.resource,
      // The run that adds a finalizer continues with the object, because another reconcile would ignore a
      // TerminalError.
      when: (change) => !isFinalizerAddition(change, finalizers) && accepts(controller.when, change),
      through: 'itself',
      keysOf: (object) => [nameOf(object)],
    });
    for (const source of controller.sources) if (source.type !== 'trigger') this.#follow(this.#sourceOf(source));
    for (const { resource: kind, name: index, valuesOf } of controller.indexes)
      ports.cache.index(kind, index, valuesOf);
  }

  /** Resolves when all handlers have their initial objects. */
  whenSynced(): Promise<unknown> {
    return Promise.all(this.#registrations.map((registration) => registration.whenSynced()));
  }

  /** Ignores changes from now on. */
  stop(): void {
    this.#isWorking = false;
  }

  #sourceOf(source: Exclude<ControllerSource, { readonly type: 'trigger' }>): Source {
    const { resource: kind, when } = source;
    if (source.type === 'owned')
      return { kind, when, through: 'owner', keysOf: ownersOf(this.#controller.resource, { isController: true }) };
    const { cache } = this.#ports;
    const caches = { cache: <X extends KubernetesObject>(other: Resource<X>) => cache.reader(other) };
    return { kind, when, through: 'mapping', keysOf: (object) => source.map(object, caches) };
  }

  /** Handles changes from now on, but first, in slices, all existing objects. */
  async begin(ends: AbortSignal): Promise<void> {
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
    const handler = new SourceHandler(this, source);
    for (const informer of this.#ports.cache.informers(source.kind)) {
      this.#ports.ownWrites.follow(informer);
      this.#registrations.push(informer.addEventHandler(handler));
    }
  }

  onChange(change: ObjectChange<KubernetesObject>, source: Source): void {
    if (this.#isWorking) this.#hear(change, source);
  }

  #hear(change: ObjectChange<KubernetesObject>, source: Source): void {
    const { kind, when, keysOf } = source;
    const fields = { kind: kind.kind, key: change.key };
    const heard = { otherwise: true, problem: 'a predicate failed; the change is accepted', fields };
    if (!this.#ask(() => accepts(when, change), heard)) return;
    const { priority = defaultPriority } = kind === this.#controller.resource ? this.#controller.settings : {};
    const usual = {
      otherwise: defaultPriority(change),
      problem: 'the priority function failed; the default priority is used',
      fields,
    };
    const none = { otherwise: [], problem: 'a change could not be mapped to keys; it is dropped', fields };
    // Both states count, because objects that were named before must learn that they no longer are. Each key is added
    // once, because a worker takes the first at once.
    const objects = change.type === 'updated' ? [change.oldObject, change.object] : [change.object];
    const keys = objects.flatMap((object) =>
      object === undefined ? [] : this.#ask(() => this.#matching(textsOf(keysOf(object))), none),
    );
    const urgency = this.#ask(() => {
      const given = immediate(priority(change), 'a priority');
      requirePriority(given);
      return given;
    }, usual);
    const reason = this.#reasonOf(change, source);
    for (const key of new Set(keys)) {
      if (reason !== undefined) this.#ports.causes?.wake(key, reason);
      this.#queue.add(key, urgency);
    }
  }

  #reasonOf(change: ObjectChange<KubernetesObject>, { kind, through }: Source): WakeReason | undefined {
    const { causes, linkOf } = this.#ports;
    if (causes === undefined) return undefined;
    return { type: causeType(change), object: changedObject(change, kind, through), link: linkOf?.(change) };
  }

  /** Returns the keys that can name an object. */
  #matching(keys: readonly string[]): readonly string[] {
    return keys.filter((key) => {
      const problem = keyProblem(key, this.#controller.resource);
      if (problem === undefined) return true;
      if (!this.#wrongKeys.has(problem))
        this.#log.error(
          'a key is not the name of an object; it is dropped, and similar ones are dropped without further log lines',
          {
            key,
            problem,
          },
        );
      this.#wrongKeys.add(problem);
      return false;
    });
  }

  /** Calls a function of the user. An error must not cost the change: it is logged, and another answer is used. */
  #ask<R>(question: () => R, { otherwise, problem, fields }: Fallback<R>): R {
    try {
      return question();
    } catch (error) {
      this.#log.error(problem, { ...fields, error });
      return otherwise;
    }
  }

  /** Subscribes to the triggers. The caller unsubscribes. */
  subscribe(): readonly Subscription[] {
    return this.#controller.sources.flatMap((source) => {
      if (source.type !== 'trigger') return [];
      const none = { otherwise: [], problem: 'a value could not be mapped to keys; it is dropped', fields: {} };
      const next = (value: unknown): void => {
        const keys = this.#ask(() => this.#matching(textsOf(source.map(value))), none);
        for (const key of new Set(keys)) {
          this.#ports.causes?.wake(key, triggered);
          this.#queue.add(key);
        }
      };
      const error = (failure: unknown): void =>
        this.#log.error('a trigger failed; it gives no more values', { error: failure });
      const complete = (): void => this.#log.info('a trigger has ended');
      return [innerFrom(source.trigger).subscribe({ next, error, complete })];
    });
  }
}
