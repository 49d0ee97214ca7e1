// Tests the types of @kapstan/controller: the builder, the context, results, the manager. The objects that a reconcile gets and the
// statuses that it returns are in packages/controller/src/builder/reconciler-types.test.ts.
import { type DeepReadonly, defineResource, type ResourceClient } from '@kapstan/api';
import {
  type CacheReader,
  type Controller,
  controller,
  createOrUpdate,
  generationChanged,
  Manager,
  type ManagerOptions,
  ownersOf,
  type Predicate,
  type ReconcileResult,
  type Runnable,
  requeueAfter,
  run,
} from '@kapstan/controller';
import { RateLimitingQueue, WorkQueue } from '@kapstan/controller/workqueue';
import { Deployment } from '@kapstan/kinds/apps/v1';
import { ConfigMap, Pod, Secret } from '@kapstan/kinds/core/v1';
import { describe, expectTypeOf, it } from 'vitest';

declare const client: ResourceClient;
const idle = async () => undefined;
const Echo = defineResource({
  group: 'demo.dev',
  version: 'v1',
  kind: 'Echo',
  spec: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
});

describe('the builder', () => {
  it('ends with a controller, which is data', () => {
    expectTypeOf(controller(Echo).reconcile(idle)).toEqualTypeOf<Controller>();
    // @ts-expect-error: a builder that has not ended is none
    run(controller(Echo));
    // @ts-expect-error: a resource, not its name
    controller('pods');
  });

  it('gives each function the objects of its resource', () => {
    controller(Echo)
      .owns(ConfigMap, { when: ({ object }) => object?.data !== undefined })
      .watches(Secret, (secret, { cache }) => {
        expectTypeOf(secret).toEqualTypeOf<DeepReadonly<Secret>>();
        expectTypeOf(cache(ConfigMap)).toEqualTypeOf<CacheReader<ConfigMap>>();
        return [{ namespace: 'a', name: 'b' }, 'a/b'];
      })
      .index(Pod, 'node', (pod) => [pod.spec?.nodeName])
      .when(generationChanged)
      .reconcile(async ({ spec }) => {
        expectTypeOf(spec.text).toEqualTypeOf<string>();
      });
    // @ts-expect-error: keys are texts or targets
    controller(Echo).watches(Secret, () => [5]);
    // @ts-expect-error: a Secret has no spec
    controller(Echo).watches(Secret, ({ spec }) => [spec]);
    expectTypeOf(generationChanged).toExtend<Predicate<Pod>>();
  });

  it('takes owners as a mapping for any resource', () => {
    controller(Deployment)
      .watches(Pod, ownersOf(Deployment))
      .watches(Secret, ownersOf(Deployment, { isController: true }));
    // @ts-expect-error: there is no such option
    ownersOf(Deployment, { onlyController: true });
  });
});

describe('a reconcile', () => {
  it('may come back later, and gives nothing else', () => {
    expectTypeOf(requeueAfter(5)).toEqualTypeOf<ReconcileResult>();
    controller(Echo).reconcile(async () => requeueAfter(5));
    // @ts-expect-error: a number is no result
    controller(Echo).reconcile(async () => 5);
    // @ts-expect-error: it is async
    controller(Echo).reconcile(() => requeueAfter(5));
  });

  it('applies parts of objects, and reads and prunes children by their resource', () => {
    controller(Echo).reconcile(async (_echo, { apply, children, prune, event }) => {
      expectTypeOf(await apply(ConfigMap, { metadata: { name: 'a' } })).toEqualTypeOf<ConfigMap>();
      // @ts-expect-error: an object has a name
      await apply(ConfigMap, { data: {} });
      // @ts-expect-error: a ConfigMap holds texts
      await apply(ConfigMap, { metadata: { name: 'a' }, data: { a: 1 } });
      expectTypeOf(children(ConfigMap)).toEqualTypeOf<readonly DeepReadonly<ConfigMap>[]>();
      expectTypeOf(await prune(ConfigMap, { dryRun: true })).toEqualTypeOf<readonly DeepReadonly<ConfigMap>[]>();
      // @ts-expect-error: events are of two types
      event('Error', 'Reason', 'message');
    });
  });
});

describe('createOrUpdate', () => {
  it('changes an object of the resource', async () => {
    const { result, object } = await createOrUpdate(client, ConfigMap, {
      object: { metadata: { name: 'a' } },
      mutate: (map) => {
        map.data = { a: 'b' };
        // @ts-expect-error: a ConfigMap holds texts
        map.data = { a: 1 };
      },
    });
    expectTypeOf(result).toEqualTypeOf<'created' | 'updated' | 'unchanged'>();
    expectTypeOf(object).toEqualTypeOf<ConfigMap>();
  });
});

describe('a manager', () => {
  it('needs a client, which run finds by itself', () => {
    const one = controller(Echo).reconcile(idle);
    expectTypeOf(new Manager([one], { client }).run).returns.resolves.toBeVoid();
    // @ts-expect-error: it finds none
    new Manager([one], {});
    expectTypeOf(run(one, one, { leaderElection: { name: 'x' } })).resolves.toBeVoid();
    // @ts-expect-error: the Lease has a name
    run(one, { leaderElection: true });
    expectTypeOf<ManagerOptions['runnables']>().toEqualTypeOf<readonly Runnable[] | undefined>();
  });

  it('runs what has a name and a function', () => {
    const manager = new Manager([], { client });
    manager.add({
      name: 'a',
      run: async ({ signal, cache }) => {
        expectTypeOf(signal).toEqualTypeOf<AbortSignal>();
        expectTypeOf(cache(Pod).list()).toEqualTypeOf<readonly DeepReadonly<Pod>[]>();
      },
    });
    // @ts-expect-error: it has no name
    manager.add({ run: idle });
  });
});

describe('queues', () => {
  it('give what was added, or undefined when they are shut down', () => {
    expectTypeOf(new WorkQueue<string>().get()).resolves.toEqualTypeOf<string | undefined>();
    expectTypeOf(new RateLimitingQueue<number>().get()).resolves.toEqualTypeOf<number | undefined>();
  });
});
