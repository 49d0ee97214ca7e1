// resourcequota-controller counts the usage of each quota: when its limits change, after deletions and changes that free something, after
// charges for failed writes, and every five minutes. Source: pkg/controller/resourcequota. Decision 0030.
import {
  type DeepReadonly,
  isConflict,
  isNotFound,
  type KubernetesObject,
  metaNamespaceKey,
  objectKey,
  type Resource,
} from '@kapstan/api';
import type { RateLimitingQueue } from '@kapstan/controller/workqueue';
import type { EventHandlerRegistration } from '@kapstan/informers';
import { ResourceQuota } from '@kapstan/kinds/core/v1';
import { calculateUsage, formatUsage, isSameUsage } from '@kapstan/kubernetes';
import { repeatEvery } from '../lifetime/repeat-every.ts';
import { type ControlLoop, type ControlLoopContext, loopQueue, runQueue, settledBefore } from './control-loop.ts';
import { QuotasByNamespace } from './quotas-by-namespace.ts';

const workers = 5;
/** Time between two counts of all quotas. Source: --resource-quota-sync-period. */
const resyncMs = 5 * 60_000;
/** Pause after another writer changed the quota while its objects were counted. */
const conflictPauseMs = 20;

type Quota = DeepReadonly<ResourceQuota>;

export const resourceQuotaController: ControlLoop = async (context, signal) => {
  const { kinds, clock, quotas } = context;
  const queue = loopQueue(context, { name: 'resourcequota_primary', signal });
  const known = new QuotasByNamespace(quotas.evaluators);
  const registration = followQuotas(context, known, queue);
  const stopListening = quotas.pending.onRecount((namespace, name) => queue.add(objectKey(namespace, name)));
  const enqueueUsersOf = (resource: Resource, object: DeepReadonly<KubernetesObject>): void => {
    for (const key of known.limiting(resource, object.metadata?.namespace ?? '')) queue.add(key);
  };
  const unfollow = kinds.follow({
    onChange: (resource, object, old) => {
      if (old === undefined || !known.hasAny(object.metadata?.namespace ?? '')) return;
      const evaluator = quotas.evaluators.of({ group: resource.group, resource: resource.plural });
      if (evaluator?.mayRelease?.(old, object) === true) enqueueUsersOf(resource, object);
    },
    onDelete: enqueueUsersOf,
    onKindsChange: () => enqueueAll(known, queue),
  });
  const counting = new QuotaCounting(context);
  const reconcile: QuotaCounting['reconcile'] = (request, run) => counting.reconcile(request, run);
  try {
    if (!(await settledBefore(registration.whenSynced(), signal))) return;
    context.onSynced();
    const resync = async (): Promise<void> => enqueueAll(known, queue);
    await Promise.all([
      runQueue(context, { queue, reconcile, workers }, signal),
      repeatEvery({ clock, intervalMs: resyncMs, signal }, resync),
    ]);
  } finally {
    stopListening();
    unfollow();
    await registration.close();
  }
};

/** Changes of the status come from counts and charges, so only changes of the limits need a count. */
function followQuotas(
  { informers }: ControlLoopContext,
  known: QuotasByNamespace,
  queue: RateLimitingQueue<string>,
): EventHandlerRegistration {
  return informers.informer(ResourceQuota).addEventHandler({
    onAdd: (quota) => {
      known.set(quota);
      queue.add(metaNamespaceKey(quota));
    },
    onUpdate: (old, next) => {
      if (isSameUsage(old.spec?.hard, next.spec?.hard)) return;
      known.set(next);
      queue.add(metaNamespaceKey(next));
    },
    onDelete: (object) => known.delete(object),
  });
}

function enqueueAll(known: QuotasByNamespace, queue: RateLimitingQueue<string>): void {
  for (const key of known.keys()) queue.add(key);
}

class QuotaCounting {
  readonly #context: ControlLoopContext;

  constructor(context: ControlLoopContext) {
    this.#context = context;
  }

  /**
   * A count is exact on a single server: no charge is left for an object that is not visible yet, and the write fails
   * if another charge was made meanwhile.
   */
  async reconcile(
    { name, namespace = '' }: { readonly name: string; readonly namespace?: string },
    { signal }: { readonly signal: AbortSignal },
  ): Promise<{ readonly requeueAfterMs: number } | undefined> {
    const { client, quotas } = this.#context;
    const quota = await client.get(ResourceQuota, { namespace, name }, { signal }).catch(undefinedIfMissing);
    if (quota === undefined) return undefined;
    // The charge that ends last queues this key again.
    if (quotas.pending.isBusy({ namespace, name })) return undefined;
    const { used: counted, errors } = await calculateUsage(
      quota,
      quotas.evaluators,
      this.#objectsIn(namespace, signal),
    );
    try {
      await this.#write(quota, formatUsage(counted), signal);
    } catch (error) {
      if (isConflict(error)) return { requeueAfterMs: conflictPauseMs };
      if (!isNotFound(error)) throw error;
    }
    if (errors.length > 0)
      throw new AggregateError(errors, `some kinds of objects in ${namespace} could not be counted`);
    return undefined;
  }

  async #write(quota: Quota, counted: Readonly<Record<string, string>>, signal: AbortSignal): Promise<void> {
    const hard = { ...quota.spec?.hard };
    const { status } = quota;
    const used = Object.fromEntries(
      Object.entries({ ...status?.used, ...counted }).filter(([name]) => Object.hasOwn(hard, name)),
    );
    const isCurrent = status?.hard !== undefined && status.used !== undefined;
    if (isCurrent && isSameUsage(status.hard, hard) && isSameUsage(status.used, used)) return;
    const next = { ...(quota as ResourceQuota), status: { hard, used } };
    await this.#context.client.update(ResourceQuota, next, { subresource: 'status', signal });
  }

  /** Lists are as new as the store, whereas informers lag a little. */
  #objectsIn(namespace: string, signal: AbortSignal): Parameters<typeof calculateUsage<ResourceOf>>[2] {
    const { client, kinds } = this.#context;
    return {
      resources: kinds.namespacedDeletable().map((token) => ({ group: token.group, resource: token.plural, token })),
      list: async ({ token }) => (await client.listPage(token, { namespace, signal })).items,
      count: async ({ token }) => {
        const { items, remainingItemCount = 0 } = await client.listPage(token, { namespace, limit: 1, signal });
        return items.length + remainingItemCount;
      },
    };
  }
}

interface ResourceOf {
  readonly group: string;
  readonly resource: string;
  readonly token: Resource;
}

function undefinedIfMissing(error: unknown): undefined {
  if (!isNotFound(error)) throw error;
}
