// Attempts to get past the plug-ins of the server itself, over HTTP as an admin: a namespace with a level of pod security and a quota
// that is used up.
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { type TestCluster, testCluster } from './test-cluster.ts';
import { type Attempt, adminRequest, patchTypes } from './testing/admin-request.ts';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const base = '/api/v1/namespaces/s';
const post = (path: string, body: object): Attempt => ({ method: 'POST', path, body });
const patch = (type: keyof typeof patchTypes, path: string, body: object): Attempt => {
  return { method: 'PATCH', path, body, type: patchTypes[type] };
};
const cpu = (amount: string): object => ({ requests: { cpu: amount } });
const pod = (name: string, more: object = {}): object => ({
  ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name } },
  spec: { containers: [{ name: 'a', image: 'a', resources: cpu('500m') }], ...more },
});
const service = (more: object): object => ({ metadata: { name: 'v' }, spec: { ports: [{ port: 80 }], ...more } });
const configMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'b' } };
const lease = (namespace: string): string => `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/l`;
const leaseObject = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'l' } };
const hard = { pods: '2', 'requests.cpu': '1', 'count/configmaps': '1', 'services.nodeports': '0' };
const used = { pods: '0', 'requests.cpu': '0', 'count/configmaps': '0', 'services.nodeports': '0' };

const insecure = /violates PodSecurity "baseline:latest"/;
const exceeded = /exceeded quota: q/;

const attempts: Readonly<Record<string, readonly [RegExp, Attempt]>> = {
  'a pod in the network of its node': [insecure, post(`${base}/pods`, pod('h', { hostNetwork: true }))],
  'the same by apply': [insecure, patch('apply', `${base}/pods/h?fieldManager=m`, pod('h', { hostNetwork: true }))],
  'the same as a dry run': [insecure, post(`${base}/pods?dryRun=All`, pod('h', { hostPID: true }))],
  'a privileged container of debugging': [
    insecure,
    patch('strategic', `${base}/pods/p/ephemeralcontainers`, {
      spec: { ephemeralContainers: [{ name: 'x', image: 'x', securityContext: { privileged: true } }] },
    }),
  ],
  'a pod too many': [exceeded, post(`${base}/pods`, pod('more'))],
  'a pod too many by apply': [exceeded, patch('apply', `${base}/pods/more?fieldManager=m`, pod('more'))],
  'more processor for a pod that runs': [
    exceeded,
    patch('strategic', `${base}/pods/p/resize`, { spec: { containers: [{ name: 'a', resources: cpu('900m') }] } }),
  ],
  'a port of all nodes': [exceeded, post(`${base}/services`, service({ type: 'NodePort' }))],
  'a port of all nodes by update': [exceeded, patch('merge', `${base}/services/s`, { spec: { type: 'NodePort' } })],
  'one config map too many': [exceeded, post(`${base}/configmaps`, configMap)],
  'one with a generated name': [exceeded, post(`${base}/configmaps`, { metadata: { generateName: 'g-' } })],
  'one by apply': [exceeded, patch('apply', `${base}/configmaps/b?fieldManager=m`, configMap)],
  'one in a dry run': [exceeded, post(`${base}/configmaps?dryRun=All`, configMap)],
  'an update that creates where no namespace is': [
    /namespaces "none" not found/,
    { method: 'PUT', path: lease('none'), body: leaseObject },
  ],
  'an apply that creates where no namespace is': [
    /namespaces "none" not found/,
    patch('apply', `${lease('none')}?fieldManager=m`, leaseObject),
  ],
  'an update that creates in a namespace that ends': [
    /because it is being terminated/,
    { method: 'PUT', path: lease('ending'), body: leaseObject },
  ],
  'an apply that creates in a namespace that ends': [
    /because it is being terminated/,
    patch('apply', `${lease('ending')}?fieldManager=m`, leaseObject),
  ],
  'the deletion of the namespace of the system': [
    /this namespace may not be deleted/,
    { method: 'DELETE', path: '/api/v1/namespaces/kube-system' },
  ],
};

let cluster: TestCluster;
const send = (attempt: Attempt) => adminRequest(cluster, attempt);

beforeEach(async () => {
  cluster = await testCluster({ controlPlane: { admission: { disabled: ['ServiceAccount'] } } });
  const labels = { 'pod-security.kubernetes.io/enforce': 'baseline' };
  const allocatable = { cpu: '4', memory: '1Gi', pods: '10' };
  const made = [
    post('/api/v1/namespaces', { metadata: { name: 's', labels } }),
    post('/api/v1/namespaces', { metadata: { name: 'ending' } }),
    post('/api/v1/namespaces/ending/configmaps', { metadata: { name: 'a', finalizers: ['example.com/held'] } }),
    post('/api/v1/nodes', { metadata: { name: 'n' }, status: { allocatable, capacity: allocatable } }),
    post(`${base}/resourcequotas`, { metadata: { name: 'q' }, spec: { hard } }),
    patch('merge', `${base}/resourcequotas/q/status`, { status: { hard, used } }),
    post(`${base}/pods`, pod('p', { nodeName: 'n' })),
    post(`${base}/pods`, pod('p2')),
    post(`${base}/configmaps`, { metadata: { name: 'a' } }),
    post(`${base}/services`, { metadata: { name: 's' }, spec: { ports: [{ port: 80 }] } }),
    { method: 'DELETE', path: '/api/v1/namespaces/ending' },
  ];
  for (const one of made) {
    const { code, text } = await send(one);
    expect([one.path, code < 300, text]).toEqual([one.path, true, expect.any(String)]);
  }
});
afterEach(() => cluster.close());

it('is refused by the plug-in that it tries to get past', async () => {
  const before = (await send({ method: 'GET', path: `${base}/resourcequotas/q` })).text;
  const passed: string[] = [];
  for (const [what, [told, attempt]] of Object.entries(attempts)) {
    const { code, text } = await send(attempt);
    const { message } = JSON.parse(text) as { readonly message?: string };
    if (code < 400 || !told.test(message ?? '')) passed.push(`${what}: ${code} ${text.slice(0, 300)}`);
  }
  expect(passed).toEqual([]);
  // The endpoint for a service's status cannot change its spec.
  const status = patch('merge', `${base}/services/s/status`, { spec: { type: 'NodePort' } });
  expect(JSON.parse((await send(status)).text)).toMatchObject({ spec: { type: 'ClusterIP' } });
  expect((await send({ method: 'GET', path: `${base}/resourcequotas/q` })).text).toBe(before);
});
