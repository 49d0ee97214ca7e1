// JobThread runs jobs in a thread that would otherwise block the event loop: it reads long YAML
// (http/request/yaml-bodies.ts), validates large objects (validation/large-object-validation.ts), and compiles and matches
// large patterns of expressions (validation/pattern-jobs.ts). The thread starts when needed. It ends when it is idle, when a job takes too long or is no longer awaited, and when its owner closes
// it.
import type { Worker } from 'node:worker_threads';
import type { CancelTimer, Clock } from '@kapstan/api';
import { internalError } from '@kapstan/api/errors';
import { addAbortListener, type CallSignal, removeAbortListener } from '@kapstan/api/internal';

const idleMs = 10_000;
/** Time for which a job that is no longer awaited may run on: ending the thread would cost the next job a start. */
const abandonedMs = 1_000;

/** Options of a thread for jobs, and the limits of its jobs. */
export interface JobThreadOptions<Job> {
  /** The system's clock outside of tests, because the thread's work takes real time. */
  readonly clock: Clock;
  /** May throw; a request that needs the thread is then answered with 500. */
  readonly newThread: () => Worker;
  /**
   * Returns the size of a job. The smallest job runs first, so that a few lines need not wait for a huge text. Every
   * second time the oldest job runs, so that none waits forever.
   */
  sizeOf(job: Job): number;
  /** Longest time for one job, in milliseconds. */
  readonly maxJobMs: number;
  /** Further time for the first job of a thread, which includes its start, in milliseconds. Default 0. */
  readonly maxStartMs?: number;
  /** Makes the error for a job that takes longer. */
  readonly tooSlow: () => Error;
  /** Makes the error for a job during which the thread failed. */
  failureOf(error: Error & { readonly code?: string }): Error;
}

interface Waiting<Job, Answer> {
  readonly job: Job;
  readonly settle: (outcome: { readonly answer: Answer } | Error) => void;
}

/** Runs jobs in a thread that is started when it is needed, the smallest job first. */
export class JobThread<Job, Answer> {
  readonly #options: JobThreadOptions<Job>;
  /** Jobs that have no answer yet, except the running one. Their callers bound the number: by the requests in flight, or by a limit of their own. */
  readonly #waiting = new Set<Waiting<Job, Answer>>();
  #doing: Waiting<Job, Answer> | undefined;
  #worker: Worker | undefined;
  #isOldestNext = false;
  #isClosed = false;
  readonly #ends = new Set<Promise<unknown>>();
  /** Cancels the timer of the running job or of the idle thread. */
  #cancelEnd: CancelTimer = () => undefined;

  constructor(options: JobThreadOptions<Job>) {
    this.#options = options;
  }

  /** Resolves with the thread's answer. Rejects when the signal aborts. */
  ask(job: Job, signal: CallSignal | undefined): Promise<Answer> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      if (this.#isClosed) throw internalError('the server is closed');
      const onAbort = (): void => {
        this.#forget(waiting);
        reject(signal?.reason);
      };
      const waiting: Waiting<Job, Answer> = {
        job,
        settle: (outcome) => {
          if (signal !== undefined) removeAbortListener(signal, onAbort);
          if (outcome instanceof Error) reject(outcome);
          else resolve(outcome.answer);
        },
      };
      if (signal !== undefined) addAbortListener(signal, onAbort);
      this.#waiting.add(waiting);
      if (this.#doing === undefined) this.#post();
    });
  }

  /** Ends the thread even while it works; requests that wait for it get 500. Resolves when no thread is left. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelEnd();
    const refused = [...(this.#doing ? [this.#doing] : []), ...this.#waiting];
    this.#doing = undefined;
    this.#waiting.clear();
    for (const { settle } of refused) settle(internalError('the server is closed'));
    this.#end();
    await Promise.all(this.#ends);
  }

  #forget(waiting: Waiting<Job, Answer>): void {
    this.#waiting.delete(waiting);
    if (waiting !== this.#doing) return;
    this.#cancelEnd();
    this.#cancelEnd = this.#options.clock.setBackgroundTimer(() => this.#replace(), abandonedMs);
  }

  /** Starts the next job. Never throws: a job that cannot be started is rejected, and the next one is tried. */
  #post(): void {
    this.#cancelEnd();
    const isStarting = this.#worker === undefined;
    do {
      this.#doing = this.#nextWaiting();
      if (this.#doing === undefined) {
        this.#worker?.unref();
        this.#cancelEnd = this.#options.clock.setBackgroundTimer(() => this.#end(), idleMs);
        return;
      }
      this.#waiting.delete(this.#doing);
    } while (!this.#isGiven(this.#doing));
    const { clock, maxJobMs, maxStartMs = 0, tooSlow } = this.#options;
    const maxMs = isStarting ? maxStartMs + maxJobMs : maxJobMs;
    this.#cancelEnd = clock.setBackgroundTimer(() => this.#replace(tooSlow()), maxMs);
  }

  #nextWaiting(): Waiting<Job, Answer> | undefined {
    const [oldest] = this.#waiting;
    if (this.#waiting.size < 2) return oldest;
    this.#isOldestNext = !this.#isOldestNext;
    return this.#isOldestNext ? this.#least() : oldest;
  }

  #least(): Waiting<Job, Answer> | undefined {
    const { sizeOf } = this.#options;
    let least: Waiting<Job, Answer> | undefined;
    for (const waiting of this.#waiting) {
      if (least === undefined || sizeOf(waiting.job) < sizeOf(least.job)) least = waiting;
    }
    return least;
  }

  /** The system may refuse a thread when the process has too many or memory is short. */
  #isGiven({ job, settle }: Waiting<Job, Answer>): boolean {
    try {
      this.#worker ??= this.#start();
      // A program must not end while it waits for an answer; an idle thread must not keep it.
      this.#worker.ref();
      this.#worker.postMessage(job);
      return true;
    } catch (error) {
      settle(this.#options.failureOf(error as Error));
      return false;
    }
  }

  #start(): Worker {
    const worker = this.#options.newThread();
    worker.on('message', (answer: Answer) => {
      if (worker === this.#worker) this.#next({ answer });
    });
    worker.on('error', (error) => {
      if (worker === this.#worker) this.#replace(this.#options.failureOf(error));
    });
    // A thread that ends by itself emits no error; without this handler its caller would wait for the whole time limit.
    worker.on('exit', (code) => {
      if (worker === this.#worker) this.#onExit(code);
    });
    return worker;
  }

  /** Ends the thread, because a running job cannot be stopped otherwise. Another thread does the remaining jobs. */
  #replace(failure?: Error): void {
    this.#end();
    if (failure === undefined) this.#post();
    else this.#next(failure);
  }

  #onExit(code: number): void {
    this.#worker = undefined;
    this.#next(this.#options.failureOf(new Error(`the thread ended with code ${code}`)));
  }

  #next(outcome: { readonly answer: Answer } | Error): void {
    this.#doing?.settle(outcome);
    this.#post();
  }

  #end(): void {
    if (this.#worker === undefined) return;
    const end = this.#worker.terminate().finally(() => this.#ends.delete(end));
    this.#ends.add(end);
    this.#worker = undefined;
  }
}
