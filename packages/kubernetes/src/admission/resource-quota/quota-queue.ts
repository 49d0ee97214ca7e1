// QuotaQueue collects the requests of each namespace while its quotas are being charged, so that all that waited are charged by the next
// write. Between resource-quota.ts and quota-charger.ts. Source: apiserver pkg/admission/plugin/resourcequota quotaEvaluator.
import type { CancelTimer, Clock } from '@kapstan/api';
import { internalError } from '@kapstan/api/errors';
import type { QuotaCharger, QuotaWaiter } from './quota-charger.ts';
import type { CheckedRequest } from './quota-check.ts';

/** Maximum wait of a request. Source: quotaEvaluator.Evaluate. */
const timeoutMs = 10_000;

class Waiter implements QuotaWaiter {
  readonly attributes: CheckedRequest['attributes'];
  readonly evaluator: CheckedRequest['evaluator'];
  readonly limited: CheckedRequest['limited'];
  readonly sinceMs: number;
  readonly answer: Promise<void>;
  isGone = false;
  #resolve: () => void = () => undefined;
  #reject: (error: unknown) => void = () => undefined;

  constructor({ attributes, evaluator, limited }: CheckedRequest, sinceMs: number) {
    this.attributes = attributes;
    this.evaluator = evaluator;
    this.limited = limited;
    this.sinceMs = sinceMs;
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  admit(): void {
    this.isGone = true;
    this.#resolve();
  }

  refuse(error: unknown): void {
    this.isGone = true;
    this.#reject(error);
  }
}

interface Bucket {
  /** All requests without an answer, the oldest first. */
  readonly unanswered: Set<Waiter>;
  waiting: Waiter[];
  cancelTimer: CancelTimer;
}

export class QuotaQueue {
  readonly #charger: QuotaCharger;
  readonly #clock: Clock;
  readonly #buckets = new Map<string, Bucket>();

  constructor(charger: QuotaCharger, clock: Clock) {
    this.#charger = charger;
    this.#clock = clock;
  }

  /** Resolves when the request is paid for. Rejects with StatusError when it may not be made. */
  pay(request: CheckedRequest): Promise<void> {
    const { namespace } = request.attributes;
    const waiter = new Waiter(request, this.#clock.monotonicNow());
    const bucket = this.#buckets.get(namespace);
    if (bucket === undefined) this.#open(namespace, waiter);
    else {
      bucket.waiting.push(waiter);
      bucket.unanswered.add(waiter);
    }
    return waiter.answer;
  }

  #open(namespace: string, first: Waiter): void {
    const bucket: Bucket = { unanswered: new Set([first]), waiting: [first], cancelTimer: () => undefined };
    this.#buckets.set(namespace, bucket);
    this.#watchTime(bucket, timeoutMs);
    void this.#work(namespace, bucket);
  }

  async #work(namespace: string, bucket: Bucket): Promise<void> {
    while (bucket.waiting.length > 0) {
      const waiters = bucket.waiting.filter(({ isGone }) => !isGone);
      bucket.waiting = [];
      await this.#charger.charge(namespace, waiters);
      for (const waiter of waiters) bucket.unanswered.delete(waiter);
    }
    bucket.cancelTimer();
    this.#buckets.delete(namespace);
  }

  /** Each namespace has one timer, which fires when the oldest request has waited too long. */
  #watchTime(bucket: Bucket, delayMs: number): void {
    bucket.cancelTimer = this.#clock.setBackgroundTimer(() => {
      const nowMs = this.#clock.monotonicNow();
      for (const waiter of bucket.unanswered) {
        const restMs = waiter.sinceMs + timeoutMs - nowMs;
        if (restMs > 0) return this.#watchTime(bucket, restMs);
        bucket.unanswered.delete(waiter);
        waiter.refuse(internalError(new Error('resource quota evaluation timed out')));
      }
      this.#watchTime(bucket, timeoutMs);
    }, delayMs);
  }
}
