// examples/03, the second layer in detail: what the handlers of the sample controller queue, and what its workers ask for.
import { type KubernetesObject, type Resource, type ResourceClient, silentLogger } from '@kapstan/api';
import { FakeListerWatcher } from '@kapstan/api/testing';
import { controllerReference, installDefinitions } from '@kapstan/controller';
import { isDeletedFinalStateUnknown, SharedInformer, SharedInformerFactory } from '@kapstan/informers';
import { Deployment } from '@kapstan/kinds/apps/v1';
import { Event } from '@kapstan/kinds/core/v1';
import { type TestCluster, testCluster } from '@kapstan/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runClientGo } from '../../examples/03-sample-controller/client-go.ts';
import { Foo } from '../../examples/03-sample-controller/foo.ts';
import { FooController } from '../../examples/03-sample-controller/foo-controller.ts';
import { deploymentSpec } from '../../examples/03-sample-controller/sync-foo.ts';

const resyncMs = 30_000;
const namespace = 'default';

let cluster: TestCluster;
beforeEach(async () => {
  cluster = await testCluster({ http: 'off' });
});
afterEach(() => cluster.close());

/** Requests of a controller as "create Deployment web", without the lists and watches of informers. */
interface Requests {
  readonly client: ResourceClient;
  readonly made: string[];
  /** Holds back creations of Deployments. The functions let one through each. */
  readonly held: Map<string, () => void>;
  holds: boolean;
}

function requestsOver(client: ResourceClient): Requests {
  const requests: Requests = { client: new Proxy(client, { get }), made: [], held: new Map(), holds: false };
  return requests;

  function get(target: ResourceClient, verb: string | symbol): unknown {
    const member: unknown = Reflect.get(target, verb, target);
    if (typeof member !== 'function' || verb === 'listerWatcher') return bound(member, target);
    return (...args: readonly [Resource, KubernetesObject & { name?: string }, ...{ subresource?: string }[]]) => {
      const [{ kind }, object, options] = args;
      const name = object?.metadata?.name ?? object?.name ?? '';
      const part = options?.subresource === undefined ? '' : `/${options.subresource}`;
      requests.made.push(`${String(verb)} ${kind}${part} ${name}`);
      const send = (): unknown => member.apply(target, args);
      if (!requests.holds || verb !== 'create' || kind !== 'Deployment') return send();
      return new Promise<void>((resolve) => requests.held.set(name, resolve)).then(send);
    };
  }
}

function bound(member: unknown, target: object): unknown {
  return typeof member === 'function' ? member.bind(target) : member;
}

const createFoo = (name: string, replicas = 1): Promise<Foo> =>
  cluster.client.create(Foo, { metadata: { namespace, name }, spec: { deploymentName: name, replicas } });
const scaleFoo = (name: string, replicas: number): Promise<Foo> =>
  cluster.client.patch(Foo, { namespace, name }, { type: 'merge', body: { spec: { replicas } } });
const deploymentOf = (foo: Foo): Deployment => {
  const metadata = { namespace, name: foo.metadata?.name ?? '', ownerReferences: [controllerReference(Foo, foo)] };
  return { metadata, spec: deploymentSpec(foo) };
};
const createDeployment = (foo: Foo): Promise<Deployment> => cluster.client.create(Deployment, deploymentOf(foo));
const labelDeployment = (name: string): Promise<Deployment> =>
  cluster.client.patch(Deployment, { namespace, name }, { type: 'merge', body: { metadata: { labels: { a: 'b' } } } });

describe('the controller of Foos, whose queue the test empties in place of workers', () => {
  let requests: Requests;
  let factories: SharedInformerFactory[];
  beforeEach(async () => {
    factories = [];
    await installDefinitions([Foo], { client: cluster.client, fieldManager: 'test', clock: cluster.clock });
    requests = requestsOver(cluster.client);
  });
  afterEach(async () => {
    for (const factory of factories) await factory.close();
  });

  function informerOf<T extends KubernetesObject>(resource: Resource<T>, options: { readonly resyncMs?: number }) {
    const factory = new SharedInformerFactory(cluster.client, { clock: cluster.clock, ...options });
    factories.push(factory);
    return factory.informer(resource);
  }

  /** Makes a controller whose informers are not started. */
  function made(
    resync: { readonly foos?: number; readonly deployments?: number } = {},
    deployments = informerOf(Deployment, { resyncMs: resync.deployments ?? 0 }),
  ) {
    const foos = informerOf(Foo, { resyncMs: resync.foos ?? 0 });
    const { client } = requests;
    const controller = new FooController({ client, foos, deployments, clock: cluster.clock, logger: silentLogger });
    const start = async (): Promise<void> => {
      for (const factory of factories) factory.start();
      await cluster.settle();
    };
    /** Returns the keys that were queued since the last call. */
    const queued = async (): Promise<string[]> => {
      await cluster.settle();
      const keys: string[] = [];
      while (controller.queue.length > 0) {
        const key = (await controller.queue.get()) ?? '';
        controller.queue.done(key);
        keys.push(key);
      }
      return keys;
    };
    return { controller, foos, deployments, start, queued };
  }

  it('queues a Foo that is added, changed or resynced, and not one that is deleted', async () => {
    const { start, queued } = made({ foos: resyncMs });
    await start();
    await createFoo('a');
    expect(await queued()).toEqual(['default/a']);
    await scaleFoo('a', 2);
    expect(await queued()).toEqual(['default/a']);
    await cluster.advance(resyncMs);
    expect(await queued()).toEqual(['default/a']);
    await cluster.client.delete(Foo, { namespace, name: 'a' });
    expect(await queued()).toEqual([]);
    await cluster.advance(resyncMs);
    expect(await queued()).toEqual([]);
  });

  it('queues the Foo of a Deployment that is added, changed or deleted, and not of one that is resynced', async () => {
    const { deployments, start, queued } = made({ deployments: resyncMs });
    let resyncs = 0;
    deployments.addEventHandler({
      onUpdate: (old, { metadata }) => {
        if (old.metadata?.resourceVersion === metadata?.resourceVersion) resyncs++;
      },
    });
    await start();
    const foo = await createFoo('a');
    expect(await queued()).toEqual(['default/a']);
    await createDeployment(foo);
    expect(await queued()).toEqual(['default/a']);
    await labelDeployment('a');
    expect(await queued()).toEqual(['default/a']);
    await cluster.advance(3 * resyncMs);
    expect(resyncs).toBe(3);
    expect(await queued()).toEqual([]);
    await cluster.client.delete(Deployment, { namespace, name: 'a' });
    expect(await queued()).toEqual(['default/a']);
  });

  it('queues the Foo of a Deployment whose deletion was missed', async () => {
    const source = new FakeListerWatcher<Deployment>();
    await using deployments = new SharedInformer(source, { clock: cluster.clock });
    const deleted: boolean[] = [];
    deployments.addEventHandler({ onDelete: (last) => void deleted.push(isDeletedFinalStateUnknown(last)) });
    const { start, queued } = made({}, deployments);
    deployments.start();
    await start();
    source.add(deploymentOf(await createFoo('a')));
    expect(await queued()).toEqual(['default/a']);
    source.halfOpen();
    source.delete({ namespace, name: 'a' });
    source.expire();
    await cluster.advance(150_000); // the silence ends after 90 s, and a pause follows
    expect(deleted).toEqual([true]);
    expect(await queued()).toEqual(['default/a']);
  });

  it('asks for nothing in its handlers, whatever happens', async () => {
    const { start, queued } = made({ foos: resyncMs, deployments: resyncMs });
    await start();
    await createDeployment(await createFoo('a'));
    await scaleFoo('a', 2);
    await labelDeployment('a');
    await cluster.advance(resyncMs);
    expect(await queued()).toEqual(['default/a']);
    await cluster.client.delete(Deployment, { namespace, name: 'a' });
    await cluster.client.delete(Foo, { namespace, name: 'a' });
    await cluster.settle();
    expect(requests.made).toEqual([]);
  });

  it('does nothing until others start its informers', async () => {
    const { controller, foos, deployments, start } = made();
    const stop = new AbortController();
    const running = controller.run({ workers: 1, signal: stop.signal });
    await createFoo('a');
    await cluster.advance(10 * resyncMs);
    expect([foos.isStarted, deployments.isStarted, requests.made]).toEqual([false, false, []]);
    await start();
    expect(requests.made).toContain('create Deployment a');
    stop.abort();
    await cluster.settle();
    await running;
  });

  it('ends with an error when an informer is closed before it was filled', async () => {
    const { controller, foos } = made();
    const running = controller.run({ workers: 1, signal: new AbortController().signal });
    await foos.close();
    await expect(running).rejects.toThrow('failed to wait for caches to sync');
  });
});

describe('the sample controller with client-go’s parts', () => {
  let requests: Requests;
  let stop: AbortController;
  let running: Promise<void>;
  beforeEach(async () => {
    requests = requestsOver(cluster.client);
    stop = new AbortController();
    running = runClientGo({ client: requests.client, signal: stop.signal, clock: cluster.clock });
    await cluster.settle();
  });
  afterEach(async () => {
    requests.holds = false;
    for (const letThrough of requests.held.values()) letThrough();
    stop.abort();
    await cluster.settle();
    await running;
  });

  /** Returns the requests about Foos and Deployments since the last call. */
  const asked = async (): Promise<string[]> => {
    await cluster.settle();
    return requests.made.splice(0).filter((request) => / (Foo|Deployment)\b/.test(request));
  };

  it('syncs each Foo every 30 seconds', async () => {
    const syncs = async (): Promise<number> => {
      const { items } = await cluster.client.listPage(Event, { namespace });
      const counts = items.filter(({ reason }) => reason === 'Synced').map(({ count }) => count ?? 0);
      return counts.reduce((sum, count) => sum + count, 0);
    };
    await createFoo('a');
    await cluster.settle();
    const before = await syncs();
    await cluster.advance(resyncMs - 1);
    expect(await syncs()).toBe(before);
    for (const round of [1, 2, 3]) {
      await cluster.advance(round === 1 ? 1 : resyncMs);
      expect(await syncs()).toBe(before + round);
    }
  });

  it('works on two Foos at a time', async () => {
    requests.holds = true;
    for (const name of ['a', 'b', 'c']) await createFoo(name);
    await cluster.settle();
    expect([...requests.held.keys()]).toEqual(['a', 'b']);
    requests.held.get('b')?.();
    await cluster.settle();
    expect([...requests.held.keys()]).toEqual(['a', 'b', 'c']);
  });

  it('never works on one Foo twice at a time, and syncs it again when it changed meanwhile', async () => {
    requests.holds = true;
    await createFoo('a');
    await cluster.settle();
    await scaleFoo('a', 3);
    await cluster.advance(resyncMs);
    expect(await asked()).toEqual(['create Deployment a']);
    requests.holds = false;
    requests.held.get('a')?.();
    // The first status is of a Foo that has changed, so it is refused.
    expect(await asked()).toEqual(['update Foo/status a', 'update Deployment a', 'update Foo/status a']);
    expect((await cluster.client.get(Deployment, { namespace, name: 'a' })).spec?.replicas).toBe(3);
  });

  it('ends when the syncs under way have, and begins no other', async () => {
    requests.holds = true;
    for (const name of ['a', 'b', 'c']) await createFoo(name);
    await cluster.settle();
    let hasEnded = false;
    const ended = running.then(() => {
      hasEnded = true;
    });
    stop.abort();
    await cluster.settle();
    expect(hasEnded).toBe(false);
    for (const letThrough of requests.held.values()) letThrough();
    await cluster.settle();
    await ended;
    const made = (await cluster.client.listPage(Deployment, { namespace })).items.map(({ metadata }) => metadata?.name);
    expect(made).toEqual(['a', 'b']);
    const { items } = await cluster.client.listPage(Event, { namespace });
    const synced = items.filter(({ reason }) => reason === 'Synced').map(({ involvedObject }) => involvedObject.name);
    expect(synced.sort()).toEqual(['a', 'b']);
  });

  it('reads from its caches alone, and writes what differs', async () => {
    await createFoo('a');
    expect(await asked()).toEqual(['create Deployment a', 'update Foo/status a']);
    await cluster.advance(2 * resyncMs);
    expect(await asked()).toEqual([]);
    await scaleFoo('a', 2);
    expect(await asked()).toEqual(['update Deployment a']);
    await cluster.client.delete(Deployment, { namespace, name: 'a' });
    expect(await asked()).toEqual(['create Deployment a']);
  });
});
