// The sample controller on the first layer: informers as observables, one pipeline. A change of a Deployment becomes a change
// of its Foo; conflateByKey works on one Foo at a time and only on its newest state; errors are retried with backoff.
import { type DeepReadonly, delay, objectKey, silentLogger, systemClock } from '@kapstan/api';
import { EventRecorder, installDefinitions, ownersOf } from '@kapstan/controller';
import { ExponentialFailureRateLimiter } from '@kapstan/controller/workqueue';
import { conflateByKey, type ObjectChange, SharedInformer, waitForCacheSync } from '@kapstan/informers';
import { Deployment } from '@kapstan/kinds/apps/v1';
import { filter, fromEvent, lastValueFrom, map, merge, Subject, takeUntil } from 'rxjs';
import { Foo } from './foo.ts';
import type { RunOptions } from './run-options.ts';
import { syncFoo } from './sync-foo.ts';

export async function runObservables({
  client,
  signal,
  clock = systemClock,
  logger = silentLogger,
}: RunOptions): Promise<void> {
  await installDefinitions([Foo], { client, fieldManager: 'sample-controller', clock, logger, signal });
  await using foos = new SharedInformer(client.listerWatcher(Foo), { clock, logger });
  await using deployments = new SharedInformer(client.listerWatcher(Deployment), { clock, logger });
  const recorder = new EventRecorder({ client, component: 'sample-controller', clock, logger });
  foos.start();
  deployments.start();
  await waitForCacheSync([foos, deployments], { signal });

  const fooOf = ownersOf(Foo, { isController: true });
  /** Returns the Foo that controls a Deployment, as if it had changed. */
  const changeOfOwner = ({
    object,
  }: {
    readonly object: DeepReadonly<Deployment> | undefined;
  }): ObjectChange<Foo> | undefined => {
    const [owner] = object === undefined ? [] : fooOf(object);
    if (owner === undefined) return undefined;
    const key = objectKey(owner.namespace ?? '', owner.name);
    const foo = foos.indexer.getByKey(key);
    return foo === undefined ? undefined : { type: 'updated', key, object: foo, oldObject: foo };
  };
  const changesOfOwners$ = deployments.events$.pipe(
    filter((event) => event.type !== 'synced'),
    map(changeOfOwner),
    filter((change) => change !== undefined),
  );
  const find = (namespace: string, name: string) => deployments.lister.namespace(namespace).find(name);
  const sync = async ({ key }: ObjectChange<Foo>): Promise<void> => {
    const foo = foos.indexer.getByKey(key); // as it is now
    if (foo !== undefined) await syncFoo(foo, { client, recorder, find });
  };
  const isStopped$ = fromEvent(signal, 'abort');
  // A failed Foo comes back as a change after growing delays; other Foos are processed in the meantime.
  const again$ = new Subject<ObjectChange<Foo>>();
  const backoff = new ExponentialFailureRateLimiter<string>({ baseMs: 5, maxMs: 1_000_000 });
  /** The signal ended the pause, so nothing comes back. */
  const stopped = (): void => undefined;
  const syncOrRetry = async (change: ObjectChange<Foo>): Promise<void> => {
    try {
      await sync(change);
      backoff.forget(change.key);
    } catch (error) {
      const delayMs = backoff.when(change.key);
      logger.error('the Foo could not be synced', { key: change.key, delayMs, error });
      delay(clock, delayMs, signal).then(() => again$.next(change), stopped);
    }
  };
  const synced$ = merge(foos.events$, changesOfOwners$, again$).pipe(
    takeUntil(isStopped$),
    conflateByKey(syncOrRetry, { concurrency: 2 }),
  );
  await lastValueFrom(synced$, { defaultValue: undefined });
  await recorder.drain();
  await recorder.close();
}
