import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isNotFound, type ResourceClient } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import { ConfigMap, Namespace, ServiceAccount } from '@kapstan/kinds/core/v1';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { startControlPlane } from '../control-plane.ts';
import type { ControlPlane } from '../options/control-plane-options.ts';

let dataDir: string;
let controlPlane: ControlPlane;
let client: ResourceClient;

/** Waits in real time, because the stores are real. */
const eventually = <T>(look: () => Promise<T>): Promise<T> => vi.waitFor(look, { timeout: 8000, interval: 5 });

const start = async (...controlLoops: string[]): Promise<void> => {
  controlPlane = await startControlPlane({ dataDir, controlLoops, clock: new VirtualClock(), http: 'off' });
  ({ client } = controlPlane);
};

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'kapstan-loops-'));
});
afterEach(async () => {
  await controlPlane.close();
  await rm(dataDir, { recursive: true });
});

const createNamespace = (name: string, finalizers: string[] = []): Promise<Namespace> =>
  client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name, finalizers } });
const account = { name: 'default', namespace: 'a' };

describe('serviceaccount-controller', () => {
  it('has made the service account of the namespace "default" when the control plane is ready', async () => {
    await start('serviceaccount');
    await expect(client.get(ServiceAccount, { name: 'default', namespace: 'default' })).resolves.toBeDefined();
  });

  it('makes the account of each namespace, also of those that existed before it started', async () => {
    await start();
    await createNamespace('a');
    await controlPlane.close();
    await start('serviceaccount');
    await eventually(() => client.get(ServiceAccount, account));
    await createNamespace('b');
    await eventually(() => client.get(ServiceAccount, { ...account, namespace: 'b' }));
  });

  it('makes the account anew when it is deleted', async () => {
    await start('serviceaccount');
    await createNamespace('a');
    const first = await eventually(() => client.get(ServiceAccount, account));
    await client.delete(ServiceAccount, account);
    const second = await eventually(() => client.get(ServiceAccount, account));
    expect(second.metadata?.uid).not.toBe(first.metadata?.uid);
  });

  it('makes nothing in a namespace that is being deleted', async () => {
    await start('serviceaccount');
    await createNamespace('a', ['example.com/hold']);
    await eventually(() => client.get(ServiceAccount, account));
    await client.delete(Namespace, { name: 'a' });
    await client.delete(ServiceAccount, account);
    // The loop has handled both deletions once it has served a namespace created later.
    await createNamespace('later');
    await eventually(() => client.get(ServiceAccount, { name: 'default', namespace: 'later' }));
    await expect(client.get(ServiceAccount, account)).rejects.toSatisfy(isNotFound);
  });

  it('does not run unless asked for', async () => {
    await start('none');
    const page = await client.listPage(ServiceAccount);
    expect(page.items).toEqual([]);
  });
});

describe('root-ca-certificate-publisher-controller', () => {
  const target = { name: 'kube-root-ca.crt', namespace: 'default' };
  const serve = async (): Promise<void> => {
    controlPlane = await startControlPlane({ dataDir, controlLoops: ['root-ca-cert-publisher'] });
    ({ client } = controlPlane);
  };
  const published = (): Promise<ConfigMap> => eventually(() => client.get(ConfigMap, target));

  it("publishes the server's authority in every namespace", async () => {
    await serve();
    const { data, metadata } = await published();
    expect(data).toEqual({ 'ca.crt': controlPlane.caCert });
    expect(Object.keys(metadata?.annotations ?? {})).toEqual(['kubernetes.io/description']);
    await createNamespace('a');
    await eventually(() => client.get(ConfigMap, { ...target, namespace: 'a' }));
  });

  it('restores what was deleted or changed, and leaves the rest of the object alone', async () => {
    await serve();
    await published();
    await client.delete(ConfigMap, target);
    const again = await published();
    const metadata = { ...again.metadata, labels: { mine: 'yes' } };
    await client.update(ConfigMap, { ...again, metadata, data: { 'ca.crt': 'forged', more: 'x' } });
    await eventually(async () => {
      const now = await client.get(ConfigMap, target);
      expect(now.data).toEqual({ 'ca.crt': controlPlane.caCert });
      expect(now.metadata?.labels).toEqual({ mine: 'yes' });
    });
  });

  it('publishes the new authority when that has changed', async () => {
    await serve();
    const { caCert: before } = controlPlane;
    await published();
    await controlPlane.close();
    await rm(join(dataDir, 'pki'), { recursive: true });
    await serve();
    expect(controlPlane.caCert).not.toBe(before);
    await eventually(async () => expect((await published()).data).toEqual({ 'ca.crt': controlPlane.caCert }));
  });

  it('is left out where there is no server', async () => {
    await start('*');
    await createNamespace('a');
    await eventually(() => client.get(ServiceAccount, account));
    await expect(client.get(ConfigMap, target)).rejects.toSatisfy(isNotFound);
  });
});
