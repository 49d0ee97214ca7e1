// The sample controller on the second layer, part for part as with client-go: informers from a factory, handlers that only
// queue keys, workers that read from listers.
import { type DeepReadonly, type KubernetesObject, metaNamespaceKey, silentLogger, systemClock } from '@kapstan/api';
import { EventRecorder, installDefinitions, ownersOf, ReconcileLoop } from '@kapstan/controller';
import { RateLimitingQueue } from '@kapstan/controller/workqueue';
import { isDeletedFinalStateUnknown, SharedInformerFactory } from '@kapstan/informers';
import { Deployment } from '@kapstan/kinds/apps/v1';
import { Foo } from './foo.ts';
import type { RunOptions } from './run-options.ts';
import { syncFoo } from './sync-foo.ts';

export async function runClientGo({
  client,
  signal,
  clock = systemClock,
  logger = silentLogger,
}: RunOptions): Promise<void> {
  await installDefinitions([Foo], { client, fieldManager: 'sample-controller', clock, logger, signal });
  await using factory = new SharedInformerFactory(client, { resyncMs: 30_000, clock, logger });
  const foos = factory.informer(Foo);
  const deployments = factory.informer(Deployment);
  const queue = new RateLimitingQueue<string>({ name: 'Foos', clock });
  const recorder = new EventRecorder({ client, component: 'sample-controller', clock, logger });

  const fooOf = ownersOf(Foo, { isController: true });
  const enqueueOwner = (object: DeepReadonly<KubernetesObject> | undefined): void => {
    for (const { namespace = '', name } of object === undefined ? [] : fooOf(object)) {
      const foo = foos.lister.namespace(namespace).find(name);
      if (foo !== undefined) queue.add(metaNamespaceKey(foo));
    }
  };
  foos.addEventHandler({
    onAdd: (foo) => queue.add(metaNamespaceKey(foo)),
    onUpdate: (_old, foo) => queue.add(metaNamespaceKey(foo)),
  });
  deployments.addEventHandler({
    onAdd: enqueueOwner,
    onUpdate: (old, deployment) => {
      if (old.metadata?.resourceVersion !== deployment.metadata?.resourceVersion) enqueueOwner(deployment); // no resync
    },
    onDelete: (last) => enqueueOwner(isDeletedFinalStateUnknown(last) ? last.object : last),
  });

  factory.start();
  await factory.waitForCacheSync({ signal });
  const find = (namespace: string, name: string) => deployments.lister.namespace(namespace).find(name);
  const loop = new ReconcileLoop({
    queue,
    workers: 2,
    clock,
    logger,
    reconcile: async ({ namespace, name }) => {
      const foo = foos.lister.namespace(namespace).find(name);
      if (foo !== undefined) await syncFoo(foo, { client, recorder, find });
      return undefined;
    },
  });
  await loop.run(signal);
  await recorder.drain();
  await recorder.close();
}
