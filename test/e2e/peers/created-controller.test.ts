// The controller that `npm create kapstan` makes runs against a real kube-apiserver: as a developer runs it, with its webhooks, and as the
// service account of its manifests. It needs KAPSTAN_KUBE_APISERVER, a kube-apiserver of 1.36, and an etcd.
import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isInvalid } from '@kapstan/api';
import type { Client } from '@kapstan/client';
import { MutatingWebhookConfiguration } from '@kapstan/kinds/admissionregistration.k8s.io/v1';
import { Lease } from '@kapstan/kinds/coordination.k8s.io/v1';
import { ConfigMap, Namespace } from '@kapstan/kinds/core/v1';
import { type EtcdProcess, findEtcd, howToInstall, startEtcd } from '@kapstan/storage-etcd/testing';
import { createProject } from 'create-kapstan';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { Greeting } from '../../../packages/create-kapstan/template/src/api.ts';
import { requireBuilt } from '../../kapstan/built-packages.ts';
import {
  applyAll,
  asServiceAccount,
  clientOf,
  type RunningProgram,
  runProgram,
  webhooksAreCalled,
} from '../../kapstan/created-project.ts';
import { type KubeApiserver, startKubeApiserver } from './etcd-kube-apiserver.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const kubeBinary = process.env.KAPSTAN_KUBE_APISERVER ?? '';
const etcdBinary = findEtcd() ?? '';
const missing =
  kubeBinary === '' ? 'KAPSTAN_KUBE_APISERVER names no kube-apiserver' : etcdBinary === '' ? howToInstall : '';

const target = (name: string) => ({ name, namespace: 'default' });

describe('a created controller at a kube-apiserver', () => {
  if (missing !== '') {
    it('runs', ({ skip }) => skip(missing));
    return;
  }
  let etcd: EtcdProcess;
  let kube: KubeApiserver;
  let client: Client;
  let folder: string;
  let project: string;
  let kubeconfig: string;
  const running = new Set<RunningProgram>();

  beforeAll(async () => {
    requireBuilt(['controller']);
    folder = await mkdtemp(join(tmpdir(), 'kapstan-created-'));
    ({ directory: project } = await createProject(folder, { name: 'my-controller' }));
    await symlink(join(root, 'node_modules'), join(project, 'node_modules'));
    execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json'], { cwd: project });
    [etcd] = await startEtcd({ binary: etcdBinary });
    kube = await startKubeApiserver(kubeBinary, etcd.endpoint);
    kubeconfig = kubeconfigOf(kube);
    await writeFile(join(project, 'admin.kubeconfig'), kubeconfig);
    client = await clientOf(kubeconfig);
    await vi.waitFor(() => client.get(Namespace, { name: 'default' }), 30_000);
  }, 180_000);
  afterEach(async () => {
    for (const one of running) await one.stop('SIGKILL');
    running.clear();
  });
  afterAll(async () => {
    await client?.close();
    await kube?.close();
    await etcd?.remove();
    if (folder !== undefined) await rm(folder, { recursive: true });
  });

  function start(args: readonly string[], env: NodeJS.ProcessEnv = {}): RunningProgram {
    const program = runProgram(process.execPath, args, { cwd: project, env: { ...process.env, ...env } });
    running.add(program);
    return program;
  }

  it('reconciles, defaults and denies', { timeout: 120_000 }, async () => {
    const program = start(['dist/dev.js', 'admin.kubeconfig']);
    await program.printed(/Starting workers/);
    await webhooksAreCalled(client);
    await client.create(Greeting, { metadata: target('first'), spec: { message: 'hello' } });
    await vi.waitFor(async () => {
      expect((await client.get(ConfigMap, target('first'))).data).toEqual({ text: 'admin: hello' });
      const { status } = await client.get(Greeting, target('first'));
      expect(status).toMatchObject({ observedGeneration: 1, conditions: [{ type: 'Ready', status: 'True' }] });
    }, 30_000);
    const spec = { message: 'hello', from: 'somebody else' };
    await expect(client.create(Greeting, { metadata: target('second'), spec })).rejects.toSatisfy(isInvalid);
    running.delete(program);
    expect(await program.stop('SIGTERM')).toEqual([0, null]);
  });

  it('needs no more rights than those of its manifests', { timeout: 120_000 }, async () => {
    const account = { name: 'my-controller', namespace: 'my-controller' };
    await client.create(Namespace, { metadata: { name: account.namespace } });
    const bin = join(root, 'packages/control-plane/bin/kapstan.js');
    const flags = ['--name', account.name, '--namespace', account.namespace, '--image', 'my-controller:latest'];
    const generate = (...args: readonly string[]): string =>
      execFileSync(process.execPath, [bin, 'generate', ...args], { cwd: project, encoding: 'utf8' });
    await applyAll(client, [generate('crds', 'dist/program.js'), generate('manifests', 'dist/program.js', ...flags)]);
    await writeFile(join(project, 'account.kubeconfig'), await asServiceAccount(client, kubeconfig, account));
    const main = await readFile(join(project, 'dist/main.js'), 'utf8');
    const ports = 'metrics: { port: 0 }, webhooks: { ...options.webhooks, port: 0, leaveMs: 0 }, logger: console';
    await writeFile(join(project, 'dist/main-with-ports.js'), main.replace('logger: console', ports));
    const program = start(['dist/main-with-ports.js'], { KUBECONFIG: 'account.kubeconfig' });
    await program.printed(/Starting workers/);
    await vi.waitFor(async () => {
      expect(await client.get(Lease, account)).toMatchObject({ spec: { holderIdentity: expect.stringMatching(/./) } });
      const { webhooks = [] } = await client.get(MutatingWebhookConfiguration, { name: 'my-controller-webhooks' });
      expect(webhooks[0]?.clientConfig).toMatchObject({ caBundle: expect.any(String), service: account });
    }, 30_000);
    running.delete(program);
    expect(await program.stop('SIGTERM')).toEqual([0, null]);
    expect(program.text()).not.toMatch(/forbidden/i);
  });
});

function kubeconfigOf({ url, token }: KubeApiserver): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'one', cluster: { server: url, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'one', user: { token } }],
    contexts: [{ name: 'one', context: { cluster: 'one', user: 'one' } }],
    'current-context': 'one',
  });
}
