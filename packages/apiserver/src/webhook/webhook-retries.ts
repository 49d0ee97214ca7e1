// Asks a webhook again after failures that pass, as webhooks of authentication and authorization are asked. Source: apiserver
// util/webhook (WithExponentialBackoff, DefaultShouldRetry).
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

/** Attempts of one question, and the pauses between them: half a second, then half as much again each time. */
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
      // What the webhook said tells more than that the time is over.
      if (signal?.aborted === true) throw error;
      pauseMs *= pauseFactor;
    }
  }
}

/** True for a failure that another attempt may not meet. The pool itself heeds Retry-After. */
function isPassing(error: unknown): boolean {
  if (!(error instanceof WebhookError)) return false;
  const { code = 0, isReset } = error;
  return isReset || code === 429 || (code >= 500 && code !== 503);
}
