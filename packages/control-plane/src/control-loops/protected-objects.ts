// Protects objects with a finalizer, which is removed when the object is to be deleted and nothing uses it. Shared by the loops that
// protect volumes, claims and volume attributes classes. Source: pkg/controller/volume/pvcprotection, pvprotection, vacprotection.
import {
  type DeepReadonly,
  deepCopy,
  isConflict,
  isNotFound,
  type KubernetesObject,
  type Resource,
} from '@kapstan/api';
import type { ReconcileRequest } from '@kapstan/controller';
import { deletionHandlingKey } from '@kapstan/informers';
import { type ControlLoop, type ControlLoopContext, loopQueue, runQueue, settledBefore } from './control-loop.ts';

/** Handlers on the objects that use protected ones. */
interface UserHandlers {
  whenSynced(): Promise<unknown>;
  close(): Promise<void>;
}

export interface ProtectedKind<T extends KubernetesObject> {
  readonly resource: Resource<T>;
  readonly finalizer: string;
  readonly queueName: string;
  /** Reports, by key, objects that may no longer be in use. */
  followUsers(context: ControlLoopContext, add: (key: string) => void): readonly UserHandlers[];
  /** Returns whether the object is still used. Called when the object is to be deleted. */
  isUsed(context: ControlLoopContext, object: DeepReadonly<T>, signal: AbortSignal): boolean | Promise<boolean>;
}

const workers = 1;

export function protect<T extends KubernetesObject>(kind: ProtectedKind<T>): ControlLoop {
  return async (context, signal) => {
    const { lister } = context.informers.informer(kind.resource);
    const queue = loopQueue(context, { name: kind.queueName, signal });
    const addObject = (object: DeepReadonly<T>): void => {
      if (isGoing(object) === hasFinalizer(kind, object)) queue.add(deletionHandlingKey(object));
    };
    const own = context.informers
      .informer(kind.resource)
      .addEventHandler({ onAdd: addObject, onUpdate: (_old, next) => addObject(next) });
    const registrations = [own, ...kind.followUsers(context, (key) => queue.add(key))];
    const reconcile = async ({ namespace, name }: ReconcileRequest): Promise<undefined> => {
      const object = namespace ? lister.namespace(namespace).find(name) : lister.find(name);
      if (object === undefined || isGoing(object) !== hasFinalizer(kind, object)) return;
      if (isGoing(object) && (await kind.isUsed(context, object, signal))) return;
      await writeFinalizers(context, kind, { object, signal });
    };
    try {
      if (!(await settledBefore(Promise.all(registrations.map((each) => each.whenSynced())), signal))) return;
      context.onSynced();
      await runQueue(context, { queue, reconcile, workers }, signal);
    } finally {
      await Promise.all(registrations.map((each) => each.close()));
    }
  };
}

function isGoing({ metadata }: DeepReadonly<KubernetesObject>): boolean {
  return metadata?.deletionTimestamp !== undefined;
}

function hasFinalizer(
  { finalizer }: { readonly finalizer: string },
  { metadata }: DeepReadonly<KubernetesObject>,
): boolean {
  return metadata?.finalizers?.includes(finalizer) === true;
}

/** Removes the finalizer from an object that is being deleted; adds it to one that was created before admission did so. */
async function writeFinalizers<T extends KubernetesObject>(
  { client }: ControlLoopContext,
  { resource, finalizer }: ProtectedKind<T>,
  { object, signal }: { readonly object: DeepReadonly<T>; readonly signal: AbortSignal },
): Promise<void> {
  const next = deepCopy(object) as T;
  const present = object.metadata?.finalizers ?? [];
  const finalizers = isGoing(object) ? present.filter((each) => each !== finalizer) : [...present, finalizer];
  next.metadata = { ...next.metadata, finalizers };
  try {
    await client.update(resource, next, { signal });
  } catch (error) {
    // The object is newer than the cache, which will report it, or it is gone.
    if (!isConflict(error) && !isNotFound(error)) throw error;
  }
}
