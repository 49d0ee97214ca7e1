// An RxJS operator for slow work on informer.events$: one task at a time per object, and only its newest change.
import type { KubernetesObject, ObjectKey } from '@kapstan/api';
import { requireGivenFunction } from '@kapstan/api/internal';
import type { OperatorFunction, Subscriber } from 'rxjs';
import { Observable } from 'rxjs/internal/Observable';
import { ConflatingQueue } from './conflating-queue.ts';
import type { InformerEvent, ObjectChange } from './object-change.ts';

/** Options of {@link conflateByKey}. */
export interface ConflateByKeyOptions {
  /** Number of tasks that may run at once, over all objects. At least 1. Default 1. */
  readonly concurrency?: number;
}

/**
 * Runs `work` for changes: at most `concurrency` tasks at once, and never two for one object. While an object's task runs or waits, further
 * changes of that object are merged into one. Emits the results of the tasks as they end.
 *
 * Cold. No replay. Errors with the rejection of a task or with the source's error. Completes when the source has completed and all tasks
 * have ended. Slow consumers: keyed buffer, at most one pending change per live object. `synced` is left out.
 *
 * @example
 * ```ts
 * import { connect } from '@kapstan/client';
 * import { conflateByKey, SharedInformerFactory } from '@kapstan/informers';
 * import { ConfigMap } from '@kapstan/kinds/core/v1';
 *
 * const factory = new SharedInformerFactory(await connect());
 * const { events$ } = factory.informer(ConfigMap);
 * const work = conflateByKey<ConfigMap, string>(async ({ type, key }) => `${type} ${key}`, { concurrency: 4 });
 * events$.pipe(work).subscribe(console.log);
 * factory.start();
 * ```
 */
export function conflateByKey<T extends KubernetesObject, R>(
  work: (change: ObjectChange<T>) => Promise<R>,
  options: ConflateByKeyOptions = {},
): OperatorFunction<InformerEvent<T>, R> {
  requireGivenFunction(work, 'the work of conflateByKey()');
  const concurrency = options.concurrency ?? 1;
  if (!Number.isInteger(concurrency) || concurrency < 1)
    throw new TypeError(`concurrency must be an integer of at least 1, got ${concurrency}`);
  return (source) =>
    new Observable((subscriber) => {
      const runner = new ConflatingRunner(work, concurrency, subscriber);
      return source.subscribe({
        next: (event) => event.type !== 'synced' && runner.push(event),
        error: (error) => subscriber.error(error),
        complete: () => runner.complete(),
      });
    });
}

class ConflatingRunner<T extends KubernetesObject, R> {
  readonly #work: (change: ObjectChange<T>) => Promise<R>;
  readonly #concurrency: number;
  readonly #subscriber: Subscriber<R>;
  readonly #queue = new ConflatingQueue<T>();
  readonly #running = new Set<ObjectKey>();
  #isComplete = false;

  constructor(work: (change: ObjectChange<T>) => Promise<R>, concurrency: number, subscriber: Subscriber<R>) {
    this.#work = work;
    this.#concurrency = concurrency;
    this.#subscriber = subscriber;
  }

  push(change: ObjectChange<T>): void {
    this.#queue.push(change);
    this.#fill();
  }

  complete(): void {
    this.#isComplete = true;
    this.#fill();
  }

  #fill(): void {
    while (this.#running.size < this.#concurrency && !this.#subscriber.closed) {
      const change = this.#queue.shift((key) => !this.#running.has(key));
      if (change === undefined) break;
      this.#running.add(change.key);
      void this.#run(change);
    }
    if (this.#isComplete && this.#running.size === 0 && this.#queue.size === 0) this.#subscriber.complete();
  }

  async #run(change: ObjectChange<T>): Promise<void> {
    try {
      this.#subscriber.next(await this.#work(change));
    } catch (error) {
      this.#subscriber.error(error);
    } finally {
      this.#running.delete(change.key);
      this.#fill();
    }
  }
}
