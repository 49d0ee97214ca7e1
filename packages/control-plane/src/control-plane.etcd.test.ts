import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isConflict, isNotFound } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import { storageCodec } from '@kapstan/apiserver';
import { Client, clientConfigOf, parseKubeconfig } from '@kapstan/client';
import { ConfigMap, Namespace, Service, type ServiceSpec } from '@kapstan/kinds/core/v1';
import { IPAddress } from '@kapstan/kinds/networking.k8s.io/v1';
import { kubernetesTypes } from '@kapstan/kubernetes';
import { openEtcdEngine } from '@kapstan/storage-etcd';
import { findEtcd, howToInstall, startEtcd } from '@kapstan/storage-etcd/testing';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { startControlPlane } from './control-plane.ts';
import type { ControlPlane } from './options/control-plane-options.ts';

const binary = findEtcd();
const protobuf = 'application/vnd.kubernetes.protobuf';
const rangeAllocation = { group: '', version: 'v1', kind: 'RangeAllocation' };
beforeEach(({ skip }) => skip(binary === undefined, `no etcd: ${howToInstall}`));

describe('startControlPlane on etcd', () => {
  it('shares its objects with another server on the same cluster, each seeing at once what the other wrote', {
    timeout: 60_000,
  }, async () => {
    const [etcd] = await startEtcd({ binary: binary ?? '' });
    const folders = [await mkdtemp(join(tmpdir(), 'kapstan-a-')), await mkdtemp(join(tmpdir(), 'kapstan-b-'))];
    const planes: ControlPlane[] = [];
    onTestFinished(async () => {
      for (const plane of planes) await plane.close();
      await etcd.remove();
      for (const folder of folders) await rm(folder, { recursive: true });
    });
    for (const dataDir of folders) {
      planes.push(await startControlPlane({ dataDir, etcd: { endpoints: [etcd.endpoint] }, http: 'off' }));
    }
    const [one, two] = planes as [ControlPlane, ControlPlane];
    const { items, resourceVersion } = await two.client.listPage(Namespace);
    expect(items.map((item) => item.metadata?.name)).toContain('kube-system');
    expect(Number(resourceVersion)).toBeGreaterThan(1);
    for (let round = 0; round < 5; round += 1) {
      const metadata = { name: `shared-${round}`, namespace: 'default' };
      const created = await one.client.create(ConfigMap, { metadata, data: { round: String(round) } });
      // A list without a version comes from the other server's cache, once it is as new as etcd.
      const list = await two.client.listPage(ConfigMap, { namespace: 'default' });
      expect(list.items.at(-1)?.metadata).toEqual(created.metadata);
      await two.client.update(ConfigMap, { ...created, data: { round: 'done' } });
      await expect(one.client.update(ConfigMap, created)).rejects.toSatisfy(isConflict);
    }
  });

  it('gives no address and no node port twice, whichever server is asked, and writes down which are taken as Kubernetes does', {
    timeout: 60_000,
  }, async () => {
    const [etcd] = await startEtcd({ binary: binary ?? '' });
    const folders = [await mkdtemp(join(tmpdir(), 'kapstan-a-')), await mkdtemp(join(tmpdir(), 'kapstan-b-'))];
    const engine = await openEtcdEngine({ endpoints: [etcd.endpoint] });
    const planes: ControlPlane[] = [];
    onTestFinished(async () => {
      for (const plane of planes) await plane.close();
      await engine.close();
      await etcd.remove();
      for (const folder of folders) await rm(folder, { recursive: true });
    });
    // In the end all but two of the 14 addresses are taken, so servers that did not see each other would give out an address twice.
    const range = { serviceClusterIpRange: '10.96.0.0/28' };
    for (const dataDir of folders) {
      planes.push(await startControlPlane({ dataDir, etcd: { endpoints: [etcd.endpoint] }, http: 'off', ...range }));
    }
    const made = await Promise.all(
      Array.from({ length: 12 }, (_, index) => {
        const spec: ServiceSpec = {
          type: 'NodePort',
          ports: [{ port: 80, ...(index < 2 && { nodePort: 30_002 + index }) }],
        };
        return planes[index % 2]?.client.create(Service, {
          metadata: { name: `s${index}`, namespace: 'default' },
          spec,
        });
      }),
    );
    const addresses = made.map((service) => service?.spec?.clusterIP ?? '');
    const ports = made.map((service) => service?.spec?.ports?.[0]?.nodePort ?? 0);
    expect([new Set(addresses).size, new Set(ports).size]).toEqual([12, 12]);
    const names = async (plane: ControlPlane): Promise<unknown[]> =>
      (await plane.client.list(IPAddress)).map(({ metadata }) => metadata?.name);
    for (const plane of planes) expect((await names(plane)).sort()).toEqual([...addresses].sort());
    const takenNow = async (): Promise<string> => {
      const { kv, revision } = await engine.get('/registry/ranges/servicenodeports');
      const decoded = storageCodec(protobuf, rangeAllocation, { types: kubernetesTypes }).decode(
        kv?.value ?? new Uint8Array(),
        revision,
      );
      const { range: text, data = '' } = decoded as { range?: string; data?: string };
      return `${text} ${Buffer.from(data, 'base64').toString('hex')}`;
    };
    const bits = ports.reduce((sum, port) => sum + (1n << BigInt(port - 30_000)), 0n);
    const hex = bits.toString(16);
    expect(await takenNow()).toBe(`30000-32767 ${hex.length % 2 === 1 ? '0' : ''}${hex}`);
    const [one, two] = planes as [ControlPlane, ControlPlane];
    await expect(
      two.client.create(Service, {
        metadata: { name: 'late', namespace: 'default' },
        spec: { type: 'NodePort', ports: [{ port: 80, nodePort: 30_002 }] },
      }),
    ).rejects.toThrow('provided port is already allocated');
    expect(await names(one)).toHaveLength(12);
    for (let index = 0; index < 12; index += 1) {
      await planes[(index + 1) % 2]?.client.delete(Service, { name: `s${index}`, namespace: 'default' });
    }
    expect([await names(one), await takenNow()]).toEqual([[], '30000-32767 ']);
  });

  it('gives writes through other servers the time that Kubernetes gives them before it empties a namespace', {
    timeout: 60_000,
  }, async () => {
    const [etcd] = await startEtcd({ binary: binary ?? '' });
    const dataDir = await mkdtemp(join(tmpdir(), 'kapstan-a-'));
    const clock = new VirtualClock();
    const options = { dataDir, clock, controlLoops: ['namespace'], http: 'off' } as const;
    let started: ControlPlane | undefined;
    void startControlPlane({ ...options, etcd: { endpoints: [etcd.endpoint] } }).then((plane) => {
      started = plane;
    });
    // Caches poll etcd for its revision on this clock.
    const plane = await vi.waitFor(async () => {
      await clock.advance(100);
      expect(started).toBeDefined();
      return started as ControlPlane;
    }, 30_000);
    onTestFinished(async () => {
      await plane.close();
      await etcd.remove();
      await rm(dataDir, { recursive: true });
    });
    const { client } = plane;
    const create = (name: string): Promise<Namespace> =>
      client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
    await create('a');
    await client.delete(Namespace, { name: 'a' });
    // If the server began too soon, it would finish during these requests.
    for (let round = 0; round < 20; round += 1) {
      await clock.advance(240);
      await create(`other-${round}`);
    }
    expect((await client.get(Namespace, { name: 'a' })).status?.phase).toBe('Terminating');
    await vi.waitFor(async () => {
      await clock.advance(100);
      await expect(client.get(Namespace, { name: 'a' })).rejects.toSatisfy(isNotFound);
    }, 8000);
  });

  it('does not carry out a write whose client has gone while etcd was away', { timeout: 60_000 }, async () => {
    const [etcd] = await startEtcd({ binary: binary ?? '' });
    const dataDir = await mkdtemp(join(tmpdir(), 'kapstan-a-'));
    const plane = await startControlPlane({ dataDir, etcd: { endpoints: [etcd.endpoint] } });
    const client = new Client({ ...clientConfigOf(parseKubeconfig(plane.kubeconfig)), proxyUrl: '' });
    onTestFinished(async () => {
      await client.close();
      await plane.close();
      await etcd.remove();
      await rm(dataDir, { recursive: true });
    });
    const configMap = (name: string): ConfigMap => ({ metadata: { name, namespace: 'default' } });
    await client.create(ConfigMap, configMap('before'));
    await etcd.kill();
    const stop = new AbortController();
    const gone = client.create(ConfigMap, configMap('gone'), { signal: stop.signal });
    const requests = async (): Promise<string> => (await client.raw({ path: '/metrics' })).body;
    // Waits until the request has reached the store.
    const writing = (count: number): Promise<void> =>
      vi.waitFor(async () => {
        expect(await requests()).toContain(`current_inflight_requests{request_kind="mutating"} ${count}\n`);
      }, 20_000);
    await writing(1);
    stop.abort(new Error('enough'));
    await expect(gone).rejects.toThrow('enough');
    await writing(0);
    etcd.start();
    await vi.waitFor(() => client.create(ConfigMap, configMap('after')), { timeout: 30_000, interval: 100 });
    await expect(plane.client.get(ConfigMap, { name: 'gone', namespace: 'default' })).rejects.toSatisfy(isNotFound);
  });
});
