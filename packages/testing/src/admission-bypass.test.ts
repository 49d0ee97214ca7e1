// Attempts to write past admission, over HTTP as an admin: each path, verb, version and body that writes or connects is refused by a
// webhook, by a policy and by a function alike, and nothing has changed afterwards.
import { request } from 'node:https';
import {
  ValidatingAdmissionPolicyBinding,
  ValidatingWebhookConfiguration,
} from '@kapstan/kinds/admissionregistration.k8s.io/v1';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type TestCluster, testCluster } from './test-cluster.ts';
import { AdmissionWebhookServer, reviewed } from './testing/admission-webhook-server.ts';
import { about, validate } from './testing/policies.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

const core = '/api/v1/namespaces/default';
const widgets = '/apis/example.com';
const containers = [{ name: 'a', image: 'a' }];
const labels = { app: 'd' };
const meta = (name: string): object => ({ name, namespace: 'default' });
const podSpec = { containers: [{ ...containers[0], resources: { requests: { cpu: '500m' } } }], nodeName: 'n' };
const deployment = {
  metadata: meta('d'),
  spec: { replicas: 1, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers } } },
};
const scale = { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: meta('d'), spec: { replicas: 9 } };
const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: meta('p') };
const binding = { apiVersion: 'v1', kind: 'Binding', metadata: meta('free'), target: { kind: 'Node', name: 'n' } };
const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
const version = (name: string, storage: boolean): object => ({
  ...{ name, storage, served: true, schema },
  subresources: { status: {}, scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' } },
});
const names = { plural: 'widgets', kind: 'Widget', singular: 'widget', listKind: 'WidgetList' };
const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.example.com' },
  spec: { group: 'example.com', scope: 'Namespaced', names, versions: [version('v1', true), version('v2', false)] },
};
const hpa = {
  metadata: meta('h'),
  spec: { maxReplicas: 2, scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' } },
};
const debug = { name: 'x', image: 'x', imagePullPolicy: 'Always', terminationMessagePolicy: 'File' };

interface Attempt {
  readonly method: string;
  readonly path: string;
  readonly body?: object;
  readonly type?: string;
}

const types = {
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  json: 'application/json-patch+json',
  apply: 'application/apply-patch+yaml',
} as const;
const post = (path: string, body: object): Attempt => ({ method: 'POST', path, body });
const put = (path: string, body: object): Attempt => ({ method: 'PUT', path, body });
const patch = (type: keyof typeof types, path: string, body: object): Attempt => {
  return { method: 'PATCH', path, body, type: types[type] };
};
const remove = (path: string, body?: object): Attempt => ({ method: 'DELETE', path, ...(body && { body }) });
const get = (path: string): Attempt => ({ method: 'GET', path });
const map = (name: string): object => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: meta(name), data: { k: 'x' } });
const widget = (of: string, changes: object = {}): object => {
  return { apiVersion: `example.com/${of}`, kind: 'Widget', metadata: meta('w'), ...changes };
};

/** Every way in which a client can write, and connect. */
const attempts: Readonly<Record<string, Attempt>> = {
  create: post(`${core}/configmaps`, map('new')),
  'create with a generated name': post(`${core}/configmaps`, { metadata: { generateName: 'g-' } }),
  'dry run of a create': post(`${core}/configmaps?dryRun=All`, map('new')),
  'create of another field manager': post(`${core}/configmaps?fieldManager=kube-controller-manager`, map('new')),
  'apply that creates': patch('apply', `${core}/configmaps/new?fieldManager=m`, map('new')),
  'forced apply': patch('apply', `${core}/configmaps/old?fieldManager=m&force=true`, map('old')),
  update: put(`${core}/configmaps/old`, map('old')),
  'update that creates': put('/apis/coordination.k8s.io/v1/namespaces/default/leases/new', { metadata: meta('new') }),
  'merge patch': patch('merge', `${core}/configmaps/old`, { data: { k: 'x' } }),
  'strategic merge patch': patch('strategic', `${core}/configmaps/old`, { data: { k: 'x' } }),
  'JSON patch': patch('json', `${core}/configmaps/old`, [{ op: 'add', path: '/data', value: { k: 'x' } }]),
  'patch of managed fields': patch('merge', `${core}/configmaps/old`, { metadata: { managedFields: [{}] } }),
  'patch of finalizers': patch('merge', `${core}/configmaps/old`, { metadata: { finalizers: ['example.com/x'] } }),
  delete: remove(`${core}/configmaps/old`),
  'delete at once': remove(`${core}/pods/p?gracePeriodSeconds=0`),
  'delete with orphans': remove(`${core}/configmaps/old`, { propagationPolicy: 'Orphan' }),
  'dry run of a delete': remove(`${core}/configmaps/old`, { dryRun: ['All'] }),
  'delete of a collection': remove(`${core}/configmaps`),
  'delete of a selected collection': remove(`${core}/configmaps?labelSelector=!none`),
  'status by update': put('/apis/apps/v1/namespaces/default/deployments/d/status', deployment),
  'status by patch': patch('merge', `${core}/pods/p/status`, { status: { phase: 'Failed' } }),
  'status by apply': patch('apply', `${core}/pods/p/status?fieldManager=m`, {
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: meta('p'), status: { phase: 'Failed' } },
  }),
  'scale by update': put('/apis/apps/v1/namespaces/default/deployments/d/scale', scale),
  'scale by patch': patch('merge', '/apis/apps/v1/namespaces/default/deployments/d/scale', { spec: { replicas: 9 } }),
  'scale by apply': patch(
    'apply',
    '/apis/apps/v1/namespaces/default/deployments/d/scale?fieldManager=m&force=true',
    scale,
  ),
  'ephemeral containers': patch('strategic', `${core}/pods/p/ephemeralcontainers`, {
    spec: { ephemeralContainers: [debug] },
  }),
  resize: patch('strategic', `${core}/pods/p/resize`, {
    spec: { containers: [{ name: 'a', resources: { requests: { cpu: '100m' } } }] },
  }),
  binding: post(`${core}/pods/free/binding`, binding),
  'binding in the old form': post(`${core}/bindings`, binding),
  eviction: post(`${core}/pods/p/eviction`, eviction),
  'eviction in the old version': post(`${core}/pods/p/eviction`, { ...eviction, apiVersion: 'policy/v1beta1' }),
  'dry run of an eviction': post(`${core}/pods/p/eviction?dryRun=All`, eviction),
  token: post(`${core}/serviceaccounts/s/token`, { spec: { audiences: ['a'] } }),
  'finalizers of a namespace': put('/api/v1/namespaces/other/finalize', { metadata: { name: 'other' }, spec: {} }),
  'another version of a kind': post('/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers', {
    ...{ metadata: meta('h'), spec: { maxReplicas: 2, scaleTargetRef: hpa.spec.scaleTargetRef } },
  }),
  'the first version of a kind': post('/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers', hpa),
  'an event in its old group': post(`${core}/events`, {
    ...{ metadata: meta('e'), involvedObject: { namespace: 'default', name: 'p' }, reason: 'r', type: 'Normal' },
  }),
  'a custom resource': post(`${widgets}/v1/namespaces/default/widgets`, { ...widget('v1'), metadata: meta('new') }),
  'a custom resource in another version': patch('merge', `${widgets}/v2/namespaces/default/widgets/w`, {
    spec: { a: 1 },
  }),
  'a custom resource by apply': patch('apply', `${widgets}/v2/namespaces/default/widgets/n?fieldManager=m`, {
    ...widget('v2'),
    metadata: meta('n'),
  }),
  'status of a custom resource': patch('merge', `${widgets}/v1/namespaces/default/widgets/w/status`, {
    status: { a: 1 },
  }),
  'scale of a custom resource': patch('merge', `${widgets}/v1/namespaces/default/widgets/w/scale`, {
    spec: { replicas: 3 },
  }),
  'custom resources as a collection': remove(`${widgets}/v2/namespaces/default/widgets`),
  'exec by GET': get(`${core}/pods/p/exec?command=ls&stdout=true`),
  'exec by POST': { method: 'POST', path: `${core}/pods/p/exec?command=ls&stdout=true` },
  attach: get(`${core}/pods/p/attach?stdout=true`),
  'port forward': get(`${core}/pods/p/portforward?ports=80`),
  'proxy to a pod': get(`${core}/pods/p/proxy/`),
  'proxy to a pod and a path': { method: 'PUT', path: `${core}/pods/p:80/proxy/a/b` },
  'proxy to a service': get(`${core}/services/v/proxy/`),
  'proxy to a node': get('/api/v1/nodes/n/proxy/pods'),
};

let cluster: TestCluster;
let hook: AdmissionWebhookServer;

beforeEach(async () => {
  hook = await AdmissionWebhookServer.start();
  cluster = await testCluster({ controlPlane: { admission: { disabled: ['ServiceAccount'] } } });
  const made = [
    post('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition),
    post('/api/v1/namespaces', { metadata: { name: 'other' } }),
    post('/api/v1/nodes', { metadata: { name: 'n' }, status: { allocatable: { cpu: '4' }, capacity: { cpu: '4' } } }),
    post(`${core}/configmaps`, { metadata: meta('old') }),
    post(`${core}/serviceaccounts`, { metadata: meta('s') }),
    post(`${core}/services`, { metadata: meta('v'), spec: { ports: [{ port: 80 }] } }),
    post(`${core}/pods`, { metadata: meta('p'), spec: podSpec }),
    post(`${core}/pods`, { metadata: meta('free'), spec: { containers } }),
    post('/apis/apps/v1/namespaces/default/deployments', deployment),
  ];
  for (const one of made) expect([one.path, (await send(one)).code]).toEqual([one.path, 201]);
  await vi.waitFor(async () => {
    const { code } = await send(
      post(`${widgets}/v1/namespaces/default/widgets`, widget('v1', { spec: { replicas: 1 } })),
    );
    expect(code).toBe(201);
  }, 20_000);
});
afterEach(async () => {
  await cluster.close();
  await hook.close();
});

const text = (body: object): string => JSON.stringify(body);

interface Answer {
  readonly code: number;
  readonly text: string;
}

function send({ method, path, body, type = 'application/json' }: Attempt): Promise<Answer> {
  const credential = (name: string): Buffer =>
    Buffer.from(new RegExp(`${name}: (\\S+)`).exec(cluster.kubeconfig)?.[1] ?? '', 'base64');
  const options = {
    ...{ method, agent: false, rejectUnauthorized: false },
    cert: credential('client-certificate-data'),
    key: credential('client-key-data'),
    headers: body === undefined ? {} : { 'content-type': type, 'content-length': Buffer.byteLength(text(body)) },
  } as const;
  return new Promise((resolve, reject) => {
    const sent = request(new URL(path, cluster.url), options, (answer) => {
      let received = '';
      answer.setEncoding('utf8').on('data', (part: string) => {
        received += part;
      });
      answer.on('end', () => resolve({ code: answer.statusCode ?? 0, text: received }));
    });
    sent.on('error', reject);
    sent.end(body === undefined ? undefined : text(body));
  });
}

/** Returns everything that the attempts are after, as it is stored. */
async function stored(): Promise<readonly string[]> {
  const lists = [
    ...['configmaps', 'pods', 'serviceaccounts', 'services', 'events'].map((resource) => `${core}/${resource}`),
    '/apis/apps/v1/namespaces/default/deployments',
    '/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers',
    '/apis/coordination.k8s.io/v1/namespaces/default/leases',
    `${widgets}/v1/namespaces/default/widgets`,
    '/api/v1/nodes',
  ];
  const texts = await Promise.all(lists.map((path) => send(get(path))));
  return texts.flatMap((answer, index) =>
    (JSON.parse(answer.text) as { items: readonly object[] }).items.map(
      (item) => `${lists[index]} ${JSON.stringify(item)}`,
    ),
  );
}

/**
 * Webhooks, policies and functions that refuse everything. Calling one puts it in force; the returned function removes
 * it again.
 */
const judges: Readonly<Record<string, () => Promise<() => Promise<unknown>>>> = {
  webhook: async () => {
    const everything = { apiGroups: ['*'], apiVersions: ['*'], operations: ['*' as const], resources: ['*/*'] };
    hook.answer = (asked, response) => reviewed(asked, response, { allowed: false, status: { message: 'no entry' } });
    await cluster.client.create(ValidatingWebhookConfiguration, hook.validating('all', { rules: [everything] }));
    await cluster.settle();
    return () => cluster.client.delete(ValidatingWebhookConfiguration, { name: 'all' });
  },
  policy: async () => {
    const validations = [{ expression: 'false', message: 'no entry' }];
    await validate(cluster, { spec: { matchConstraints: about(['*/*'], '*'), validations } });
    return () => cluster.client.delete(ValidatingAdmissionPolicyBinding, { name: 'p' });
  },
  function: async () => {
    const refuse = { allowed: false, status: { message: 'no entry' } };
    const operations = ['CREATE', 'UPDATE', 'DELETE', 'CONNECT'] as const;
    const admission = cluster.admit('*', { operations, subresource: '*', validate: () => refuse });
    const whole = cluster.admit('*', { operations, validate: () => refuse });
    return async () => {
      admission.remove();
      whole.remove();
    };
  },
};

describe.each(Object.keys(judges))('a %s that allows nothing', (judge) => {
  it('is passed by nobody, and finds everything as it was', async () => {
    const before = await stored();
    const lift = await judges[judge]?.();
    const passed: Record<string, string> = {};
    for (const [what, attempt] of Object.entries(attempts)) {
      const answer = await send(attempt);
      const isRefused = answer.code >= 400 && answer.text.includes('no entry');
      if (!isRefused) passed[what] = `${answer.code} ${answer.text.slice(0, 300)}`;
    }
    expect(passed).toEqual({});
    await lift?.();
    await cluster.settle();
    expect(await stored()).toEqual(before);
  });
});
