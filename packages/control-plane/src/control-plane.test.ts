import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { connect } from 'node:http2';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigMap, Namespace } from '@kapstan/kinds/core/v1';
import { PriorityClass } from '@kapstan/kinds/scheduling.k8s.io/v1';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { controlLoopNames } from './control-loops/control-loop-names.ts';
import { startControlPlane } from './control-plane.ts';
import { inKubernetesOrder, PostStartHooks } from './lifetime/post-start-hooks.ts';
import type { ControlPlane, ControlPlaneOptions } from './options/control-plane-options.ts';

/** Checks of a server that registers APIServices, in the order of kube-apiserver's /healthz?verbose. */
const ofApiServices: readonly string[] = [
  'poststarthook/start-kube-aggregator-informers',
  'poststarthook/apiservice-status-local-available-controller',
  'poststarthook/apiservice-status-remote-available-controller',
  'poststarthook/apiservice-registration-controller',
  'poststarthook/apiservice-discovery-controller',
  'poststarthook/kube-apiserver-autoregistration',
  'autoregister-completion',
  'poststarthook/apiservice-openapi-controller',
  'poststarthook/apiservice-openapiv3-controller',
];

let dataDir: string;
let running: ControlPlane[];

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'kapstan-plane-'));
  running = [];
});
afterEach(async () => {
  for (const plane of running) await plane.close();
  await rm(dataDir, { recursive: true });
});

async function start(options: Partial<ControlPlaneOptions> = {}): Promise<ControlPlane> {
  const plane = await startControlPlane({ dataDir, ...options });
  running.push(plane);
  return plane;
}

function get(plane: ControlPlane, path: string, token?: string): Promise<{ status: number; text: string }> {
  const headers = token === undefined ? {} : { Authorization: `Bearer ${token}` };
  return new Promise((resolve, reject) => {
    request(new URL(path, plane.url), { ca: plane.caCert, headers, agent: false }, async (answer) => {
      const chunks: Buffer[] = [];
      for await (const chunk of answer) chunks.push(chunk as Buffer);
      resolve({ status: answer.statusCode ?? 0, text: Buffer.concat(chunks).toString() });
    })
      .on('error', reject)
      .end();
  });
}

describe('startControlPlane', () => {
  it('serves HTTPS under its own authority, and the first namespaces', async () => {
    const plane = await start();
    expect(await readFile(plane.caFile, 'utf8')).toBe(plane.caCert);
    const names = (await plane.client.listPage(Namespace)).items.map((namespace) => namespace.metadata?.name);
    expect(names).toEqual(['default', 'kube-node-lease', 'kube-public', 'kube-system']);
    expect((await get(plane, '/api/v1/namespaces/default', plane.token)).status).toBe(200);
    expect((await get(plane, '/api/v1/namespaces/default', 'no such token')).status).toBe(401);
    expect((await get(plane, '/api/v1/namespaces/default')).status).toBe(403);
  });

  it('has the priority classes of the system, and leaves them as somebody changed them', async () => {
    const first = await start();
    const { items } = await first.client.listPage(PriorityClass);
    expect(items).toMatchObject([
      { metadata: { name: 'system-cluster-critical' }, value: 2_000_000_000 },
      { metadata: { name: 'system-node-critical' }, value: 2_000_001_000, preemptionPolicy: 'PreemptLowerPriority' },
    ]);
    const name = 'system-node-critical';
    await first.client.patch(PriorityClass, { name }, { type: 'merge', body: { description: 'mine' } });
    await first.close();
    expect((await (await start()).client.get(PriorityClass, { name })).description).toBe('mine');
  });

  it.each(['0.0.0.0', '::'])('is reached on loopback when it listens on %s', async (bindAddress) => {
    const plane = await start({ bindAddress });
    expect(plane.url).toBe(`https://${bindAddress === '::' ? '[::1]' : '127.0.0.1'}:${plane.port}`);
    expect(plane.kubeconfig).toContain(`server: ${plane.url}\n`);
    expect((await get(plane, '/api/v1/namespaces/default', plane.token)).status).toBe(200);
  });

  it('names the serving certificate that it was given as what to trust', async () => {
    await (await start()).close();
    const pem = (file: string): Promise<string> => readFile(join(dataDir, 'pki', file), 'utf8');
    const serving = { cert: await pem('apiserver.crt'), key: await pem('apiserver.key') };
    const plane = await start({ serving });
    expect(plane.caCert).toBe(serving.cert);
    expect(await readFile(plane.caFile, 'utf8')).toBe(serving.cert);
    expect(plane.kubeconfig).toContain(Buffer.from(serving.cert).toString('base64'));
  });

  it('is healthy when its store answers and its caches are filled', async () => {
    const plane = await start();
    const { status, text } = await get(plane, '/readyz?verbose');
    expect(status).toBe(200);
    expect(text).toContain('[+]etcd ok');
    expect(text).toContain('[+]etcd-readiness ok');
    expect(text).toContain('[+]informer-sync ok');
    expect((await get(plane, '/livez/etcd', plane.token)).status).toBe(200);
    await get(plane, '/readyz');
    const results = (await get(plane, '/metrics/slis', plane.token)).text.split('\n');
    expect(results).toContain('kubernetes_healthcheck{name="etcd-readiness",type="readyz"} 1');
    expect(results).toContain('kubernetes_healthchecks_total{name="etcd",type="readyz",status="success"} 2');
    expect(results).toContain('kubernetes_healthchecks_total{name="etcd",type="livez",status="success"} 1');
    expect((await get(plane, '/metrics/slis')).status).toBe(403);
  });

  it.each([
    ['', false, []],
    [', those of APIServices too', true, ofApiServices],
  ])('tells of each part of its start under the name that kube-apiserver gives it%s', async (_, registers, more) => {
    const parts = { identity: 'on', endpointReconciler: 'lease', registersApiServices: registers } as const;
    const plane = await start(parts);
    const { text } = await get(plane, '/readyz?verbose');
    const bootstrap = 'poststarthook/rbac/bootstrap-roles';
    const others = registers ? [bootstrap, 'autoregister-completion'] : [bootstrap];
    const ownChecks = others.map((name) => ({ name, check: () => undefined }));
    const checks = [...new PostStartHooks(parts).healthChecks, ...ownChecks];
    const names = [
      ...['ping', 'log', 'etcd', 'etcd-readiness', 'informer-sync'],
      ...inKubernetesOrder(checks).map(({ name }) => name),
      'shutdown',
    ];
    expect(names.filter((name) => ofApiServices.includes(name))).toEqual(more);
    expect(text).toBe(`${names.map((name) => `[+]${name} ok\n`).join('')}readyz check passed\n`);
    const live = (await get(plane, '/livez?verbose&exclude=poststarthook/bootstrap-controller')).text;
    expect(live).toContain('[+]poststarthook/bootstrap-controller excluded: ok\n');
    expect(live).not.toContain('[+]informer-sync ');
    const healthy = await get(plane, '/healthz?verbose');
    const ofHealth = names.filter((name) => !['etcd-readiness', 'informer-sync', 'shutdown'].includes(name));
    expect(healthy).toEqual({
      status: 200,
      text: `${ofHealth.map((name) => `[+]${name} ok\n`).join('')}healthz check passed\n`,
    });
  });

  it('has a health check and metrics for each control loop, and all pass when it is there', async () => {
    const plane = await startControlPlane({ dataDir, controlLoops: ['*'] });
    running.push(plane);
    const { status, text } = await get(plane, '/readyz?verbose');
    expect(status).toBe(200);
    for (const name of controlLoopNames) {
      expect(text).toContain(`[+]poststarthook/${name} ok`);
      expect((await get(plane, `/readyz/poststarthook/${name}`, plane.token)).text).toBe('ok');
    }
    expect((await get(plane, '/livez?verbose')).text).toContain('poststarthook');
    const metrics = (await get(plane, '/metrics', plane.token)).text;
    expect(metrics).toContain('running_managed_controllers{name="namespace-controller",manager="kapstan"} 1\n');
    expect(metrics).toContain('apiserver_request_total{');
    expect(metrics).toMatch(/\netcd_requests_total\{operation="create",group="",resource="namespaces"\} [1-9]/);
    expect(metrics).toMatch(/\napiserver_storage_size_bytes\{storage_cluster_id="etcd-0"\} [1-9]/);
    expect(metrics).toContain('watch_cache_capacity{group="apps",resource="deployments"} 100\n');
    expect(metrics).toMatch(
      /\napiserver_admission_controller_admission_duration_seconds_count\{name="NamespaceLifecycle",type="admit",operation="CREATE",rejected="false"\} [1-9]/,
    );
    expect(metrics).toMatch(/\nprocess_cpu_seconds_total [0-9.]+\n/);
    expect(metrics).toMatch(
      /\nkubernetes_build_info\{.*git_version="v1\.36\.3\+kapstan",.*major="1",minor="36",platform="[^"]+"\} 1\n/,
    );
  });

  it('shows no series of its metrics twice, whatever it was asked', async () => {
    const plane = await start();
    for (const path of [
      'api/v1/endpoints',
      'api/v1/namespaces/default/endpoints',
      'api/v1/namespaces/default/endpoints/a',
    ])
      await get(plane, `/${path}`, plane.token);
    for (const version of ['v1', 'v2'])
      await get(plane, `/apis/autoscaling/${version}/horizontalpodautoscalers`, plane.token);
    const lines = (await get(plane, '/metrics', plane.token)).text.trim().split('\n');
    const series = lines.map((line) => (line.startsWith('# ') ? line : line.replace(/ \S+$/, '')));
    expect(series.filter((each, index) => series.indexOf(each) !== index)).toEqual([]);
    expect(lines.join('\n')).toContain('resource="horizontalpodautoscalers"');
  });

  it('sends HTTP/2 clients away as often as it is told, and ends requests in the time that it is told', async () => {
    const plane = await startControlPlane({ dataDir, goawayChance: 1, requestTimeoutMs: 30 });
    running.push(plane);
    const session = connect(plane.url, { ca: plane.caCert });
    const away = once(session, 'goaway');
    // The request's body never arrives.
    const stream = session.request({
      ':method': 'POST',
      ':path': '/api/v1/namespaces',
      authorization: `Bearer ${plane.token}`,
    });
    const [answer] = await once(stream, 'response');
    expect(answer[':status']).toBe(504);
    expect((await away)[0]).toBe(0);
    session.destroy();
  });

  it('finds its data again, and its authority', async () => {
    const first = await start();
    await first.client.create(ConfigMap, { metadata: { name: 'kept', namespace: 'default' }, data: { a: '1' } });
    await first.close();
    const second = await start();
    expect(second.caCert).toBe(first.caCert);
    expect(second.token, 'the token is new').not.toBe(first.token);
    expect((await second.client.get(ConfigMap, { name: 'kept', namespace: 'default' })).data).toEqual({ a: '1' });
  });

  it('refuses a data directory that is in use and leaves the one that uses it alone', async () => {
    const plane = await start();
    await expect(startControlPlane({ dataDir })).rejects.toThrow(/in use|locked/);
    expect((await get(plane, '/readyz')).status).toBe(200);
  });

  it('closes once, however often it is asked', async () => {
    const plane = await start();
    await Promise.all([plane.close(), plane.close()]);
    await expect(get(plane, '/readyz')).rejects.toThrow(/ECONNREFUSED/);
  });
});
