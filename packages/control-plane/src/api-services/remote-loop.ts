// RemoteLoop visits the APIServices that other servers serve, by name: again after some time, and with backoff after a failure.
// Availability, discovery and schemas each have one.
import type { Clock, Logger } from '@kapstan/api';
import { ReconcileLoop } from '@kapstan/controller';
import { ExponentialFailureRateLimiter, RateLimitingQueue } from '@kapstan/controller/workqueue';

export interface RemoteLoopOptions {
  /** Names the queue in metrics, as in kube-aggregator. */
  readonly name: string;
  /** Delays after failures. */
  readonly backoff: { readonly baseMs: number; readonly maxMs: number };
  readonly workers: number;
  /** Returns the time until the next visit, in milliseconds; undefined = none. A rejection causes a visit with backoff. */
  readonly visit: (name: string, signal: AbortSignal) => Promise<number | undefined>;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class RemoteLoop {
  readonly #queue: RateLimitingQueue<string>;
  readonly #options: RemoteLoopOptions;
  readonly #stop = new AbortController();
  #running: Promise<unknown> = Promise.resolve();

  constructor(options: RemoteLoopOptions) {
    this.#options = options;
    const { name, backoff, clock } = options;
    this.#queue = new RateLimitingQueue<string>({
      name,
      clock,
      rateLimiter: new ExponentialFailureRateLimiter(backoff),
    });
  }

  /** Visits the name soon, or after a time in milliseconds. */
  add(name: string, afterMs: number = 0): void {
    if (afterMs === 0) this.#queue.add(name);
    else this.#queue.addAfter(name, afterMs);
  }

  /** Visits a name that failed before after this many milliseconds, and forgets its failures. */
  retry(name: string, afterMs: number): void {
    if (this.#queue.numRequeues(name) === 0) return;
    this.#queue.forget(name);
    this.#queue.addAfter(name, afterMs);
  }

  start(): void {
    const { workers, visit, clock, logger } = this.#options;
    const { signal } = this.#stop;
    const reconcile = async ({ key }: { readonly key: string }): Promise<{ requeueAfterMs: number } | undefined> => {
      const afterMs = await visit(key, signal);
      return afterMs === undefined ? undefined : { requeueAfterMs: afterMs };
    };
    const loop = new ReconcileLoop({ queue: this.#queue, reconcile, workers, clock, logger, gracePeriodMs: 0 });
    this.#running = loop.run(signal);
  }

  /** Idempotent. */
  async close(): Promise<void> {
    this.#stop.abort(new Error('the server is stopping'));
    this.#queue.shutDown();
    await this.#running;
  }
}
