// Several servers on one etcd: one runs the control loops, and each accepts the tokens of all.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, clientConfigOf, parseKubeconfig } from '@kapstan/client';
import { Lease } from '@kapstan/kinds/coordination.k8s.io/v1';
import { ConfigMap, Namespace, ResourceQuota, ServiceAccount } from '@kapstan/kinds/core/v1';
import { generateSigningKey } from '@kapstan/kubernetes';
import { findEtcd, howToInstall, startEtcd } from '@kapstan/storage-etcd/testing';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { startControlPlane } from './control-plane.ts';
import type { ControlPlane, ControlPlaneOptions } from './options/control-plane-options.ts';

const binary = findEtcd();
if (binary === undefined) console.warn(`SKIPPED: no several servers on one etcd: no etcd found; ${howToInstall}`);

async function servers(options: readonly Partial<ControlPlaneOptions>[]): Promise<ControlPlane[]> {
  const [etcd] = await startEtcd({ binary: binary ?? '' });
  const planes: ControlPlane[] = [];
  const folders: string[] = [];
  onTestFinished(async () => {
    for (const plane of planes) await plane.close();
    await etcd.remove();
    for (const folder of folders) await rm(folder, { recursive: true });
  });
  for (const one of options) {
    const dataDir = await mkdtemp(join(tmpdir(), 'kapstan-several-'));
    folders.push(dataDir);
    planes.push(await startControlPlane({ dataDir, etcd: { endpoints: [etcd.endpoint] }, ...one }));
  }
  return planes;
}

function clientOf(plane: ControlPlane, token?: string): Client {
  const config =
    token === undefined
      ? clientConfigOf(parseKubeconfig(plane.kubeconfig))
      : { server: plane.url, token, tls: { ca: plane.caCert } };
  const client = new Client(config);
  onTestFinished(() => client.close());
  return client;
}

const lease = { namespace: 'kube-system', name: 'kapstan-control-loops' };
const masters = async (planes: readonly ControlPlane[]): Promise<readonly string[]> =>
  Promise.all(
    planes.map(async (plane) => {
      const { body } = await clientOf(plane).raw({ path: '/metrics' });
      return /^leader_election_master_status\{.*\} (\d)$/m.exec(body)?.[1] ?? 'none';
    }),
  );
const hasAccount = async ({ client }: ControlPlane, namespace: string): Promise<boolean> =>
  (await client.listPage(ServiceAccount, { namespace })).items.some(({ metadata }) => metadata?.name === 'default');

describe.skipIf(binary === undefined)('several servers on one etcd', () => {
  it('run the control loops in one of them, and in another when that one stops', { timeout: 60_000 }, async () => {
    const leaderElection = { leaseDurationMs: 3_000, renewDeadlineMs: 2_000, retryPeriodMs: 200 };
    const planes = await servers([
      { controlLoops: ['*'], leaderElection },
      { controlLoops: ['*'], leaderElection },
    ]);
    const [one, two] = planes as [ControlPlane, ControlPlane];
    expect(await masters(planes)).toEqual(['1', '0']);
    for (const plane of planes) expect((await clientOf(plane).raw({ path: '/readyz' })).status).toBe(200);
    const { spec } = await two.client.get(Lease, lease);
    expect(spec?.leaseDurationSeconds).toBe(3);
    await one.close();
    await vi.waitFor(async () => expect(await masters([two])).toEqual(['1']), 10_000);
    expect((await two.client.get(Lease, lease)).spec?.holderIdentity).not.toBe(spec?.holderIdentity);
    await two.client.create(Namespace, { metadata: { name: 'later' } });
    await vi.waitFor(async () => expect(await hasAccount(two, 'later')).toBe(true), 10_000);
  });

  it('let exactly as much through a quota as it has room for, whoever is asked', { timeout: 60_000 }, async () => {
    const planes = await servers([{ controlLoops: ['resourcequota'] }, { controlLoops: ['resourcequota'] }]);
    const [one, two] = planes as [ControlPlane, ControlPlane];
    const name = 'q';
    const spec = { hard: { 'count/configmaps': '100' } };
    await one.client.create(ResourceQuota, { metadata: { namespace: 'default', name }, spec });
    const used = async (): Promise<unknown> =>
      (await two.client.get(ResourceQuota, { namespace: 'default', name })).status?.used;
    await vi.waitFor(async () => expect(await used()).toEqual({ 'count/configmaps': '0' }), 10_000);
    const create = (plane: ControlPlane, at: number): Promise<unknown> =>
      plane.client.create(ConfigMap, { metadata: { namespace: 'default', name: `m${at}` } });
    // Each server knows the quota once it charges requests to it.
    await vi.waitFor(async () => {
      for (const plane of planes) await create(plane, planes.indexOf(plane)).catch(() => undefined);
      expect(await used()).toEqual({ 'count/configmaps': '2' });
    }, 10_000);
    const results = await Promise.allSettled(
      Array.from({ length: 200 }, (_, at) => create(at % 2 === 0 ? one : two, at + 2)),
    );
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(98);
    expect((await two.client.listPage(ConfigMap, { namespace: 'default' })).items).toHaveLength(100);
    expect(await used()).toEqual({ 'count/configmaps': '100' });
  });

  it('elect nobody where they are told not to, or have no loops', { timeout: 60_000 }, async () => {
    const planes = await servers([{ controlLoops: ['serviceaccount'], leaderElection: 'off' }, {}]);
    expect(await masters(planes)).toEqual(['none', 'none']);
    await expect(planes[0]?.client.get(Lease, lease)).rejects.toThrow('not found');
  });

  it('let accounts in with tokens of each other where they have one key, and else not', {
    timeout: 60_000,
  }, async () => {
    const [shared, own] = [generateSigningKey(), generateSigningKey()];
    const planes = await servers([
      { serviceAccounts: { signingKey: shared } },
      { serviceAccounts: { signingKey: own, verificationKeys: [shared] } },
      {},
    ]);
    const [one, two, three] = planes as [ControlPlane, ControlPlane, ControlPlane];
    const metadata = { namespace: 'default', name: 'bot' };
    await one.client.create(ServiceAccount, { apiVersion: 'v1', kind: 'ServiceAccount', metadata });
    const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', metadata: {}, spec: {} };
    const answer = await clientOf(one).createSubresource(
      ServiceAccount,
      { ...metadata, subresource: 'token' },
      { body },
    );
    const { token } = (answer as unknown as { status: { token: string } }).status;
    expect((await clientOf(two, token).raw({ path: '/version' })).status).toBe(200);
    await expect(clientOf(three, token).raw({ path: '/version' })).rejects.toThrow('Unauthorized');
  });
});
