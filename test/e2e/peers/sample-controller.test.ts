// Runs the Go sample-controller, unmodified, against `kapstan serve`: with its own manifests, a Foo becomes a
// Deployment. The test needs Go.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  AppsV1Api,
  CoreV1Api,
  CustomObjectsApi,
  KubeConfig,
  type KubernetesObject,
  KubernetesObjectApi,
  loadYaml,
  PatchStrategy,
  setHeaderOptions,
} from '@kubernetes/client-node';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { type ServeProcess, startServeProcess } from '../../kapstan/serve-process.ts';
import { buildGoPrograms, buildTimeoutMs, type GoPrograms } from './go-programs.ts';

interface Foo {
  readonly metadata: { readonly name: string; readonly uid: string; readonly resourceVersion: string };
  readonly spec: { readonly replicas: number };
  readonly status?: { readonly availableReplicas: number };
}

const foos = { group: 'samplecontroller.k8s.io', version: 'v1alpha1', namespace: 'default', plural: 'foos' };
const example = { ...foos, name: 'example-foo' };
const deployment = { namespace: 'default', name: 'example-foo' };
const flags = ['--control-loops=none'];
const soon = { timeout: 20_000, interval: 50 };

let missing: string | undefined;
let programs: GoPrograms;
let server: ServeProcess;
let controller: ChildProcess | undefined;
let log = '';
let config: KubeConfig;
let dataDir = '';

function startController(): void {
  log = '';
  controller = spawn(programs.sampleController, ['-kubeconfig', server.kubeconfig], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  controller.stderr?.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
}

/** Stops the controller as a user does. Resolves to its exit code. */
async function stopController(): Promise<number | null> {
  if (controller === undefined || controller.exitCode !== null) return controller?.exitCode ?? null;
  controller.kill('SIGTERM');
  const [code] = (await once(controller, 'exit')) as [number | null];
  return code;
}

async function createFrom(file: string): Promise<void> {
  const manifest: KubernetesObject = loadYaml(await readFile(join(programs.manifests, file), 'utf8'));
  await KubernetesObjectApi.makeApiClient(config).create(manifest);
}

async function scaleFoo(replicas: number): Promise<void> {
  const api = config.makeApiClient(CustomObjectsApi);
  const merge = setHeaderOptions('Content-Type', PatchStrategy.MergePatch);
  await api.patchNamespacedCustomObject({ ...example, body: { spec: { replicas } } }, merge);
}

const readFoo = (): Promise<Foo> => config.makeApiClient(CustomObjectsApi).getNamespacedCustomObject(example);
const readDeployment = () => config.makeApiClient(AppsV1Api).readNamespacedDeployment(deployment);

beforeAll(async () => {
  const built = await buildGoPrograms();
  if (typeof built === 'string') {
    missing = built;
    return;
  }
  programs = built;
  dataDir = await mkdtemp(join(tmpdir(), 'kapstan-sample-'));
  server = await startServeProcess({ dataDir, flags });
  config = new KubeConfig();
  config.loadFromFile(server.kubeconfig);
  await createFrom('crd-status-subresource.yaml');
  startController();
}, buildTimeoutMs);

afterAll(async () => {
  await stopController();
  await server?.close();
  if (dataDir !== '') await rm(dataDir, { recursive: true });
});

describe('the Go sample-controller', () => {
  beforeEach((context) => {
    if (missing !== undefined) context.skip(missing);
  });

  it('syncs its caches and starts its workers', async () => {
    await vi.waitFor(() => expect(log).toContain('Started workers'), soon);
  });

  it('makes the Deployment of a Foo, owned by it', async () => {
    await createFrom('example-foo.yaml');
    const made = await vi.waitFor(readDeployment, soon);
    const foo = await readFoo();
    expect(made.spec?.replicas).toBe(1);
    expect(made.spec?.template.spec?.containers[0]?.image).toBe('nginx:latest');
    expect(made.metadata?.ownerReferences).toEqual([
      {
        apiVersion: 'samplecontroller.k8s.io/v1alpha1',
        kind: 'Foo',
        name: 'example-foo',
        uid: foo.metadata.uid,
        controller: true,
        blockOwnerDeletion: true,
      },
    ]);
  });

  it('writes the status of the Foo and records that it is synced', async () => {
    await vi.waitFor(async () => expect((await readFoo()).status).toEqual({ availableReplicas: 0 }), soon);
    await vi.waitFor(async () => {
      const events = await config.makeApiClient(CoreV1Api).listNamespacedEvent({
        namespace: 'default',
        fieldSelector: 'involvedObject.name=example-foo,reason=Synced',
      });
      expect(events.items[0]).toMatchObject({ message: 'Foo synced successfully', type: 'Normal' });
      expect(events.items[0]?.source?.component).toBe('sample-controller');
    }, soon);
  });

  it('follows the Foo when it is scaled', async () => {
    await scaleFoo(3);
    await vi.waitFor(async () => expect((await readDeployment()).spec?.replicas).toBe(3), soon);
  });

  it('takes the number of available replicas from the status of the Deployment', async () => {
    const current = await readDeployment();
    const status = { ...current.status, replicas: 3, availableReplicas: 2, readyReplicas: 2, observedGeneration: 2 };
    await config.makeApiClient(AppsV1Api).replaceNamespacedDeploymentStatus({
      ...deployment,
      body: { ...current, status },
    });
    await vi.waitFor(async () => expect((await readFoo()).status?.availableReplicas).toBe(2), soon);
  });

  it('catches up after a restart with what changed meanwhile', async () => {
    expect(await stopController()).toBe(0);
    await scaleFoo(5);
    startController();
    await vi.waitFor(async () => expect((await readDeployment()).spec?.replicas).toBe(5), soon);
    expect(log).not.toMatch(/^E/m);
  });

  it('survives a restart of the server', async () => {
    await server.close();
    server = await startServeProcess({ dataDir, flags: [...flags, `--secure-port=${new URL(server.url).port}`] });
    await scaleFoo(7);
    await vi.waitFor(async () => expect((await readDeployment()).spec?.replicas).toBe(7), soon);
  });
});
