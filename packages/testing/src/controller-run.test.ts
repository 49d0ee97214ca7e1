import { defineResource, type ResourceClient } from '@kapstan/api';
import type { Client } from '@kapstan/client';
import { type Controller, controller } from '@kapstan/controller';
import { Deployment } from '@kapstan/kinds/apps/v1';
import { Lease } from '@kapstan/kinds/coordination.k8s.io/v1';
import { ConfigMap, Event, Secret } from '@kapstan/kinds/core/v1';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type TestCluster, testCluster } from './test-cluster.ts';
import type { TestClusterOptions } from './test-cluster-options.ts';

const clusters: TestCluster[] = [];

async function start(options: TestClusterOptions = { as: 'controller' }): Promise<TestCluster> {
  const cluster = await testCluster(options);
  clusters.push(cluster);
  return cluster;
}

afterEach(async () => {
  for (const cluster of clusters.splice(0)) await cluster.close();
});

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const Echo = defineResource({
  group: 'demo.dev',
  version: 'v1',
  kind: 'Echo',
  spec: { type: 'object', properties: { text: { type: 'string' } } },
  status: { type: 'object', properties: { said: { type: 'string' } } },
});
const object = { metadata: { name: 'a', namespace: 'default' }, spec: { text: 'hi' } };

/** Uses every right that it declares, and the rights that the function needs. */
function echo(more: (client: ResourceClient) => Promise<unknown> = async () => undefined): Controller {
  return controller(Echo)
    .owns(ConfigMap)
    .finalize('demo.dev/bye', async () => undefined)
    .reconcile(async (one, ctx) => {
      const { text = '' } = one.spec;
      await ctx.apply(ConfigMap, { metadata: { name: one.metadata.name }, data: { text } });
      await ctx.status({ said: text });
      ctx.event('Normal', 'Said', 'said it');
      await more(ctx.client);
    });
}

describe('controllers that run with just the rights that they declare', () => {
  it('install their definition, reconcile, finalize, report, record and lead', async () => {
    const cluster = await start();
    const run = await cluster.run(echo(), { installCrds: true, leaderElection: { name: 'echo' } });
    await run.whenReady();
    await cluster.client.create(Echo, object);
    await cluster.advance(1000);
    expect((await cluster.client.get(Echo, object.metadata)).status).toEqual({ said: 'hi' });
    expect((await cluster.client.get(ConfigMap, object.metadata)).data).toEqual({ text: 'hi' });
    expect((await cluster.client.list(Event, { namespace: 'default' })).map(({ reason }) => reason)).toContain('Said');
    expect(
      (await cluster.client.list(Lease, { namespace: 'default' })).map(({ metadata }) => metadata?.name),
    ).toContain('echo');
    await cluster.client.delete(Echo, object.metadata);
    await cluster.advance(1000);
    expect(await cluster.client.list(Echo)).toEqual([]);
    expect(await run.missingRights()).toEqual([]);
    // Nothing recurred, so no event was patched; a short run does not renew a lease twice.
    expect(run.unusedRights.filter((line) => !line.startsWith('events'))).toEqual([]);
    await run.stop();
  });

  it('fail the test when a right is missing, with the line to add', async () => {
    const cluster = await start();
    const greedy = echo((client) => client.get(Secret, { name: 'b', namespace: 'default' }));
    const run = await cluster.run(greedy, { installCrds: true });
    await run.whenReady();
    await cluster.client.create(Secret, { metadata: { name: 'b', namespace: 'default' } });
    await cluster.client.create(Echo, object);
    await cluster.settle();
    expect(await run.missingRights()).toEqual([
      ".needs(Secret, ['get'], { names: ['b'], namespace: 'default' }) // refused in the namespace default; leave out names that vary",
    ]);
    await expect(run.stop()).rejects.toThrow(
      "the controllers did what they have not declared; add to the builder:\n  .needs(Secret, ['get'], { names: ['b'], namespace: 'default' }) // refused in the namespace default; leave out names that vary",
    );
    await cluster.close();
  });

  it('are stopped, with the plural in the line, when the server does not tell its kinds', async () => {
    const cluster = await start({ as: 'controller', crds: [Echo.definition] });
    const run = await cluster.run(echo((client) => client.list(Deployment, { namespace: 'default' })));
    await run.whenReady();
    await cluster.client.create(Echo, object);
    await cluster.settle();
    vi.spyOn(run.client as Client, 'raw').mockRejectedValue(new Error('503'));
    await expect(run.stop()).rejects.toThrow(".needs(deployments, ['list']) // refused in the namespace default");
  });

  it('fail the end of the cluster, when nobody stops them', async () => {
    const cluster = await testCluster({ as: 'controller', crds: [Echo.definition] });
    const run = await cluster.run(echo(async (client) => client.list(Secret)));
    await run.whenReady();
    await cluster.client.create(Echo, object);
    await cluster.settle();
    await expect(cluster.close()).rejects.toThrow(".needs(Secret, ['list']) // refused at the cluster scope");
  });

  it('print the line at the end of `await using`, where a failed assertion would hide it', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    const test = async (): Promise<void> => {
      await using cluster = await testCluster({ as: 'controller', crds: [Echo.definition] });
      const run = await cluster.run(echo(async (client) => client.list(Secret)));
      await run.whenReady();
      await cluster.client.create(Echo, object);
      await cluster.settle();
      throw new Error('the assertion');
    };
    await expect(test()).rejects.toMatchObject({ suppressed: new Error('the assertion') });
    const line = expect.stringContaining(".needs(Secret, ['list']) // refused at the cluster scope");
    expect(warn).toHaveBeenCalledExactlyOnceWith(line, { type: 'KapstanTestWarning' });
    warn.mockRestore();
  });

  it('succeed with the line that was missing', async () => {
    const cluster = await start({ as: 'controller', crds: [Echo.definition] });
    const reading = controller(Echo)
      .needs(Secret, ['get', 'delete'], { names: ['b'] })
      .reconcile(async (_one, ctx) => {
        await ctx.client.get(Secret, { name: 'b', namespace: 'default' });
      });
    const run = await cluster.run(reading);
    await run.whenReady();
    await cluster.client.create(Secret, { metadata: { name: 'b', namespace: 'default' } });
    await cluster.client.create(Echo, object);
    await cluster.settle();
    expect(await run.missingRights()).toEqual([]);
    expect(run.unusedRights).toEqual([
      'echos.demo.dev/status: patch (echo reports the status of Echo)',
      'secrets: delete (echo needs it)',
      'events: create, patch (echo records events)',
    ]);
  });

  it('may do nothing outside of their namespaces', async () => {
    const cluster = await start({ as: 'controller', crds: [Echo.definition] });
    const run = await cluster.run(echo(), { namespaces: ['default'] });
    await run.whenReady();
    await cluster.client.create(Echo, object);
    await cluster.settle();
    expect((await cluster.client.get(ConfigMap, object.metadata)).data).toEqual({ text: 'hi' });
    await expect(run.client.list(ConfigMap, { namespace: 'kube-system' })).rejects.toThrow(
      'cannot list resource "configmaps"',
    );
    await expect(run.stop()).rejects.toThrow(".needs(ConfigMap, ['list']) // refused in the namespace kube-system");
  });
});

describe('controllers that run as an admin', () => {
  it('may do anything, over the in-process client', async () => {
    const cluster = await start({ http: 'off', crds: [Echo.definition] });
    const run = await cluster.run(echo(async (client) => client.list(Secret)));
    await run.whenReady();
    await cluster.client.create(Echo, object);
    await cluster.settle();
    expect((await cluster.client.get(ConfigMap, object.metadata)).data).toEqual({ text: 'hi' });
    expect([await run.missingRights(), run.unusedRights]).toEqual([[], []]);
  });
});

it('wrong options are refused', async () => {
  await expect(testCluster({ as: 'controller', http: 'off' })).rejects.toThrow("as: 'controller' needs HTTP");
  await expect(testCluster({ as: 'nobody' as never })).rejects.toThrow(
    "as must be 'admin' or 'controller', not 'nobody'",
  );
});
