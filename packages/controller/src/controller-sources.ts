// ControllerSources turns changes of a controller's sources, and values of its triggers, into keys of its queue. Informers call it through
// source-handler.ts; controller-runner.ts is above it, the queue below.
import { type Clock, type KubernetesObject, type LogFields, type Logger, objectKey, type Resource } from '@kapstan/api';
import { immediate, TurnSlice } from '@kapstan/api/internal';
import type { EventHandlerRegistration, ObjectChange } from '@kapstan/informers';
import { from, type Subscription } from 'rxjs';
import { defaultPriority, keyProblem, nameOf, textsOf } from './change-to-keys.ts';
import type { Controller, ControllerSource } from './controller-builder.ts';
import { isFinalizerAddition } from './finalizer.ts';
import type { InformerCache } from './informer-cache.ts';
import type { OwnWrites } from './own-writes.ts';
import { ownersOf } from './owners-of.ts';
import { accepts } from './predicate.ts';
import { type ChangeSink, type Source, SourceHandler } from './source-handler.ts';
import type { RateLimitingQueue } from './workqueue/index.ts';
import { requirePriority } from './workqueue/queue-order.ts';

/** Instead of the answer of a function that throws. */
interface Fallback<R> {
  readonly otherwise: R;
  readonly problem: string;
  readonly fields: LogFields;
}

interface SourcesPorts {
  readonly cache: InformerCache;
  readonly ownWrites: OwnWrites;
  readonly queue: RateLimitingQueue<string>;
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
  /** False before the work begins: a standby hears of nothing, as what happens is in the caches. Source: controller-runtime. */
  #isWorking = false;
  /** What was wrong with keys that a map gave, each told once. */
  readonly #wrongKeys = new Set<string>();

  /** Registers its handlers: the informers are started afterwards. */
  constructor(controller: Controller, ports: SourcesPorts) {
    this.#controller = controller;
    this.#ports = ports;
    this.#queue = ports.queue;
    this.#log = ports.log;
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

  /** Resolves when all handlers have their initial objects. */
  whenSynced(): Promise<unknown> {
    return Promise.all(this.#registrations.map((registration) => registration.whenSynced()));
  }

  /** Hears changes no more. */
  stop(): void {
    this.#isWorking = false;
  }

  #sourceOf(source: Exclude<ControllerSource, { readonly type: 'trigger' }>): Source {
    const { resource: kind, when } = source;
    if (source.type === 'owned')
      return { kind, when, keysOf: ownersOf(this.#controller.resource, { isController: true }) };
    const { cache } = this.#ports;
    const caches = { cache: <X extends KubernetesObject>(other: Resource<X>) => cache.reader(other) };
    return { kind, when, keysOf: (object) => source.map(object, caches) };
  }

  /** Hears changes from now on, and first of all objects that are there, in slices: there may be many. */
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

  /** Follows the triggers. The caller unsubscribes. */
  subscribe(): readonly Subscription[] {
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
}
