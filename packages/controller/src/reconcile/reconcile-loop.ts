// ReconcileLoop: N workers on one queue. Each passes a key to the user's reconcile function and puts it back if that
// fails. It uses workqueue/; users of the builder do not see it.
import { inspect } from 'node:util';
import {
  type CancelTimer,
  type Clock,
  isStatusError,
  type LogFields,
  type Logger,
  type ObjectName,
  silentLogger,
  splitMetaNamespaceKey,
  systemClock,
} from '@kapstan/api';
import {
  guardedCall,
  type OptionTable,
  objectWith,
  optional,
  requireClock,
  requireFunction,
  requireGivenFunction,
  requireGivenSignal,
  requireLogger,
  requireNotNegative,
  requireSignal,
  TurnSlice,
} from '@kapstan/api/internal';
import { guardedLogger } from '../guards/guarded-logger.ts';
import { requirePartOptions } from '../guards/part-options.ts';
import { stackOnceLogger } from '../guards/stack-once-logger.ts';
import type { RateLimitingQueue } from '../workqueue/index.ts';
import { GuardedRequeue } from './guarded-requeue.ts';

/** The object to reconcile, which may be gone. A key with several slashes is logged and dropped. */
export interface ReconcileRequest extends ObjectName {
  /** The key: "namespace/name", or "name". */
  readonly key: string;
}

/** The tools of a {@link SyncHandler}. */
export interface SyncContext {
  /** Aborts when the loop was stopped and its grace period is over; the loop still waits for this run to end. */
  readonly signal: AbortSignal;
  /** 0 on the first try, one more after each failure. */
  readonly attempt: number;
}

/** Absent = done until the next change. */
export interface ReconcileResult {
  /** Time until the next run, in milliseconds. 0 or below = at once, rate limited. */
  readonly requeueAfterMs: number;
}

/** The function that a controller's author writes. A rejection adds the key again with backoff. */
export type SyncHandler = (request: ReconcileRequest, context: SyncContext) => Promise<ReconcileResult | undefined>;

const queueMethods = ['get', 'done', 'forget', 'addRateLimited', 'addAfter', 'numRequeues', 'shutDown'] as const;
const terminalBrand = Symbol.for('@kapstan/controller/TerminalError');

/** An error that a retry cannot help: it is logged, and the key waits for the next change. */
export class TerminalError extends Error {
  constructor(message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.name = 'TerminalError';
    Object.defineProperty(this, terminalBrand, { value: true });
  }
}

/** Returns true for a {@link TerminalError}, also when another copy of this package created it. */
export function isTerminalError(error: unknown): boolean {
  return typeof error === 'object' && error !== null && terminalBrand in error;
}

/** The result of one run. */
export type ReconcileOutcome =
  | { readonly type: 'succeeded'; readonly request: ReconcileRequest; readonly requeueAfterMs?: number | undefined }
  | {
      readonly type: 'failed';
      readonly request: ReconcileRequest;
      readonly error: unknown;
      readonly willRetry: boolean;
    };

/** Options of a {@link ReconcileLoop}. */
export interface ReconcileLoopOptions {
  /**
   * When its rate limiter throws, that is logged and `defaultControllerRateLimiter` is used for the key: 5 ms to 1000
   * s, 10 a second in total.
   */
  readonly queue: RateLimitingQueue<string>;
  readonly reconcile: SyncHandler;
  /** Number of keys processed at once. At least 1. Default 1. */
  readonly workers?: number;
  /**
   * Time for running reconciles to end after the stop before their signal aborts, in milliseconds. 0 = it aborts at
   * once. Default 30 000. Source: controller-runtime GracefulShutdownTimeout.
   */
  readonly gracePeriodMs?: number;
  /** Aborts the signals of running reconciles without any grace, because the right to work is lost. Default: never. */
  readonly abort?: AbortSignal;
  /** Measures the grace period. Default: the real clock. */
  readonly clock?: Clock;
  readonly logger?: Logger;
  /** Called after each run. An error that it throws is logged. */
  readonly onOutcome?: (outcome: ReconcileOutcome) => void;
}

const optionTable: OptionTable<ReconcileLoopOptions> = {
  queue: objectWith(...queueMethods),
  reconcile: requireGivenFunction,
  workers: optional(requireWorkers),
  gracePeriodMs: optional(requireNotNegative),
  abort: requireSignal,
  clock: requireClock,
  logger: requireLogger,
  onOutcome: requireFunction,
};
const defaultGracePeriodMs = 30_000;

/** `stop`: begin no more runs; `abort`: end the runs under way. */
interface Signals {
  readonly stop: AbortSignal;
  readonly abort: AbortSignal;
}

/**
 * Runs until its signal aborts; the same key is never reconciled twice at a time.
 *
 * @example
 * ```ts
 * import { ReconcileLoop } from '@kapstan/controller';
 * import { RateLimitingQueue } from '@kapstan/controller/workqueue';
 *
 * const queue = new RateLimitingQueue<string>({ name: 'reports' });
 * const loop = new ReconcileLoop({
 *   queue,
 *   workers: 2,
 *   reconcile: async ({ key }) => {
 *     console.log('working on', key);
 *     return undefined; // or { requeueAfterMs: 60_000 }
 *   },
 * });
 * queue.add('default/web');
 * const stop = new AbortController();
 * await loop.run(stop.signal);
 * ```
 */
export class ReconcileLoop {
  readonly #queue: RateLimitingQueue<string>;
  readonly #requeues: GuardedRequeue;
  readonly #reconcile: SyncHandler;
  readonly #workers: number;
  readonly #gracePeriodMs: number;
  readonly #abort: AbortSignal | undefined;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #onOutcome: (outcome: ReconcileOutcome) => void;

  /** Throws TypeError on bad options. */
  constructor(options: ReconcileLoopOptions) {
    requirePartOptions(options, optionTable, 'a ReconcileLoop');
    this.#queue = options.queue;
    this.#reconcile = options.reconcile.bind(options);
    this.#workers = options.workers ?? 1;
    this.#gracePeriodMs = options.gracePeriodMs ?? defaultGracePeriodMs;
    this.#abort = options.abort;
    this.#clock = options.clock ?? systemClock;
    this.#logger =
      options.logger === undefined ? silentLogger : stackOnceLogger(guardedLogger(options.logger), this.#clock);
    this.#onOutcome = options.onOutcome?.bind(options) ?? (() => undefined);
    this.#requeues = new GuardedRequeue({
      queue: this.#queue,
      clock: this.#clock,
      report: (key, error) => this.#logger.error('the rate limiter failed; the default one is used', { key, error }),
    });
  }

  /**
   * Works until the signal aborts. It then begins no more keys: the queue is shut down, and running reconciles have the
   * grace period before their signal aborts. Resolves when they have ended.
   */
  async run(stop: AbortSignal): Promise<void> {
    requireGivenSignal(stop);
    const ends = [stop, ...(this.#abort === undefined ? [] : [this.#abort])];
    const stopping = new AbortController();
    const abort = new AbortController();
    let cancelGrace: CancelTimer = () => undefined;
    const onEnd = (): void => {
      this.#queue.shutDown();
      stopping.abort();
      const giveUp = (): void => abort.abort(ends.find((signal) => signal.aborted)?.reason);
      cancelGrace();
      if (this.#gracePeriodMs === 0 || this.#abort?.aborted) giveUp();
      else cancelGrace = this.#clock.setTimer(giveUp, this.#gracePeriodMs);
    };
    if (ends.some((signal) => signal.aborted)) onEnd();
    for (const signal of ends) signal.addEventListener('abort', onEnd, { once: true });
    const signals = { stop: stopping.signal, abort: abort.signal };
    try {
      await Promise.all(Array.from({ length: this.#workers }, () => this.#work(signals)));
    } finally {
      for (const signal of ends) signal.removeEventListener('abort', onEnd);
      cancelGrace();
    }
  }

  async #work(signals: Signals): Promise<void> {
    const slice = new TurnSlice({ clock: this.#clock, itemsPerLook: 4 });
    for (;;) {
      const wasIdle = this.#queue.length === 0;
      const key = await this.#queue.get();
      if (key === undefined) return;
      if (wasIdle) slice.begin();
      if (signals.stop.aborted) {
        this.#queue.done(key);
        continue;
      }
      const request = this.#requestOf(key);
      if (request === undefined) continue;
      const outcome = await this.#runOnce(request, signals);
      // Runs before done(), so that the key is not given to another worker in between.
      this.#requeue(key, outcome, signals);
      this.#queue.done(key);
      this.#tell(outcome);
      // Runs that never wait would follow each other in one turn. While ten thousand keys fail at once, probes, watches and the lease need
      // their turns.
      if (slice.endsHere()) await slice.nextTurn();
    }
  }

  /**
   * Returns undefined for a key that is not a name, which is dropped because a retry would give the same result.
   * Source: the sample controller.
   */
  #requestOf(key: string): ReconcileRequest | undefined {
    try {
      return requestOf(key);
    } catch (error) {
      this.#logger.error('a key is not the name of an object; it is dropped', { key, error });
      this.#requeues.forget(key);
      this.#queue.done(key);
      return undefined;
    }
  }

  #tell(outcome: ReconcileOutcome): void {
    guardedCall(
      () => this.#onOutcome(outcome),
      (error) => this.#logger.error('onOutcome failed', fieldsOf(outcome.request.key, error)),
    );
  }

  async #runOnce(request: ReconcileRequest, { stop, abort: signal }: Signals): Promise<ReconcileOutcome> {
    const { key } = request;
    try {
      const result = await this.#reconcile(request, { signal, attempt: this.#requeues.numRequeues(key) });
      requireResult(result);
      return { type: 'succeeded', request, requeueAfterMs: result?.requeueAfterMs };
    } catch (error) {
      // A queue that is shut down takes nothing back.
      return { type: 'failed', request, error, willRetry: !isTerminalError(error) && !stop.aborted };
    }
  }

  #requeue(key: string, outcome: ReconcileOutcome, { stop, abort }: Signals): void {
    const priority = this.#queue.priorityOf(key);
    if (outcome.type === 'succeeded') {
      const { requeueAfterMs } = outcome;
      if (requeueAfterMs !== undefined && !(requeueAfterMs > 0)) return this.#requeues.addRateLimited(key, priority);
      this.#requeues.forget(key);
      if (requeueAfterMs !== undefined) this.#queue.addAfter(key, requeueAfterMs, priority);
      return;
    }
    const { error, willRetry } = outcome;
    const fields = fieldsOf(key, error);
    if (willRetry) {
      this.#logger.error('Error syncing; requeuing for later retry', fields);
      return this.#requeues.addRateLimited(key, priority);
    }
    this.#requeues.forget(key);
    // The run ended because of its signal, as it should.
    if ([stop, abort].some((signal) => signal.aborted && error === signal.reason)) return;
    const next = isTerminalError(error) ? 'waiting for the next change' : 'not trying again after the stop';
    this.#logger.error(`Error syncing; ${next}`, fields);
  }
}

/** Throws TypeError for results that would otherwise mean the end of the work, or work that is due at once. */
function requireResult(result: unknown): void {
  if (result === undefined) return;
  const { requeueAfterMs } = (typeof result === 'object' && result !== null ? result : {}) as Partial<ReconcileResult>;
  if (!Number.isFinite(requeueAfterMs))
    throw new TypeError(`a reconcile gives nothing or requeueAfter(milliseconds), not ${inspect(result)}`);
}

/** Returns the error as it is, because loggers show its stack and cause. */
function fieldsOf(key: string, error: unknown): LogFields {
  return { key, ...(isStatusError(error) ? { reason: error.reason } : {}), error };
}

/** Throws TypeError for a key that is not a name, because keys come from the user. */
function requestOf(key: unknown): ReconcileRequest {
  if (typeof key !== 'string') throw new TypeError(`expected string in workqueue but got ${inspect(key)}`);
  return { key, ...splitMetaNamespaceKey(key) };
}

function requireWorkers(workers: unknown): void {
  if (!Number.isInteger(workers) || (workers as number) < 1)
    throw new TypeError(`workers must be a whole number of at least 1, not ${workers}`);
}
