// FooController, the sample controller between informers that others start and workers: its handlers only filter and queue
// keys, its workers read from the informers' caches. Made and run by client-go.ts.
import {
  type Clock,
  type DeepReadonly,
  type KubernetesObject,
  type Logger,
  metaNamespaceKey,
  type ResourceClient,
} from '@kapstan/api';
import { EventRecorder, ownersOf, ReconcileLoop } from '@kapstan/controller';
import { RateLimitingQueue } from '@kapstan/controller/workqueue';
import { isDeletedFinalStateUnknown, type SharedInformer, waitForCacheSync } from '@kapstan/informers';
import type { Deployment } from '@kapstan/kinds/apps/v1';
import { Foo } from './foo.ts';
import { syncFoo } from './sync-foo.ts';

export interface FooControllerOptions {
  readonly client: ResourceClient;
  /** Whoever makes the controller starts the informers afterwards. */
  readonly foos: SharedInformer<Foo>;
  readonly deployments: SharedInformer<Deployment>;
  readonly clock: Clock;
  readonly logger: Logger;
}

const fooOf = ownersOf(Foo, { isController: true });

export class FooController {
  readonly queue: RateLimitingQueue<string>;
  readonly #options: FooControllerOptions;

  constructor(options: FooControllerOptions) {
    this.#options = options;
    const { foos, deployments, clock } = options;
    this.queue = new RateLimitingQueue({ name: 'Foos', clock });
    // A deleted Foo needs no work, because the garbage collector removes its Deployment.
    foos.addEventHandler({
      onAdd: (foo) => this.queue.add(metaNamespaceKey(foo)),
      onUpdate: (_old, foo) => this.queue.add(metaNamespaceKey(foo)),
    });
    deployments.addEventHandler({
      onAdd: (deployment) => this.#enqueueOwner(deployment),
      onUpdate: (old, deployment) => {
        const isResync = old.metadata?.resourceVersion === deployment.metadata?.resourceVersion;
        if (!isResync) this.#enqueueOwner(deployment);
      },
      onDelete: (last) => this.#enqueueOwner(isDeletedFinalStateUnknown(last) ? last.object : last),
    });
  }

  /** Works from when the caches are filled until the signal aborts, and resolves when no sync is under way. */
  async run({ workers, signal }: { readonly workers: number; readonly signal: AbortSignal }): Promise<void> {
    const { client, foos, deployments, clock, logger } = this.#options;
    const hasSynced = await waitForCacheSync([foos, deployments], { signal });
    if (!hasSynced && !signal.aborted) throw new Error('failed to wait for caches to sync');
    const recorder = new EventRecorder({ client, component: 'sample-controller', clock, logger });
    const find = (namespace: string, name: string) => deployments.lister.namespace(namespace).find(name);
    const reconcile = async ({ namespace, name }: { readonly namespace: string; readonly name: string }) => {
      const foo = foos.lister.namespace(namespace).find(name);
      if (foo !== undefined) await syncFoo(foo, { client, recorder, find });
      return undefined;
    };
    try {
      await new ReconcileLoop({ queue: this.queue, reconcile, workers, clock, logger }).run(signal);
    } finally {
      await recorder.drain();
      await recorder.close();
    }
  }

  #enqueueOwner(object: DeepReadonly<KubernetesObject> | undefined): void {
    for (const { namespace = '', name } of object === undefined ? [] : fooOf(object)) {
      const foo = this.#options.foos.lister.namespace(namespace).find(name);
      if (foo !== undefined) this.queue.add(metaNamespaceKey(foo));
    }
  }
}
