// Retries calls of authentication and authorization webhooks after transient failures. Source: apiserver util/webhook
// (WithExponentialBackoff, DefaultShouldRetry).
import { type Clock, delay } from '@kapstan/api';
import type { CallSignal } from '@kapstan/api/internal';
import { WebhookError } from './webhook-pool.ts';

export interface WebhookRetryPorts {
  readonly clock: Clock;
  /** Uniform in [0, 1), for pauses. Default Math.random. */
  readonly random?: (() => number) | undefined;
  /** Ends the pauses. */
  readonly signal?: CallSignal | undefined;
}

/**
 * Number of attempts of one question, and the pauses between them: half a second, then half as much again each time.
 */
const maxAttempts = 5;
const firstPauseMs = 500;
const pauseFactor = 1.5;
const jitter = 0.2;

/** Rejects with the error of the last attempt. */
export async function askWithRetries<T>(ask: () => Promise<T>, ports: WebhookRetryPorts): Promise<T> {
  const { clock, random = Math.random, signal } = ports;
  let pauseMs = firstPauseMs;
  for (let attempt = 1; ; attempt++) {
    try {
      return await ask();
    } catch (error) {
      if (attempt === maxAttempts || !isPassing(error)) throw error;
      await delay(clock, pauseMs * (1 + jitter * random()), signal).catch(() => undefined);
      // The webhook's own error is more informative than the end of the time.
      if (signal?.aborted === true) throw error;
      pauseMs *= pauseFactor;
    }
  }
}

/** True for a failure that another attempt may avoid. The pool itself obeys Retry-After. */
function isPassing(error: unknown): boolean {
  if (!(error instanceof WebhookError)) return false;
  const { code = 0, isReset } = error;
  return isReset || code === 429 || (code >= 500 && code !== 503);
}
