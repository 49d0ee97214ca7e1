// ReconcileLoop: N workers on one queue, each handing a key to the user's reconcile function and putting it back when it
// failed. Below it workqueue/; what users of the builder never see.
import { isStatusError, type Logger, type ObjectName, silentLogger } from '@kapstan/api';
import type { RateLimitingQueue } from './workqueue/index.ts';

/** Which object to reconcile. It may be gone. */
export interface ReconcileRequest extends ObjectName {
  /** "namespace/name", or "name". */
  readonly key: string;
}

export interface ReconcileContext {
  /** Aborts when the loop is stopped; the loop then waits for this run to end. */
  readonly signal: AbortSignal;
  /** 0 on the first try, one more after each failure. */
  readonly attempt: number;
}

/** Absent = done until the next change. */
export interface ReconcileResult {
  /** Come back after this time, in milliseconds. 0 = at once, rate limited. */
  readonly requeueAfterMs: number;
}

/** The one function that a controller's author writes. A rejection puts the key back with backoff. */
export type Reconcile = (request: ReconcileRequest, context: ReconcileContext) => Promise<ReconcileResult | undefined>;

const terminalBrand = Symbol.for('@kapstan/controller/TerminalError');

/** An error that trying again cannot help: it is logged and the key waits for the next change. */
export class TerminalError extends Error {
  constructor(message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.name = 'TerminalError';
    Object.defineProperty(this, terminalBrand, { value: true });
  }
}

function isTerminal(error: unknown): boolean {
  return typeof error === 'object' && error !== null && terminalBrand in error;
}

/** What became of one run. */
export type ReconcileOutcome =
  | { readonly type: 'succeeded'; readonly request: ReconcileRequest; readonly requeueAfterMs?: number }
  | {
      readonly type: 'failed';
      readonly request: ReconcileRequest;
      readonly error: unknown;
      readonly willRetry: boolean;
    };

export interface ReconcileLoopOptions {
  readonly queue: RateLimitingQueue<string>;
  readonly reconcile: Reconcile;
  /** Keys worked on at once. At least 1. Default 1. */
  readonly workers?: number;

  readonly logger?: Logger;
  /** Called after each run. Must not throw. */
  readonly onOutcome?: (outcome: ReconcileOutcome) => void;
}

/** Runs until its signal aborts; the same key is never reconciled twice at a time. */
export class ReconcileLoop {
  readonly #queue: RateLimitingQueue<string>;
  readonly #reconcile: Reconcile;
  readonly #workers: number;
  readonly #logger: Logger;
  readonly #onOutcome: (outcome: ReconcileOutcome) => void;

  constructor(options: ReconcileLoopOptions) {
    const workers = options.workers ?? 1;
    if (!Number.isInteger(workers) || workers < 1)
      throw new TypeError(`workers must be a whole number of at least 1, not ${workers}`);
    this.#queue = options.queue;
    this.#reconcile = options.reconcile;
    this.#workers = workers;
    this.#logger = options.logger ?? silentLogger;
    this.#onOutcome = options.onOutcome ?? (() => undefined);
  }

  /** Works until the signal aborts, then shuts the queue down and resolves when the reconciles under way have ended (they see the aborted signal). */
  async run(signal: AbortSignal): Promise<void> {
    const stop = (): void => this.#queue.shutDown();
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
    await Promise.all(Array.from({ length: this.#workers }, () => this.#work(signal)));
    signal.removeEventListener('abort', stop);
  }

  async #work(signal: AbortSignal): Promise<void> {
    for (;;) {
      const key = await this.#queue.get();
      if (key === undefined) return;
      if (signal.aborted) {
        this.#queue.done(key);
        continue;
      }
      const outcome = await this.#runOnce(key, signal);
      // Before done(): the key must not be handed to another worker between the two.
      this.#requeue(key, outcome);
      this.#queue.done(key);
      this.#onOutcome(outcome);
    }
  }

  async #runOnce(key: string, signal: AbortSignal): Promise<ReconcileOutcome> {
    const request = requestOf(key);
    try {
      const result = await this.#reconcile(request, { signal, attempt: this.#queue.numRequeues(key) });
      return { type: 'succeeded', request, ...(result === undefined ? {} : { requeueAfterMs: result.requeueAfterMs }) };
    } catch (error) {
      return { type: 'failed', request, error, willRetry: !isTerminal(error) && !signal.aborted };
    }
  }

  #requeue(key: string, outcome: ReconcileOutcome): void {
    if (outcome.type === 'succeeded') {
      if (outcome.requeueAfterMs === 0) return this.#queue.addRateLimited(key);
      this.#queue.forget(key);
      if (outcome.requeueAfterMs !== undefined) this.#queue.addAfter(key, outcome.requeueAfterMs);
      return;
    }
    const { error, willRetry } = outcome;
    const fields = {
      key,
      error: error instanceof Error ? error.message : String(error),
      reason: isStatusError(error) ? error.reason : undefined,
    };
    if (willRetry) {
      this.#logger.error('Error syncing; requeuing for later retry', fields);
      return this.#queue.addRateLimited(key);
    }
    this.#queue.forget(key);
    if (isTerminal(error)) this.#logger.error('Error syncing; waiting for the next change', fields);
  }
}

/** Keys are the user's: one with several slashes is split at the first rather than ending the worker. */
function requestOf(key: string): ReconcileRequest {
  const slash = key.indexOf('/');
  return { key, namespace: key.slice(0, Math.max(0, slash)), name: key.slice(slash + 1) };
}
