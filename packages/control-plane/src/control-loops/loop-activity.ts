// LoopActivity counts the work of one control loop: the queues of its present run, and the runs of their keys. The inspector reads it;
// control-loop.ts fills it. Keys are not shown, since they may be names of Secrets.
import type { Clock } from '@kapstan/api';
import type { ReconcileOutcome, SyncHandler } from '@kapstan/controller';
import type { RateLimitingQueue } from '@kapstan/controller/workqueue';

/** One queue of a loop. */
export class QueueActivity {
  readonly name: string;
  readonly queue: RateLimitingQueue<string>;
  readonly #clock: Clock;
  /** Start times of the runs under way, by key, the oldest first. */
  readonly #startedAtMs = new Map<string, number>();
  #runs = 0;
  #failures = 0;

  constructor(name: string, queue: RateLimitingQueue<string>, clock: Clock) {
    this.name = name;
    this.queue = queue;
    this.#clock = clock;
  }

  /** Runs that have ended. */
  get runs(): number {
    return this.#runs;
  }

  get failures(): number {
    return this.#failures;
  }

  /** Monotonic time at which the longest current run began; undefined when there is none. */
  get oldestStartMs(): number | undefined {
    return this.#startedAtMs.values().next().value;
  }

  /** Returns the handler with its runs timed. */
  timed(reconcile: SyncHandler): SyncHandler {
    return async (request, context) => {
      this.#startedAtMs.set(request.key, this.#clock.monotonicNow());
      try {
        return await reconcile(request, context);
      } finally {
        this.#startedAtMs.delete(request.key);
      }
    };
  }

  ended({ type }: ReconcileOutcome): void {
    this.#runs++;
    if (type === 'failed') this.#failures++;
  }
}

export class LoopActivity {
  readonly #queues = new Map<RateLimitingQueue<string>, QueueActivity>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get queues(): readonly QueueActivity[] {
    return [...this.#queues.values()];
  }

  /** Follows a queue until the signal of its run aborts. */
  follow(name: string, queue: RateLimitingQueue<string>, run: AbortSignal): void {
    if (run.aborted) return;
    this.#queues.set(queue, new QueueActivity(name, queue, this.#clock));
    run.addEventListener('abort', () => this.#queues.delete(queue), { once: true });
  }

  of(queue: RateLimitingQueue<string>): QueueActivity | undefined {
    return this.#queues.get(queue);
  }
}
