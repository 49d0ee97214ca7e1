// @kubernetes/client-node, the official client for Node, unmodified, against `kapstan serve`.
import {
  ApiException,
  AppsV1Api,
  CoreV1Api,
  CustomObjectsApi,
  KubeConfig,
  type KubernetesListObject,
  KubernetesObjectApi,
  loadAllYaml,
  makeInformer,
  PatchStrategy,
  PolicyV1Api,
  setHeaderOptions,
  type V1ConfigMap,
  VersionApi,
  Watch,
} from '@kubernetes/client-node';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type ServeProcess, startServeProcess } from '../../kapstan/serve-process.ts';

let server: ServeProcess;
let config: KubeConfig;
let core: CoreV1Api;

const manifests = `apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {a: "1"}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "nginx:1.25"}]}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: lamps.client-node.example.com}
spec:
  group: client-node.example.com
  scope: Namespaced
  names: {plural: lamps, singular: lamp, kind: Lamp}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {on: {type: boolean, default: false}}}}}}
`;

async function namespace(name: string): Promise<string> {
  await core.createNamespace({ body: { metadata: { name } } });
  return name;
}

function configMap(name: string, data: Record<string, string> = {}): V1ConfigMap {
  return { metadata: { name, labels: { part: name } }, data };
}

/** Returns the status code and reason of a call that must be refused. */
async function refusal(call: Promise<unknown>): Promise<{ code: number; reason: unknown }> {
  const error = await call.then(
    () => new Error('it was not refused'),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ApiException)) throw error;
  const body: unknown = typeof error.body === 'string' ? JSON.parse(error.body) : error.body;
  return { code: error.code, reason: (body as { reason?: unknown }).reason };
}

beforeAll(async () => {
  server = await startServeProcess({ flags: ['--control-loops=none', '--disable-admission-plugins=ServiceAccount'] });
  config = new KubeConfig();
  config.loadFromFile(server.kubeconfig);
  core = config.makeApiClient(CoreV1Api);
});
afterAll(() => server?.close());

describe('@kubernetes/client-node', () => {
  it('creates, reads, replaces, lists and deletes with the typed clients', async () => {
    const ns = await namespace('typed');
    const made = await core.createNamespacedConfigMap({ namespace: ns, body: configMap('one', { a: '1' }) });
    expect(made.metadata?.creationTimestamp).toBeInstanceOf(Date);
    expect(made.metadata?.uid).toMatch(/^[0-9a-f-]{36}$/);
    const replaced = await core.replaceNamespacedConfigMap({
      namespace: ns,
      name: 'one',
      body: { ...made, data: { a: '2' } },
    });
    expect(replaced.data).toEqual({ a: '2' });
    await core.createNamespacedConfigMap({ namespace: ns, body: configMap('two') });
    const list = await core.listNamespacedConfigMap({ namespace: ns, labelSelector: 'part=two' });
    expect(list.items.map((item) => item.metadata?.name)).toEqual(['two']);
    const deleted = await core.deleteNamespacedConfigMap({ namespace: ns, name: 'one' });
    expect(deleted.status).toBe('Success');
    const { gitVersion } = await config.makeApiClient(VersionApi).getCode();
    expect(gitVersion).toMatch(/^v1\./);
  });

  it('gets errors with their code and reason', async () => {
    const ns = await namespace('refused');
    const made = await core.createNamespacedConfigMap({ namespace: ns, body: configMap('one') });
    await core.replaceNamespacedConfigMap({ namespace: ns, name: 'one', body: { ...made, data: { a: 'b' } } });
    const stale = core.replaceNamespacedConfigMap({ namespace: ns, name: 'one', body: { ...made, data: { a: 'c' } } });
    expect(await refusal(stale)).toEqual({ code: 409, reason: 'Conflict' });
    const again = core.createNamespacedConfigMap({ namespace: ns, body: configMap('one') });
    expect(await refusal(again)).toEqual({ code: 409, reason: 'AlreadyExists' });
    const gone = core.readNamespacedConfigMap({ namespace: ns, name: 'none' });
    expect(await refusal(gone)).toEqual({ code: 404, reason: 'NotFound' });
    const invalid = core.createNamespacedConfigMap({ namespace: ns, body: configMap('Not_A_Name') });
    expect(await refusal(invalid)).toEqual({ code: 422, reason: 'Invalid' });
  });

  it('reads a list page by page', async () => {
    const ns = await namespace('paged');
    for (const name of ['a', 'b', 'c', 'd', 'e'])
      await core.createNamespacedConfigMap({ namespace: ns, body: configMap(name) });
    const names: (string | undefined)[] = [];
    let _continue: string | undefined;
    do {
      const page = await core.listNamespacedConfigMap({ namespace: ns, limit: 2, ...(_continue && { _continue }) });
      expect(page.items.length).toBeLessThanOrEqual(2);
      names.push(...page.items.map((item) => item.metadata?.name));
      _continue = page.metadata?._continue;
    } while (_continue);
    expect(names).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  it('applies every type of patch', async () => {
    const ns = await namespace('patched');
    const call = { namespace: ns, name: 'one' };
    await core.createNamespacedConfigMap({ namespace: ns, body: configMap('one', { a: '1' }) });
    const types: [PatchStrategy, unknown][] = [
      [PatchStrategy.JsonPatch, [{ op: 'add', path: '/data/b', value: '2' }]],
      [PatchStrategy.MergePatch, { data: { c: '3' } }],
      [PatchStrategy.StrategicMergePatch, { data: { d: '4' } }],
    ];
    for (const [type, body] of types)
      await core.patchNamespacedConfigMap({ ...call, body }, setHeaderOptions('Content-Type', type));
    const apply = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'one' }, data: { e: '5' } };
    const applied = await core.patchNamespacedConfigMap(
      { ...call, body: apply, fieldManager: 'client-node', force: true },
      setHeaderOptions('Content-Type', PatchStrategy.ServerSideApply),
    );
    expect(applied.data).toEqual({ a: '1', b: '2', c: '3', d: '4', e: '5' });
    expect(applied.metadata?.managedFields?.map((entry) => entry.manager)).toContain('client-node');
  });

  it('creates, patches and deletes whatever stands in YAML', async () => {
    const ns = await namespace('yaml');
    const api = KubernetesObjectApi.makeApiClient(config);
    for (const spec of loadAllYaml(manifests)) {
      if (spec.kind !== 'CustomResourceDefinition') spec.metadata.namespace = ns;
      await api.create(spec);
    }
    const web = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web', namespace: ns } };
    const patched = await api.patch({ ...web, spec: { replicas: 4 } } as typeof web);
    expect(patched).toMatchObject({ spec: { replicas: 4, strategy: { type: 'RollingUpdate' } } });
    const listed = await api.list('apps/v1', 'Deployment', ns);
    expect(listed.items).toHaveLength(1);
    const lamp = {
      apiVersion: 'client-node.example.com/v1',
      kind: 'Lamp',
      metadata: { name: 'desk', namespace: ns },
      spec: {},
    };
    await vi.waitFor(() => api.create(lamp), { timeout: 10_000 });
    expect(await api.read(lamp)).toMatchObject({ spec: { on: false } });
    await api.delete(web);
    expect(await refusal(api.read(web))).toEqual({ code: 404, reason: 'NotFound' });
    const lamps = { group: 'client-node.example.com', version: 'v1', namespace: ns, plural: 'lamps' };
    const list = await config.makeApiClient(CustomObjectsApi).listNamespacedCustomObject(lamps);
    expect(list).toMatchObject({ kind: 'LampList', items: [{ metadata: { name: 'desk' } }] });
  });

  it('watches', async () => {
    const ns = await namespace('watched');
    const seen: string[] = [];
    let ended: unknown;
    const request = await new Watch(config).watch(
      `/api/v1/namespaces/${ns}/configmaps`,
      { allowWatchBookmarks: true }, // without a version, so the end of the initial events is marked first
      (phase: string, object: V1ConfigMap) => seen.push(`${phase} ${object.metadata?.name}`),
      (error: unknown) => {
        ended = error;
      },
    );
    await core.createNamespacedConfigMap({ namespace: ns, body: configMap('one') });
    const merge = setHeaderOptions('Content-Type', PatchStrategy.MergePatch);
    await core.patchNamespacedConfigMap({ namespace: ns, name: 'one', body: { data: { a: 'b' } } }, merge);
    await core.deleteNamespacedConfigMap({ namespace: ns, name: 'one' });
    await vi.waitFor(() => expect(seen).toEqual(['BOOKMARK undefined', 'ADDED one', 'MODIFIED one', 'DELETED one']), {
      timeout: 10_000,
    });
    expect(ended).toBeUndefined();
    request.abort();
  });

  it('keeps an informer in step', async () => {
    const ns = await namespace('informed');
    await core.createNamespacedConfigMap({ namespace: ns, body: configMap('before') });
    const list = (): Promise<KubernetesListObject<V1ConfigMap>> => core.listNamespacedConfigMap({ namespace: ns });
    const informer = makeInformer(config, `/api/v1/namespaces/${ns}/configmaps`, list);
    const told: string[] = [];
    const errors: unknown[] = [];
    for (const event of ['add', 'update', 'delete'] as const)
      informer.on(event, (object: V1ConfigMap) => told.push(`${event} ${object.metadata?.name}`));
    informer.on('error', (error: unknown) => errors.push(error));
    await informer.start();
    const made = await core.createNamespacedConfigMap({ namespace: ns, body: configMap('after') });
    await core.replaceNamespacedConfigMap({ namespace: ns, name: 'after', body: { ...made, data: { a: '1' } } });
    await core.deleteNamespacedConfigMap({ namespace: ns, name: 'before' });
    await vi.waitFor(() => expect(told).toEqual(['add before', 'add after', 'update after', 'delete before']), {
      timeout: 10_000,
    });
    expect(informer.list(ns).map((object) => object.metadata?.name)).toEqual(['after']);
    expect(errors).toEqual([]);
    await informer.stop();
  });

  it('scales, writes status and evicts through subresources', async () => {
    const ns = await namespace('parts');
    const apps = config.makeApiClient(AppsV1Api);
    const call = { namespace: ns, name: 'web' };
    const labels = { app: 'web' };
    const containers = [{ name: 'web', image: 'nginx:1.25' }];
    const template = { metadata: { labels }, spec: { containers } };
    const made = await apps.createNamespacedDeployment({
      namespace: ns,
      body: { metadata: { name: 'web' }, spec: { selector: { matchLabels: labels }, template } },
    });
    const scale = await apps.readNamespacedDeploymentScale(call);
    await apps.replaceNamespacedDeploymentScale({ ...call, body: { ...scale, spec: { replicas: 3 } } });
    expect((await apps.readNamespacedDeployment(call)).spec?.replicas).toBe(3);
    const { resourceVersion: _, ...metadata } = made.metadata ?? {};
    const written = await apps.replaceNamespacedDeploymentStatus({
      ...call,
      body: { ...made, metadata, status: { replicas: 3 } },
    });
    expect(written.status?.replicas).toBe(3);
    await core.createNamespacedPod({ namespace: ns, body: { metadata: { name: 'web' }, spec: { containers } } });
    await core.createNamespacedPodEviction({ ...call, body: { metadata: { name: 'web' } } });
    await config.makeApiClient(PolicyV1Api).listNamespacedPodDisruptionBudget({ namespace: ns });
    expect(await refusal(core.readNamespacedPod(call).then((pod) => pod.metadata?.deletionTimestamp))).toEqual({
      code: 404,
      reason: 'NotFound',
    });
  });

  it('is told apart from users without rights and strangers', async () => {
    const client = (token: string): CoreV1Api => {
      const other = new KubeConfig();
      const cluster = config.getCurrentCluster();
      if (cluster === null) throw new Error('the kubeconfig has no cluster');
      other.loadFromClusterAndUser(cluster, { name: 'other', token });
      return other.makeApiClient(CoreV1Api);
    };
    const asUser = client(server.userToken).listNamespacedPod({ namespace: 'default' });
    expect(await refusal(asUser)).toEqual({ code: 403, reason: 'Forbidden' });
    const asStranger = client('unknown').listNamespacedPod({ namespace: 'default' });
    await expect(asStranger).rejects.toMatchObject({ code: 401 });
    const asAdmin = await client(server.adminToken).listNamespacedPod({ namespace: 'default' });
    expect(asAdmin.items).toEqual([]);
  });
});
