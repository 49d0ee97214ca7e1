// Keeps one object in each active namespace and restores it whenever it is deleted or changed. Shared by serviceaccount-controller.ts and
// root-ca-certificate-publisher-controller.ts.
import { type DeepReadonly, isNotFound, isStatusError, type KubernetesObject, type Resource } from '@kapstan/api';
import type { RateLimitingQueue } from '@kapstan/controller/workqueue';
import { deletionHandlingKey, type SharedInformer } from '@kapstan/informers';
import { Namespace } from '@kapstan/kinds/core/v1';
import { type ControlLoopContext, loopQueue, runQueue, settledBefore } from './control-loop.ts';

export interface NamespacedObject<T extends KubernetesObject> {
  readonly resource: Resource<T>;
  /** Name of the object in every namespace. */
  readonly name: string;
  /** Creates or corrects the object. `present` comes from the cache and is read-only. */
  ensure(namespace: string, present: DeepReadonly<T> | undefined): Promise<void>;
}

const workers = 5;

/** Runs until the signal aborts. */
export async function keepInNamespaces<T extends KubernetesObject>(
  context: ControlLoopContext,
  kept: NamespacedObject<T>,
  signal: AbortSignal,
): Promise<void> {
  const namespaces = context.informers.informer(Namespace);
  const objects = context.informers.informer(kept.resource);
  const queue = loopQueue(context, { name: kept.resource.plural, signal });
  const registrations = [followNamespaces(namespaces, queue), followObjects(objects, kept.name, queue)];
  const synced = Promise.all(registrations.map((registration) => registration.whenSynced()));
  const reconcile = async ({ name: namespace }: { readonly name: string }): Promise<undefined> => {
    if (namespaces.lister.find(namespace)?.status?.phase !== 'Active') return;
    try {
      await kept.ensure(namespace, objects.lister.namespace(namespace).find(kept.name));
    } catch (error) {
      // The namespace has been deleted meanwhile, so the object is no longer wanted.
      if (!isNotFound(error) && !isTerminating(error)) throw error;
    }
  };
  try {
    if (!(await settledBefore(synced, signal))) return;
    context.onSynced();
    await runQueue(context, { queue, reconcile, workers }, signal);
  } finally {
    await Promise.all(registrations.map((registration) => registration.close()));
  }
}

/** Source: corev1.NamespaceTerminatingCause. */
function isTerminating(error: unknown): boolean {
  return (
    isStatusError(error) && (error.status.details?.causes ?? []).some(({ reason }) => reason === 'NamespaceTerminating')
  );
}

function followNamespaces(
  informer: SharedInformer<Namespace>,
  queue: RateLimitingQueue<string>,
): ReturnType<SharedInformer<Namespace>['addEventHandler']> {
  const add = (namespace: DeepReadonly<Namespace>): void => queue.add(namespace.metadata?.name ?? '');
  return informer.addEventHandler({ onAdd: add, onUpdate: (_old, next) => add(next) });
}

function followObjects<T extends KubernetesObject>(
  informer: SharedInformer<T>,
  name: string,
  queue: RateLimitingQueue<string>,
): ReturnType<SharedInformer<T>['addEventHandler']> {
  const suffix = `/${name}`;
  const add = (key: string): void => {
    if (key.endsWith(suffix)) queue.add(key.slice(0, -suffix.length));
  };
  return informer.addEventHandler({
    onUpdate: (_old, next) => add(deletionHandlingKey(next)),
    onDelete: (object) => add(deletionHandlingKey(object)),
  });
}
