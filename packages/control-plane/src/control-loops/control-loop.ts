// What every control loop is: a function that works until its signal aborts, and what it is given. Started by
// control-loops.ts; each loop has a file of its own.
import type { Clock, Logger, ResourceClient } from '@kapstan/api';
import { ReconcileLoop, type ReconcileOutcome, type SyncHandler } from '@kapstan/controller';
import { type RateLimiter, RateLimitingQueue } from '@kapstan/controller/workqueue';
import type { SharedInformerFactory } from '@kapstan/informers';
import type { SecretTokenIssuer } from '@kapstan/kubernetes';
import type { ServedKinds } from './served-kinds.ts';

export interface ControlLoopContext {
  readonly client: ResourceClient;
  /** One for all loops. What a loop requests before its first pause is started for it. */
  readonly informers: SharedInformerFactory;
  /** An informer for every kind there is. */
  readonly kinds: ServedKinds;
  /** PEM of the authority that signed the serving certificate. */
  readonly caCert: string;
  /** Signs what the server lets in. */
  readonly secretTokens: SecretTokenIssuer;
  /** How long content of a namespace may still arrive after its deletion, in milliseconds. */
  readonly namespaceGraceMs: number;
  readonly clock: Clock;
  /** Of this loop. */
  readonly logger: Logger;
  /** The loop calls it when it has seen all that it works on: from then on it counts as running. */
  readonly onSynced: () => void;
}

/**
 * Works until the signal aborts; resolves when nothing of it is under way. Its handlers are registered before its first pause
 * and taken away when it ends, also when it fails: it will be started again, see supervised-loop.ts.
 */
export type ControlLoop = (context: ControlLoopContext, signal: AbortSignal) => Promise<void>;

export interface LoopQueueOptions {
  readonly name: string;
  readonly rateLimiter?: RateLimiter<string>;
  /** Of the loop's run: what it leaves in the queue must not outlive it. */
  readonly signal: AbortSignal;
}

/** A queue on the loops' time, shut down with the signal. */
export function loopQueue(
  { clock }: ControlLoopContext,
  { signal, ...options }: LoopQueueOptions,
): RateLimitingQueue<string> {
  const queue = new RateLimitingQueue<string>({ ...options, clock });
  if (signal.aborted) queue.shutDown();
  signal.addEventListener('abort', () => queue.shutDown(), { once: true });
  return queue;
}

export interface LoopWork {
  readonly queue: RateLimitingQueue<string>;
  readonly reconcile: SyncHandler;
  readonly workers: number;
  readonly onOutcome?: (outcome: ReconcileOutcome) => void;
}

/** Reconciles what is in the queue until the signal aborts. */
export function runQueue(context: ControlLoopContext, work: LoopWork, signal: AbortSignal): Promise<void> {
  // No grace: the server that the loops write to is closing too.
  return new ReconcileLoop({ ...work, logger: context.logger, gracePeriodMs: 0 }).run(signal);
}

/** False when the signal aborted first. */
export async function settledBefore(promise: Promise<unknown>, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return false;
  let stop: () => void = () => undefined;
  const aborted = new Promise<boolean>((resolve) => {
    stop = () => resolve(false);
    signal.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([promise.then(() => true), aborted]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
