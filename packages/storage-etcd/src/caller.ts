// Calls to the cluster: each has a deadline and a token; reads go on to another member when one fails, writes never do.
// Between the engine's parts and endpoint-pool.ts.
import type { Metadata, MethodDefinition } from '@grpc/grpc-js';
import { type Clock, delay } from '@kapstan/api';
import { isStorageError, StorageError } from '@kapstan/storage';
import type { AuthToken } from './auth-token.ts';
import type { EndpointPool } from './endpoint-pool.ts';
import { isGrpcError, isStaleToken, isTransient, toStorageError } from './etcd-error.ts';
import { unary } from './unary.ts';

export interface CallerOptions {
  readonly pool: EndpointPool;
  readonly token: AuthToken;
  readonly clock: Clock;
  /** Time for a call, in ms, with all its attempts. */
  readonly callTimeoutMs: number;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** For the error. */
  readonly key?: string;
  /** Default: the caller's. */
  readonly timeoutMs?: number;
}

interface Attempt {
  readonly isWrite: boolean;
  readonly scope: AbortSignal;
  wasSent: boolean;
  hasNewToken: boolean;
  lastError: unknown;
}

const retryMs = 25;
const longestRetryMs = 1_000;

export class Caller {
  readonly #options: CallerOptions;
  readonly #running: Set<Promise<unknown>> = new Set();

  constructor(options: CallerOptions) {
    this.#options = options;
  }

  /** For what changes nothing: made again, on another member, until it is answered or the time is over. */
  read<Q, R>(method: MethodDefinition<Q, R>, request: Q, options: CallOptions = {}): Promise<R> {
    return this.#within(options, false, async (attempt) => {
      for (let pauseMs = retryMs; ; pauseMs = Math.min(2 * pauseMs, longestRetryMs)) {
        try {
          return await this.#attempt(method, request, attempt);
        } catch (error) {
          if (!isTransient(error)) throw error;
          await delay(this.#options.clock, pauseMs, attempt.scope);
        }
      }
    });
  }

  /** For what changes something: waits for a connection, then is sent once. */
  write<Q, R>(method: MethodDefinition<Q, R>, request: Q, options: CallOptions = {}): Promise<R> {
    return this.#within(options, true, (attempt) => this.#attempt(method, request, attempt));
  }

  /** Resolves when no call is under way. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running);
  }

  async #within<R>(options: CallOptions, isWrite: boolean, work: (attempt: Attempt) => Promise<R>): Promise<R> {
    const { clock, callTimeoutMs, pool } = this.#options;
    const { signal, key, timeoutMs = callTimeoutMs } = options;
    signal?.throwIfAborted();
    const scope = new AbortController();
    const attempt: Attempt = { isWrite, scope: scope.signal, wasSent: false, hasNewToken: false, lastError: undefined };
    const cancelTimer = clock.setTimer(() => scope.abort(overdue(attempt, timeoutMs, pool.trouble)), timeoutMs);
    const onAbort = (): void => scope.abort(signal?.reason);
    signal?.addEventListener('abort', onAbort);
    const running = work(attempt);
    this.#running.add(running);
    try {
      return await running;
    } catch (error) {
      throw toStorageError(error, { ...attempt, ...(key === undefined ? {} : { key }) });
    } finally {
      this.#running.delete(running);
      cancelTimer();
      signal?.removeEventListener('abort', onAbort);
    }
  }

  async #attempt<Q, R>(method: MethodDefinition<Q, R>, request: Q, attempt: Attempt): Promise<R> {
    const { pool, token } = this.#options;
    const client = await pool.ready(attempt.scope);
    let metadata: Metadata | undefined;
    try {
      metadata = await token.metadata(client, attempt.scope);
      attempt.wasSent = true;
      return await unary(method, request, { client, metadata, signal: attempt.scope });
    } catch (error) {
      // Without an answer in time the connection may be half open.
      if (isTransient(error) || isStorageError(attempt.scope.reason)) pool.demote(client);
      attempt.lastError = error;
      if (metadata === undefined || attempt.hasNewToken || !token.isUsed || !isStaleToken(error)) throw error;
      // Safe for writes too: etcd looks at the token before anything else.
      token.reject(metadata);
      attempt.hasNewToken = true;
      return this.#attempt(method, request, attempt);
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
