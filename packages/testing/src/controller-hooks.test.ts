// Webhooks of controllers that run with just their rights.
import { defineResource, isForbidden, isInvalid } from '@kapstan/api';
import { controller } from '@kapstan/controller';
import { ConfigMap, Secret } from '@kapstan/kinds/core/v1';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type TestCluster, testCluster } from './test-cluster.ts';

const clusters: TestCluster[] = [];
const start = async (): Promise<TestCluster> => {
  const cluster = await testCluster({ as: 'controller' });
  clusters.push(cluster);
  return cluster;
};
afterEach(async () => {
  for (const cluster of clusters.splice(0)) await cluster.close();
});
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const Echo = defineResource({
  group: 'demo.dev',
  version: 'v1',
  kind: 'Echo',
  spec: { type: 'object', properties: { text: { type: 'string' }, copies: { type: 'integer' } } },
});
const echo = controller(Echo)
  .owns(ConfigMap)
  .defaults(({ spec }) => {
    spec.copies ??= 1;
  })
  .validates(({ spec }) => (spec.text === 'bad' ? [{ path: 'spec.text', detail: 'is bad' }] : []))
  .reconcile(async ({ metadata, spec }, { apply }) => {
    await apply(ConfigMap, { metadata: { name: metadata.name }, data: { copies: String(spec.copies) } });
  });
const place = (name: string) => ({ name, namespace: 'default' });

describe('webhooks of controllers with just their rights', () => {
  it('are called as functions', async () => {
    const cluster = await start();
    const run = await cluster.run(echo, { installCrds: true });
    await run.whenReady();
    const made = await cluster.client.create(Echo, { metadata: place('a'), spec: { text: 'hi' } });
    expect(made.spec).toEqual({ text: 'hi', copies: 1 });
    await cluster.settle();
    expect((await cluster.client.get(ConfigMap, place('a'))).data).toEqual({ copies: '1' });
    const bad = cluster.client.create(Echo, { metadata: place('b'), spec: { text: 'bad' } });
    await expect(bad).rejects.toSatisfy(isInvalid);
    expect(await run.missingRights()).toEqual([]);
    await run.stop();
    // The webhooks end with the run, so this object is accepted.
    await cluster.client.create(Echo, { metadata: place('b'), spec: { text: 'bad' } });
  });

  it('may do no more than the controllers, and a missing right is told', async () => {
    const cluster = await start();
    let refusal: unknown;
    const curious = controller(Echo)
      .validates(async (_object, { client }) => {
        refusal = await client.get(Secret, place('key')).catch((error: unknown) => error);
      })
      .reconcile(async () => undefined);
    const run = await cluster.run(curious, { installCrds: true });
    await run.whenReady();
    await cluster.client.create(Echo, { metadata: place('a'), spec: {} });
    expect(isForbidden(refusal)).toBe(true);
    await expect(run.stop()).rejects.toThrow(".needs(Secret, ['get'], { names: ['key'], namespace: 'default' })");
  });

  it('are served over HTTPS with the rights to write certificates and configurations, and to take them away', async () => {
    const cluster = await start();
    const secret = { name: 'certificates', namespace: 'default' };
    const url = { url: 'https://127.0.0.1', host: '127.0.0.1', port: 0, leaveMs: 0, certificates: { secret } };
    const run = await cluster.run(echo, { installCrds: true, webhooks: url, metrics: { port: 0 } });
    await run.whenReady();
    const isServed = async (): Promise<void> => {
      await cluster.advance(1000);
      const made = await cluster.client.create(Echo, { metadata: place('a'), spec: {} }, { dryRun: true });
      expect(made.spec).toEqual({ copies: 1 });
    };
    await vi.waitFor(isServed, 20_000);
    expect(await run.missingRights()).toEqual([]);
    await run.stop();
    // The next version of the program has no webhooks, and takes the configurations away.
    const next = controller(Echo).reconcile(async () => undefined);
    const later = await cluster.run(next, { installCrds: true, webhooks: { ...url, name: 'echo-webhooks' } });
    await later.whenReady();
    await vi.waitFor(async () => {
      await cluster.advance(1000);
      const made = await cluster.client.create(Echo, { metadata: place('a'), spec: {} }, { dryRun: true });
      expect(made.spec).toEqual({});
    }, 20_000);
    expect(await later.missingRights()).toEqual([]);
    await later.stop();
  });
});
