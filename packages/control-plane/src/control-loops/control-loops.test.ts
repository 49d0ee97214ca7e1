import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isNotFound, type Logger, type ResourceClient, silentLogger } from '@kapstan/api';
import { FakeListerWatcher, LeakCheck, settle, VirtualClock } from '@kapstan/api/testing';
import { Namespace, Pod, ServiceAccount } from '@kapstan/kinds/core/v1';
import { quotaAdmission } from '@kapstan/kubernetes';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { startControlPlane } from '../control-plane.ts';
import { ControlLoops, type ControlLoopsOptions } from './control-loops.ts';

let dataDir: string;
/** Waits in real time, because the stores are real. */
const eventually = <T>(look: () => Promise<T>): Promise<T> => vi.waitFor(look, { timeout: 8000, interval: 5 });

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'kapstan-loops-'));
});
afterEach(() => rm(dataDir, { recursive: true }));

it('refuses to start with a control loop that there is not', async () => {
  await expect(startControlPlane({ dataDir, http: 'off', controlLoops: ['deployment'] })).rejects.toThrow(
    new TypeError('"deployment" is not in the list of known controllers'),
  );
  // The directory is free again, so everything was closed.
  const next = await startControlPlane({ dataDir, http: 'off' });
  await next.close();
});

it('leaves nothing behind when it is closed, also in the middle of work (I9)', async () => {
  const clock = new VirtualClock();
  const leaks = new LeakCheck({ clock });
  const controlPlane = await startControlPlane({ dataDir, http: 'off', controlLoops: ['*'], clock });
  const { client } = controlPlane;
  const create = (name: string): Promise<Namespace> =>
    client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  await Promise.all(['a', 'b', 'c', 'd'].map(create));
  await client.delete(Namespace, { name: 'a' });
  await controlPlane.close();
  await leaks.assertNone();
});

it('tells in each line which loop it is from', async () => {
  const lines: unknown[] = [];
  const logger: Logger = { ...silentLogger, error: (message, fields) => lines.push([message, fields]) };
  const admission = { enabled: [], disabled: ['ServiceAccount'] };
  const clock = new VirtualClock();
  const options = { dataDir, http: 'off', controlLoops: ['namespace'], clock, logger, admission } as const;
  const controlPlane = await startControlPlane(options);
  const { client } = controlPlane;
  await client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'a' } });
  // The pod is on a node without a kubelet, so it never ends.
  const spec = { containers: [{ name: 'c', image: 'i' }], nodeName: 'n', terminationGracePeriodSeconds: 1 };
  await client.create(Pod, { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', namespace: 'a' }, spec });
  await client.delete(Namespace, { name: 'a' });
  await eventually(async () => {
    await clock.advance(2000);
    expect(lines[0]).toEqual([
      'Error syncing; requeuing for later retry',
      expect.objectContaining({ loop: 'namespace-controller', key: 'a' }),
    ]);
  });
  await controlPlane.close();
});

it('writes to the log that a kind cannot be listed or watched', async () => {
  const source = new FakeListerWatcher<Namespace>();
  for (const verb of ['watch', 'list'] as const) source.failNext(verb, new Error('the cache is being filled'));
  const client = { listerWatcher: () => source } as unknown as ResourceClient;
  const warnings: string[] = [];
  const logger: Logger = { ...silentLogger, warn: (message) => void warnings.push(message) };
  const secretTokens = { issueForSecret: async () => '' };
  const catalog = {} as ControlLoopsOptions['catalog'];
  const clock = new VirtualClock();
  const ports = { client, catalog, secretTokens, quotas: quotaAdmission({ catalog, clock }), clock, logger };
  const loops = new ControlLoops({ ...ports, names: ['serviceaccount-controller'], caCert: '', namespaceGraceMs: 0 });
  loops.start();
  await settle();
  expect(warnings).toEqual(['namespaces: failed to list or watch, trying again: the cache is being filled']);
  await loops.close();
});

it('keeps the other loops when one is left out', async () => {
  const controlLoops = ['*', '-serviceaccount'];
  const controlPlane = await startControlPlane({ dataDir, http: 'off', controlLoops, clock: new VirtualClock() });
  const target = { name: 'default', namespace: 'default' };
  await expect(controlPlane.client.get(ServiceAccount, target)).rejects.toSatisfy(isNotFound);
  await controlPlane.close();
});
