import { connect as connectTcp } from 'node:net';
import { isExpired, isTooManyRequests, type KubernetesObject, resource, systemClock } from '@kapstan/api';
import { LeakCheck } from '@kapstan/api/testing';
import { isTransportError } from '@kapstan/client';
import { SharedInformer } from '@kapstan/informers';
import { ConfigMap, Pod } from '@kapstan/kinds/core/v1';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type TestCluster, testCluster } from './test-cluster.ts';
import type { TestClusterOptions } from './test-cluster-options.ts';

const clusters: TestCluster[] = [];

async function start(options?: TestClusterOptions): Promise<TestCluster> {
  const cluster = await testCluster(options);
  clusters.push(cluster);
  return cluster;
}

afterEach(async () => {
  for (const cluster of clusters.splice(0)) await cluster.close();
});

const target = (name: string) => ({ name, namespace: 'default' });
const map = (name: string, k = '1'): ConfigMap => ({ metadata: target(name), data: { k } });

interface EchoObject extends KubernetesObject {
  spec: { text: string };
}
const Echo = resource<EchoObject>({ group: 'example.com', version: 'v1', kind: 'Echo' });
const echoDefinition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'echos.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'echos', singular: 'echo', kind: 'Echo', listKind: 'EchoList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: { spec: { type: 'object', properties: { text: { type: 'string' } } } },
          },
        },
      },
    ],
  },
};

// These tests start whole servers; the first start takes seconds on a busy machine.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

describe('a test cluster', () => {
  it('takes privileged containers, as envtest does, unless it is told otherwise', async () => {
    const containers = [{ name: 'a', image: 'a', securityContext: { privileged: true } }];
    const pod = { metadata: target('a'), spec: { containers } };
    const disabled = ['ServiceAccount'];
    const controlPlane = { admission: { enabled: [], disabled }, controlLoops: [] };
    const cluster = await start({ http: 'off', controlPlane });
    await expect(cluster.client.create(Pod, pod)).resolves.toMatchObject({ spec: { containers } });
    const strict = await start({ http: 'off', controlPlane: { ...controlPlane, allowsPrivileged: false } });
    await expect(strict.client.create(Pod, pod)).rejects.toThrow('disallowed by cluster policy');
  });

  it('serves the same objects in process and over HTTPS', async () => {
    const startMs = systemClock.monotonicNow();
    const cluster = await start();
    process.stdout.write(`testCluster() took ${Math.round(systemClock.monotonicNow() - startMs)} ms\n`);
    const client = await cluster.connect();
    await cluster.client.create(ConfigMap, map('a'));
    await client.create(ConfigMap, map('b'));
    expect((await cluster.client.get(ConfigMap, target('b'))).data).toEqual({ k: '1' });
    const names = (await client.list(ConfigMap, { namespace: 'default' })).map((object) => object.metadata?.name);
    expect(names).toEqual(['a', 'b']);
  });

  it('lists in process as over HTTPS: awaited as a whole, iterated page by page', async () => {
    const cluster = await start();
    for (const name of ['a', 'b', 'c']) await cluster.client.create(ConfigMap, map(name));
    for (const client of [cluster.client, await cluster.connect()]) {
      const list = client.list(ConfigMap, { namespace: 'default', fieldSelector: 'metadata.name!=b', limit: 1 });
      expect((await list).map(({ metadata }) => metadata?.name)).toEqual(['a', 'c']);
      const pages: number[] = [];
      for await (const { items } of list.pages()) pages.push(items.length);
      expect(pages).toEqual([1, 1]);
      const names: (string | undefined)[] = [];
      for await (const { metadata } of list) names.push(metadata?.name);
      expect(names).toEqual(['a', 'c']);
    }
  });

  it('leaves no handle, timer or file behind (I9)', async () => {
    await (await start()).close();
    const leaks = new LeakCheck();
    const cluster = await start();
    const client = await cluster.connect();
    const informer = new SharedInformer(client.listerWatcher(ConfigMap), { clock: cluster.clock });
    informer.start();
    await informer.whenSynced();
    await cluster.fault({ kind: 'blackhole' });
    await informer.close();
    await cluster.close();
    await cluster.close();
    await leaks.assertNone();
  });

  it('deletes nothing where a call names nothing, in process or over HTTPS', async () => {
    const cluster = await start();
    const kept = (await cluster.client.create(ConfigMap, map('a'))).metadata?.uid;
    for (const client of [cluster.client, await cluster.connect()])
      for (const wrong of [
        { namespace: 'default', name: undefined },
        { namespace: 'default', name: '' },
        'a',
        undefined,
      ])
        for (const call of [client.delete(ConfigMap, wrong as never), client.get(ConfigMap, wrong as never)])
          await expect(call).rejects.toThrow(TypeError);
    expect((await cluster.client.get(ConfigMap, target('a'))).metadata?.uid).toBe(kept);
  });

  it('runs without HTTP', async () => {
    await using cluster = await start({ http: 'off' });
    await cluster.client.create(ConfigMap, map('a'));
    expect(() => cluster.url).toThrow("this cluster was created with http: 'off'");
    await expect(cluster.connect()).rejects.toThrow(TypeError);
  });

  it('freezes what its caches share', async () => {
    const cluster = await start({ http: 'off' });
    await cluster.client.create(ConfigMap, map('a'));
    await cluster.settle();
    const { items } = await cluster.client.listPage(ConfigMap, { namespace: 'default', resourceVersion: '0' });
    expect(Object.isFrozen(items[0]?.data)).toBe(true);
  });

  it('stops and starts at the same address with the same data', async () => {
    const cluster = await start();
    const client = await cluster.connect({ maxRetries: 0 });
    const created = await client.create(ConfigMap, map('a'));
    const { url } = cluster;
    await cluster.stop();
    await expect(client.get(ConfigMap, target('a'))).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    await expect(cluster.client.get(ConfigMap, target('a'))).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    await cluster.start();
    expect(cluster.url).toBe(url);
    expect((await client.get(ConfigMap, target('a'))).metadata).toEqual(created.metadata);
    expect((await cluster.client.get(ConfigMap, target('a'))).metadata).toEqual(created.metadata);
  });

  it('serves custom resources from the start, and rejects what the server refuses', async () => {
    const cluster = await start({ http: 'off', crds: [echoDefinition] });
    await cluster.client.create(Echo, { metadata: target('a'), spec: { text: 'hi' } });
    expect((await cluster.client.get(Echo, target('a'))).spec).toEqual({ text: 'hi' });
    const twice = [echoDefinition, echoDefinition];
    await expect(testCluster({ http: 'off', crds: twice })).rejects.toMatchObject({ code: 409 });
  });

  it('acts for others, with their rights', async () => {
    const cluster = await start();
    const client = await cluster.connect({ impersonate: { user: 'alice' } });
    await expect(client.get(ConfigMap, target('a'))).rejects.toMatchObject({ code: 403 });
  });
});

describe('settle', () => {
  it.each(['in process', 'over HTTP'])(
    'waits until a write and all that follows from it is through, %s',
    async (way) => {
      const cluster = await start();
      const client = way === 'over HTTP' ? await cluster.connect() : cluster.client;
      const informer = new SharedInformer(client.listerWatcher(ConfigMap), { clock: cluster.clock });
      // A chain: each change that the informer sees causes the next write.
      informer.addEventHandler({
        onAdd: ({ metadata }) => {
          const count = Number(/^chain-(\d+)$/.exec(metadata?.name ?? '')?.[1] ?? 10);
          if (count < 10) void client.create(ConfigMap, map(`chain-${count + 1}`));
        },
      });
      informer.start();
      await cluster.settle();
      expect(informer.hasSynced).toBe(true);
      void client.create(ConfigMap, map('chain-0'));
      await cluster.settle();
      expect(informer.indexer.list()).toHaveLength(11);
      await informer.close();
    },
  );

  it('does not wait for what waits for time', async () => {
    const cluster = await start();
    await cluster.fault({ kind: 'slow', delayMs: 1000 });
    let isDone = false;
    const call = cluster.client.create(ConfigMap, map('a')).then(() => {
      isDone = true;
    });
    await cluster.settle();
    expect(isDone).toBe(false);
    await cluster.advance(1000);
    expect(isDone).toBe(true);
    await call;
  });

  it('returns at once when nothing happens', async () => {
    const cluster = await start({ http: 'off' });
    await cluster.settle();
    let turns = 0;
    const count = (): void => {
      turns++;
      setImmediate(count);
    };
    setImmediate(count);
    await cluster.settle();
    expect(turns).toBeLessThan(40);
  });
});

describe('advance', () => {
  it('moves the time of server and clients, and settles between two timers', async () => {
    const cluster = await start();
    const client = await cluster.connect();
    await cluster.fault({ kind: '429', times: 2, retryAfterSeconds: 1 });
    const call = client.create(ConfigMap, map('a'));
    await cluster.advance(3000);
    const created = await call;
    expect(created.metadata?.creationTimestamp).toBe(
      new Date(cluster.clock.now() - 1000).toISOString().replace(/\.\d+Z$/, 'Z'),
    );
  });

  it('refuses a real clock and invalid times', async () => {
    const cluster = await start({ http: 'off', clock: 'real' });
    await expect(cluster.advance(1)).rejects.toThrow(TypeError);
    await expect((await start({ http: 'off' })).advance(-1)).rejects.toThrow(TypeError);
  });
});

describe.each(['over HTTP', 'in process'] as const)('a fault %s', (way) => {
  const prepare = async () => {
    const cluster = await start({ http: way === 'over HTTP' ? 'on' : 'off' });
    const client = way === 'over HTTP' ? await cluster.connect({ maxRetries: 0 }) : cluster.client;
    const events: string[] = [];
    const ends: unknown[] = [];
    const { resourceVersion } = await client.listPage(ConfigMap, {});
    const subscription = client
      .listerWatcher(ConfigMap)
      .watch({ resourceVersion })
      .subscribe({
        next: (event) =>
          void (event.type !== 'BOOKMARK' && events.push(`${event.type} ${event.object.metadata?.name}`)),
        error: (error) => ends.push(error),
        complete: () => ends.push('complete'),
      });
    await cluster.settle();
    return { cluster, client, events, ends, subscription, resourceVersion };
  };

  it('reset ends open watches with ECONNRESET and leaves new calls alone', async () => {
    const { cluster, client, ends } = await prepare();
    await cluster.fault({ kind: 'reset', match: 'watch' });
    await cluster.settle();
    expect(ends).toEqual([expect.objectContaining({ code: 'ECONNRESET' })]);
    await client.create(ConfigMap, map('a'));
  });

  it('blackhole silences open watches without ending them; what was held comes when it is healed', async () => {
    const { cluster, client, events, ends } = await prepare();
    const fault = await cluster.fault({ kind: 'blackhole', match: 'watch' });
    await client.create(ConfigMap, map('a'));
    await cluster.advance(1000);
    expect([events, ends]).toEqual([[], []]);
    await fault.heal();
    await client.delete(ConfigMap, target('a'));
    await cluster.settle();
    expect(events).toEqual(['ADDED a', 'DELETED a']);
  });

  it('blackhole of all connections strikes later ones too', async () => {
    const { cluster, client } = await prepare();
    const fault = await cluster.fault({ kind: 'blackhole', match: 'watch', connections: 'all' });
    const events: string[] = [];
    const watch = client.listerWatcher(ConfigMap).watch({});
    const subscription = watch.subscribe((event) => events.push(event.type));
    await client.create(ConfigMap, map('a'));
    await cluster.settle();
    expect(events).toEqual([]);
    await fault.heal();
    await cluster.settle();
    expect(events).toEqual(['ADDED']);
    subscription.unsubscribe();
  });

  it('slow delays events in their order', async () => {
    const { cluster, client, events } = await prepare();
    const fault = await cluster.fault({ kind: 'slow', delayMs: 500, match: 'watch' });
    for (const name of ['a', 'b']) await client.create(ConfigMap, map(name));
    await cluster.settle();
    await cluster.advance(400);
    expect(events).toEqual([]);
    await cluster.advance(1000);
    expect(events).toEqual(['ADDED a', 'ADDED b']);
    await fault.heal();
    await client.create(ConfigMap, map('c'));
    await cluster.settle();
    expect(events).toEqual(['ADDED a', 'ADDED b', 'ADDED c']);
  });

  it('refuse lets nobody in until healed', async () => {
    const { cluster, client } = await prepare();
    const fault = await cluster.fault({ kind: 'refuse' });
    await cluster.fault({ kind: 'reset', match: 'call' });
    await expect(client.get(ConfigMap, target('a'))).rejects.toMatchObject({
      code: expect.stringMatching(/^ECONN(REFUSED|RESET)$/),
    });
    await expect(client.get(ConfigMap, target('a'))).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    await fault.heal();
    await client.create(ConfigMap, map('a'));
  });

  it('429 answers as often as asked', async () => {
    const { cluster, client } = await prepare();
    await cluster.fault({ kind: '429', times: 2, match: 'call' });
    for (let i = 0; i < 2; i++) {
      expect(isTooManyRequests(await client.get(ConfigMap, target('a')).catch((error: unknown) => error))).toBe(true);
    }
    await client.create(ConfigMap, map('a'));
    await expect(cluster.fault({ kind: '429', times: 0 })).rejects.toThrow(TypeError);
  });

  it('500 and 503 answer until healed', async () => {
    const { cluster, client } = await prepare();
    for (const kind of ['500', '503'] as const) {
      const fault = await cluster.fault({ kind });
      await expect(client.get(ConfigMap, target('a'))).rejects.toMatchObject({ code: Number(kind) });
      await fault.heal();
    }
    await client.create(ConfigMap, map('a'));
  });

  it('lag keeps changes from watches and from reads of the cache until healed', async () => {
    const { cluster, client, events } = await prepare();
    const fault = await cluster.fault({ kind: 'lag' });
    await client.create(ConfigMap, map('a'));
    await cluster.settle();
    expect(events).toEqual([]);
    expect((await client.listPage(ConfigMap, { namespace: 'default', resourceVersion: '0' })).items).toEqual([]);
    await fault.heal();
    await cluster.settle();
    expect(events).toEqual(['ADDED a']);
  });

  it('410 ends watches, and who resumes from before is told that the version is too old', async () => {
    const { cluster, client, ends, resourceVersion } = await prepare();
    await cluster.fault({ kind: '410' });
    await cluster.advance(1000);
    expect(ends).toEqual(['complete']);
    const errors: unknown[] = [];
    const watch = client.listerWatcher(ConfigMap).watch({ resourceVersion });
    watch.subscribe({ error: (error) => errors.push(error) });
    await cluster.settle();
    expect(errors.map(isExpired)).toEqual([true]);
  });
});

describe('the byte proxy of a cluster', () => {
  it('tells a connection that is cut from one that is refused', async () => {
    const cluster = await start();
    const socket = connectTcp(cluster.proxy.port, '127.0.0.1');
    const code = new Promise((resolve) => socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code)));
    await cluster.settle();
    expect(cluster.proxy.connections).toHaveLength(1);
    cluster.proxy.cut();
    expect(await code).toBe('ECONNRESET');
  });

  it('holds a call until it resumes', async () => {
    const cluster = await start();
    const client = await cluster.connect();
    cluster.proxy.blackhole();
    let isDone = false;
    const call = client.create(ConfigMap, map('a')).then(() => {
      isDone = true;
    });
    await cluster.settle();
    expect(isDone).toBe(false);
    cluster.proxy.resume();
    await call;
  });

  it('leaves a client whose calls time out to its own clock', async () => {
    const cluster = await start();
    const client = await cluster.connect({ timeoutMs: 5000 });
    cluster.proxy.blackhole();
    const call = client.create(ConfigMap, map('a')).catch((error: unknown) => error);
    await cluster.advance(5000);
    expect(isTransportError(await call)).toBe(true);
  });
});
