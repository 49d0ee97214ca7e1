// Caller sends calls to the cluster, each with a deadline and a token. A read moves on to another member when one fails
// or is silent; a write never does. It sits between the engine's parts and endpoint-pool.ts.
import type { Metadata, MethodDefinition } from '@grpc/grpc-js';
import { type Clock, delay } from '@kapstan/api';
import type { CallSignal } from '@kapstan/api/internal';
import { type CallSpan, isStorageError, StorageError } from '@kapstan/storage';
import type { AuthToken } from './auth-token.ts';
import type { EndpointPool } from './endpoint-pool.ts';
import { isGrpcError, isStaleToken, isTransient, toStorageError } from './etcd-error.ts';
import { unary } from './unary.ts';

export interface CallerOptions {
  readonly pool: EndpointPool;
  readonly token: AuthToken;
  readonly clock: Clock;
  /** Time for a call with all its attempts, in ms. */
  readonly callTimeoutMs: number;
}

export interface CallOptions {
  readonly signal?: CallSignal | undefined;
  /** Key that the error names. */
  readonly key?: string;
  /** Default: the caller's. */
  readonly timeoutMs?: number;
  /** Each attempt becomes a part of it. Absent = the call is not traced. */
  readonly span?: CallSpan | undefined;
}

interface Attempt {
  readonly isWrite: boolean;
  readonly scope: AbortSignal;
  /** End of the call's time, on the monotonic clock. */
  readonly endMs: number;
  readonly span: CallSpan | undefined;
  /** Number of members that have had their share of the time. */
  turns: number;
  wasSent: boolean;
  hasNewToken: boolean;
  lastError: unknown;
}

const retryMs = 25;
const longestRetryMs = 1_000;
/** The error of a connected member that does not answer: it is frozen, or the connection was cut without notice. */
const silence = new Error('the member did not answer in its turn');

export class Caller {
  readonly #options: CallerOptions;
  readonly #running: Set<Promise<unknown>> = new Set();

  constructor(options: CallerOptions) {
    this.#options = options;
  }

  /** Sends a call that changes nothing. Repeats it on other members until one answers or the time is over. */
  read<Q, R>(method: MethodDefinition<Q, R>, request: Q, options: CallOptions = {}): Promise<R> {
    return this.#within(options, false, async (attempt) => {
      for (let pauseMs = retryMs; ; pauseMs = Math.min(2 * pauseMs, longestRetryMs)) {
        try {
          return await this.#attempt(method, request, attempt);
        } catch (error) {
          if (!isTransient(error) && error !== silence) throw error;
          attempt.turns += 1;
          await delay(this.#options.clock, pauseMs, attempt.scope);
        }
      }
    });
  }

  /** Sends a call that changes something. Waits for a connection, then sends it once. */
  write<Q, R>(method: MethodDefinition<Q, R>, request: Q, options: CallOptions = {}): Promise<R> {
    return this.#within(options, true, (attempt) => this.#attempt(method, request, attempt));
  }

  /** Resolves when no call is under way. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running);
  }

  async #within<R>(options: CallOptions, isWrite: boolean, work: (attempt: Attempt) => Promise<R>): Promise<R> {
    const { clock, callTimeoutMs, pool } = this.#options;
    const { signal, key, timeoutMs = callTimeoutMs, span } = options;
    signal?.throwIfAborted();
    const scope = new AbortController();
    const endMs = clock.monotonicNow() + timeoutMs;
    const attempt: Attempt = {
      isWrite,
      scope: scope.signal,
      endMs,
      span,
      turns: 0,
      wasSent: false,
      hasNewToken: false,
      lastError: undefined,
    };
    const cancelTimer = clock.setTimer(() => scope.abort(overdue(attempt, timeoutMs, pool.trouble)), timeoutMs);
    const onAbort = (): void => scope.abort(signal?.reason);
    signal?.addEventListener('abort', onAbort);
    const running = work(attempt);
    this.#running.add(running);
    try {
      return await running;
    } catch (error) {
      throw toStorageError(error, { ...attempt, key });
    } finally {
      this.#running.delete(running);
      cancelTimer();
      signal?.removeEventListener('abort', onAbort);
    }
  }

  async #attempt<Q, R>(method: MethodDefinition<Q, R>, request: Q, attempt: Attempt): Promise<R> {
    const { pool, token } = this.#options;
    const client = await pool.ready(attempt.scope);
    const { span } = attempt;
    let given: Metadata | undefined;
    try {
      const metadata = await token.metadata(client, attempt.scope);
      given = metadata;
      attempt.wasSent = true;
      return await this.#inTurn(attempt, (signal) => unary(method, request, { client, metadata, signal, span }));
    } catch (error) {
      // A connection without an answer in time may be half open.
      if (isTransient(error) || error === silence || isStorageError(attempt.scope.reason)) pool.demote(client);
      attempt.lastError = error;
      if (given === undefined || attempt.hasNewToken || !token.isUsed || !isStaleToken(error)) throw error;
      // This is safe for writes too, because etcd checks the token before anything else.
      token.reject(given);
      attempt.hasNewToken = true;
      return this.#attempt(method, request, attempt);
    }
  }

  /**
   * Gives a read an equal share of the time on each remaining member. A write, and the last member, may take all that
   * is left.
   */
  async #inTurn<R>(attempt: Attempt, call: (signal: AbortSignal) => Promise<R>): Promise<R> {
    const { clock, pool } = this.#options;
    const { scope, endMs, isWrite, turns } = attempt;
    const members = pool.clients.length - turns;
    if (isWrite || members < 2) return call(scope);
    const turn = new AbortController();
    const cancelTimer = clock.setTimer(() => turn.abort(silence), (endMs - clock.monotonicNow()) / members);
    const onAbort = (): void => turn.abort(scope.reason);
    scope.addEventListener('abort', onAbort);
    try {
      return await call(turn.signal);
    } finally {
      cancelTimer();
      scope.removeEventListener('abort', onAbort);
    }
  }
}

function overdue({ isWrite, wasSent, lastError }: Attempt, timeoutMs: number, trouble: string): StorageError {
  const what = wasSent && trouble === '' ? 'no answer' : 'no connection to etcd';
  const details = isGrpcError(lastError) ? lastError.details : '';
  const reason = trouble === '' ? details : trouble;
  const why = reason === '' ? '' : `: ${reason}`;
  return new StorageError({
    code: 'Unreachable',
    message: `${what} within ${timeoutMs} ms${why}`,
    maybeApplied: isWrite && wasSent,
    cause: lastError,
  });
}
