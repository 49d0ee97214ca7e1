// namespace-controller deletes the content of a namespace that is being deleted, reports progress in its conditions, and finalizes it
// when it is empty. Source: pkg/controller/namespace; spec.finalizers is changed through namespaces/finalize.
import { type DeepReadonly, deepCopy, isConflict, isNotFound, type KubernetesObject } from '@kapstan/api';
import {
  BucketRateLimiter,
  ExponentialFailureRateLimiter,
  MaxOfRateLimiter,
  type RateLimitingQueue,
} from '@kapstan/controller/workqueue';
import { Namespace } from '@kapstan/kinds/core/v1';
import { type ControlLoop, type ControlLoopContext, loopQueue, runQueue, settledBefore } from './control-loop.ts';
import { conditionsWith } from './namespace-conditions.ts';
import { type ContentPass, deleteContent } from './namespace-content.ts';

const workers = 10;
const finalizerToken = 'kubernetes';
/** Deletions within this time share one new pass. */
const gatherMs = 100;

export const namespaceController: ControlLoop = async (context, signal) => {
  const rateLimiter = new MaxOfRateLimiter<string>([
    new ExponentialFailureRateLimiter({ baseMs: 5, maxMs: 60_000 }),
    new BucketRateLimiter({ perSecond: 10, burst: 100, clock: context.clock }),
  ]);
  const queue = loopQueue(context, { name: 'namespace', rateLimiter, signal });
  const registration = followNamespaces(context, queue);
  const waiting = new Set<string>();
  const unfollow = context.kinds.follow({
    onDelete: (_token, { metadata }) => {
      const namespace = metadata?.namespace ?? '';
      if (waiting.has(namespace)) queue.addAfter(namespace, gatherMs);
    },
  });
  const deletion = new NamespaceDeletion(context, waiting);
  const reconcile: NamespaceDeletion['reconcile'] = (request, run) => deletion.reconcile(request, run);
  try {
    if (!(await settledBefore(registration.whenSynced(), signal))) return;
    context.onSynced();
    await runQueue(context, { queue, reconcile, workers }, signal);
  } finally {
    unfollow();
    await registration.close();
  }
};

function followNamespaces(
  context: ControlLoopContext,
  queue: RateLimitingQueue<string>,
): { whenSynced(): Promise<boolean>; close(): Promise<void> } {
  const add = ({ metadata }: DeepReadonly<KubernetesObject>): void => {
    if (metadata?.deletionTimestamp === undefined) return;
    // Writes that were admitted before the deletion may still be in progress.
    queue.addAfter(metadata.name ?? '', context.namespaceGraceMs);
  };
  return context.informers.informer(Namespace).addEventHandler({ onAdd: add, onUpdate: (_old, next) => add(next) });
}

class NamespaceDeletion {
  readonly #context: ControlLoopContext;
  /** Namespaces whose content is being deleted. */
  readonly #waiting: Set<string>;

  constructor(context: ControlLoopContext, waiting: Set<string>) {
    this.#context = context;
    this.#waiting = waiting;
  }

  async reconcile(
    { name }: { readonly name: string },
    { signal }: { readonly signal: AbortSignal },
  ): Promise<{ readonly requeueAfterMs: number } | undefined> {
    const namespace = await this.#find(name, signal);
    const deletedAt = namespace?.metadata?.deletionTimestamp;
    const isOpen = deletedAt !== undefined && (namespace?.spec?.finalizers ?? []).length > 0;
    if (namespace === undefined || !isOpen) {
      this.#waiting.delete(name);
      return;
    }
    // The namespace is added before the pass, so that a deletion during the pass triggers another one.
    this.#waiting.add(name);
    const { client, clock, kinds } = this.#context;
    const resources = kinds.namespacedDeletable();
    const pass = await deleteContent({ client, clock, namespace: name, deletedAt, resources, signal });
    await this.#writeConditions(namespace, pass, signal);
    if (pass.errors.length > 0) throw new Error(`deletion of namespace ${name} failed: ${pass.errors.join(', ')}`);
    if (pass.estimateSeconds > 0) return { requeueAfterMs: (Math.floor(pass.estimateSeconds / 2) + 1) * 1000 };
    this.#waiting.delete(name);
    await this.#finalize(namespace, signal);
    return;
  }

  async #find(name: string, signal: AbortSignal): Promise<Namespace | undefined> {
    try {
      return await this.#context.client.get(Namespace, { name }, { signal });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** A failure is only logged, because reporting must not delay the deletion. */
  async #writeConditions(namespace: Namespace, pass: ContentPass, signal: AbortSignal): Promise<void> {
    const { client, clock, logger } = this.#context;
    const write = this.#update(namespace, signal, async (present) => {
      const conditions = conditionsWith(present.status?.conditions ?? [], pass, clock.now());
      if (conditions === undefined && present.status?.phase === 'Terminating') return;
      const next = deepCopy(present);
      next.status = { ...next.status, phase: 'Terminating', ...(conditions === undefined ? {} : { conditions }) };
      await client.update(Namespace, next, { subresource: 'status', signal });
    });
    await write.catch((error: unknown) => {
      signal.throwIfAborted();
      const name = namespace.metadata?.name;
      logger.error('could not write the conditions of a namespace; continuing its deletion', {
        namespace: name,
        error: String(error),
      });
    });
  }

  async #finalize(namespace: Namespace, signal: AbortSignal): Promise<void> {
    await this.#update(namespace, signal, async (present) => {
      const finalizers = (present.spec?.finalizers ?? []).filter((finalizer) => finalizer !== finalizerToken);
      const next = { ...present, spec: { ...present.spec, finalizers } };
      await this.#context.client.update(Namespace, next, { subresource: 'finalize', signal });
    });
  }

  /** Retries with the newest state after a conflict. Does nothing when this namespace is gone. */
  async #update(
    namespace: Namespace,
    signal: AbortSignal,
    change: (present: Namespace) => Promise<void>,
  ): Promise<void> {
    const { name = '', uid } = namespace.metadata ?? {};
    for (;;) {
      signal.throwIfAborted();
      const present = await this.#find(name, signal);
      if (present === undefined || present.metadata?.uid !== uid) return;
      try {
        return await change(present);
      } catch (error) {
        if (isNotFound(error)) return;
        if (!isConflict(error)) throw error;
      }
    }
  }
}
