// The common form of the controllers here: reconcile a kind, also when an object that it owns changes. All informers
// come from one factory, so controllers that watch the same kind share one list, one watch and one cache.
import {
  type Clock,
  type DeepReadonly,
  type KubernetesObject,
  type Logger,
  metaNamespaceKey,
  objectKey,
  type Resource,
  type ResourceClient,
} from '@kapstan/api';
import { ownersOf, ReconcileLoop, type SyncHandler } from '@kapstan/controller';
import { RateLimitingQueue } from '@kapstan/controller/workqueue';
import { isDeletedFinalStateUnknown, type SharedInformerFactory } from '@kapstan/informers';

export interface OwnedControllerOptions {
  readonly kind: Resource;
  /** Kinds whose controlling owner is reconciled when they change. */
  readonly owns: readonly Resource[];
  readonly reconcile: SyncHandler;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface RunnableController {
  /** Runs until the signal aborts; resolves when work in progress has ended. */
  run(signal: AbortSignal): Promise<void>;
}

/** The client, clock and logger of a controller. */
export interface ControllerPorts {
  readonly client: ResourceClient;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Connects informers to a queue now; `run` starts the work. */
export function ownedController(factory: SharedInformerFactory, options: OwnedControllerOptions): RunnableController {
  const { kind, owns, reconcile, clock, logger } = options;
  const queue = new RateLimitingQueue<string>({ name: kind.plural, clock });
  const enqueue = (object: DeepReadonly<KubernetesObject>): void => queue.add(metaNamespaceKey(object));
  factory.informer(kind).addEventHandler({
    onAdd: enqueue,
    onUpdate: (_old, object) => enqueue(object),
  });
  const ownerOf = ownersOf(kind, { isController: true });
  for (const owned of owns) {
    const enqueueOwner = (object: DeepReadonly<KubernetesObject>): void => {
      for (const { namespace = '', name } of ownerOf(object)) queue.add(objectKey(namespace, name));
    };
    factory.informer(owned).addEventHandler({
      onAdd: enqueueOwner,
      onUpdate: (_old, object) => enqueueOwner(object),
      onDelete: (object) => {
        const last = isDeletedFinalStateUnknown(object) ? object.object : object;
        if (last !== undefined) enqueueOwner(last as DeepReadonly<KubernetesObject>);
      },
    });
  }
  const loop = new ReconcileLoop({ queue, reconcile, workers: 2, logger });
  return { run: (signal) => loop.run(signal) };
}
