// The type of every control loop: a function that works until its signal aborts, and the context it receives. Started by
// control-loops.ts; each loop has its own file.
import type { Clock, Logger, ResourceClient } from '@kapstan/api';
import type { ResourceCatalog } from '@kapstan/apiserver';
import { ReconcileLoop, type ReconcileOutcome, type SyncHandler } from '@kapstan/controller';
import { type RateLimiter, RateLimitingQueue } from '@kapstan/controller/workqueue';
import type { SharedInformerFactory } from '@kapstan/informers';
import type { QuotaAdmission, SecretTokenIssuer } from '@kapstan/kubernetes';
import type { LoopActivity } from './loop-activity.ts';
import type { ServedKinds } from './served-kinds.ts';

export interface ControlLoopContext {
  readonly client: ResourceClient;
  /** Shared by all loops. Informers that a loop requests before its first await are started for it. */
  readonly informers: SharedInformerFactory;
  /** Offers an informer for every served kind. */
  readonly kinds: ServedKinds;
  /** The served resources, with their schemas. */
  readonly catalog: ResourceCatalog;
  /** PEM of the authority that signed the serving certificate. */
  readonly caCert: string;
  /** Issues the tokens that service accounts keep in Secrets. */
  readonly secretTokens: SecretTokenIssuer;
  /** The amounts that objects use, and charges of requests that have not ended. */
  readonly quotas: Pick<QuotaAdmission, 'evaluators' | 'pending'>;
  /** Time for which content may still arrive in a namespace after its deletion, in milliseconds. */
  readonly namespaceGraceMs: number;
  readonly clock: Clock;
  /** Counts the loop's work, for the inspector. Absent in tests of single loops. */
  readonly activity?: LoopActivity | undefined;
  /** Marks each line with the name of this loop. */
  readonly logger: Logger;
  /** Called by the loop when its caches are synced; the loop counts as running from then on. */
  readonly onSynced: () => void;
}

/**
 * Works until the signal aborts, then resolves when none of its work is in progress. It registers its handlers before its first await and
 * removes them when it ends, even after a failure, because supervised-loop.ts starts it again.
 */
export type ControlLoop = (context: ControlLoopContext, signal: AbortSignal) => Promise<void>;

export interface LoopQueueOptions {
  readonly name: string;
  readonly rateLimiter?: RateLimiter<string>;
  /** Signal of the loop's run; the queue must not outlive that run. */
  readonly signal: AbortSignal;
}

/** Creates a queue on the loops' clock that shuts down when the signal aborts. */
export function loopQueue(
  { clock, activity }: ControlLoopContext,
  { signal, ...options }: LoopQueueOptions,
): RateLimitingQueue<string> {
  const queue = new RateLimitingQueue<string>({ ...options, clock });
  if (signal.aborted) queue.shutDown();
  signal.addEventListener('abort', () => queue.shutDown(), { once: true });
  activity?.follow(options.name, queue, signal);
  return queue;
}

export interface LoopWork {
  readonly queue: RateLimitingQueue<string>;
  readonly reconcile: SyncHandler;
  readonly workers: number;
  readonly onOutcome?: (outcome: ReconcileOutcome) => void;
}

/** Reconciles the keys of the queue until the signal aborts. */
export function runQueue(context: ControlLoopContext, work: LoopWork, signal: AbortSignal): Promise<void> {
  const { queue, reconcile, onOutcome } = work;
  const activity = context.activity?.of(queue);
  // There is no grace period, because the server to which the loops write is closing too.
  return new ReconcileLoop({
    ...work,
    reconcile: activity?.timed(reconcile) ?? reconcile,
    onOutcome: (outcome) => {
      activity?.ended(outcome);
      onOutcome?.(outcome);
    },
    logger: context.logger,
    gracePeriodMs: 0,
  }).run(signal);
}

/** Returns false when the signal aborts first. */
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
