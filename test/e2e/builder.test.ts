// The builder and its manager against a whole server in this process.
import { defineResource } from '@kapstan/api';
import { type Controller, controller, Manager, type ManagerOptions } from '@kapstan/controller';
import { ConfigMap } from '@kapstan/kinds/core/v1';
import { type TestCluster, testCluster } from '@kapstan/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const Echo = defineResource({
  group: 'demo.dev',
  version: 'v1',
  kind: 'Echo',
  spec: {
    type: 'object',
    properties: { text: { type: 'string' }, copies: { type: 'integer', minimum: 0, default: 1 } },
    required: ['text'],
  },
  status: { type: 'object', properties: { ready: { type: 'integer' } } },
});

const echo = controller(Echo)
  .owns(ConfigMap)
  .reconcile(async (obj, { apply, status, children, event, cache, client }) => {
    const copies = obj.spec.copies ?? 1;
    for (let i = 0; i < copies; i++)
      await apply(ConfigMap, { metadata: { name: `${obj.metadata?.name}-${i}` }, data: { text: obj.spec.text } });
    for (const { metadata } of children(ConfigMap).slice(copies))
      await client.delete(ConfigMap, { namespace: 'default', name: metadata?.name ?? '' });
    await status({ ready: children(ConfigMap).length });
    if (cache(ConfigMap).get({ namespace: 'default', name: `${obj.metadata?.name}-0` }) !== undefined)
      event('Normal', 'Echoed', `${copies} times`);
  });

let cluster: TestCluster;
let stop: AbortController;
let running: Promise<unknown>;
beforeEach(async () => {
  cluster = await testCluster();
  stop = new AbortController();
  running = Promise.resolve();
});
afterEach(async () => {
  stop.abort();
  await cluster.settle();
  await running;
  await cluster.close();
});

async function start(controllers: readonly Controller[], options: Partial<ManagerOptions> = {}): Promise<Manager> {
  const manager = new Manager(controllers, {
    client: cluster.client,
    clock: cluster.clock,
    installCrds: true,
    ...options,
  });
  running = manager.run(stop.signal);
  running.catch(() => undefined);
  await cluster.settle();
  await manager.whenReady();
  return manager;
}

const names = async () =>
  (await cluster.client.listPage(ConfigMap, { namespace: 'default' })).items
    .map(({ metadata }) => metadata?.name ?? '')
    .filter((name) => name !== 'kube-root-ca.crt')
    .sort();
const at = { namespace: 'default', name: 'a' };

describe('a controller made with the builder', () => {
  it('makes children, owned and as wanted, and says so in the status, over both ways', async () => {
    await start([echo]);
    await cluster.client.create(Echo, { metadata: at, spec: { text: 'hi', copies: 2 } });
    await cluster.settle();
    expect(await names()).toEqual(['a-0', 'a-1']);
    const child = await cluster.client.get(ConfigMap, { namespace: 'default', name: 'a-0' });
    const owner = await cluster.client.get(Echo, at);
    expect(child.data).toEqual({ text: 'hi' });
    expect(child.metadata?.ownerReferences).toEqual([
      {
        apiVersion: 'demo.dev/v1',
        kind: 'Echo',
        name: 'a',
        uid: owner.metadata?.uid,
        controller: true,
        blockOwnerDeletion: true,
      },
    ]);
    expect(child.metadata?.managedFields).toMatchObject([{ manager: 'echo', operation: 'Apply' }]);
    expect(owner.status).toEqual({ ready: 2 });
  });
});
