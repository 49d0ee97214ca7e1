// Attempts to write past admission, over HTTP as an admin: each path, verb, version and body that writes or connects is refused by a
// webhook, by a policy and by a function alike, and nothing has changed afterwards.
import {
  ValidatingAdmissionPolicyBinding,
  ValidatingWebhookConfiguration,
} from '@kapstan/kinds/admissionregistration.k8s.io/v1';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type TestCluster, testCluster } from './test-cluster.ts';
import { type Answer, type Attempt, adminRequest, patchTypes } from './testing/admin-request.ts';
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
/** Its status allows an eviction, so that an eviction would count in it. */
const budget = { metadata: meta('b'), spec: { minAvailable: 0, selector: { matchLabels: labels } } };
const debug = { name: 'x', image: 'x', imagePullPolicy: 'Always', terminationMessagePolicy: 'File' };

/** An attempt takes it, and frees it when it ends. */
const address = '10.96.0.77';
const nodePort = 30077;

const post = (path: string, body: object): Attempt => ({ method: 'POST', path, body });
const put = (path: string, body: object): Attempt => ({ method: 'PUT', path, body });
const patch = (type: keyof typeof patchTypes, path: string, body: object): Attempt => {
  return { method: 'PATCH', path, body, type: patchTypes[type] };
};
const remove = (path: string, body?: object): Attempt => ({ method: 'DELETE', path, ...(body && { body }) });
const get = (path: string): Attempt => ({ method: 'GET', path });
/** Asks to go on in another protocol, as kubectl does. */
const upgrade = (protocol: 'websocket' | 'SPDY/3.1', path: string): Attempt => ({
  ...get(path),
  headers: {
    ...{ connection: 'Upgrade', upgrade: protocol },
    ...(protocol === 'websocket'
      ? {
          'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
          'sec-websocket-version': '13',
          'sec-websocket-protocol': 'v5.channel.k8s.io',
        }
      : { 'x-stream-protocol-version': 'v4.channel.k8s.io' }),
  },
});
const metadataOnly = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1';
const held = { metadata: { finalizers: [] } };
const map = (name: string): object => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: meta(name), data: { k: 'x' } });
const large = (name: string): object => ({ ...map(name), data: { k: 'x'.repeat(300_000) } });
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
  'status by apply': patch('apply', `${core}/pods/p/status?fieldManager=m&force=true`, {
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
  'patch that asks for metadata alone': {
    ...patch('merge', `${core}/configmaps/old`, { metadata: { labels: { a: 'b' } } }),
    headers: { accept: metadataOnly },
  },
  'create that asks for a table': {
    ...post(`${core}/configmaps`, map('new')),
    headers: { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1' },
  },
  'create in YAML': { ...post(`${core}/configmaps`, map('new')), type: 'application/yaml' },
  'path with an escape': post(`${core}/%63onfigmaps`, map('new')),
  'path with a slash at its end': post(`${core}/configmaps/`, map('new')),
  'a large object': post(`${core}/configmaps`, large('new')),
  'a large object by update': put(`${core}/configmaps/old`, large('old')),
  'a large object by merge patch': patch('merge', `${core}/configmaps/old`, large('old')),
  'a large object by apply': patch('apply', `${core}/configmaps/new?fieldManager=m`, large('new')),
  'a large object in YAML': { ...post(`${core}/configmaps`, large('new')), type: 'application/yaml' },
  'a large custom resource': post(`${widgets}/v2/namespaces/default/widgets`, {
    ...widget('v2', { spec: { text: 'x'.repeat(300_000) } }),
    metadata: meta('new'),
  }),
  'a dry run that is asked for twice': post(`${core}/configmaps?dryRun=All&dryRun=All`, map('new')),
  'a change of nothing': patch('merge', `${core}/configmaps/old`, {}),
  'a change of owners': patch('merge', `${core}/configmaps/old`, { metadata: { ownerReferences: [] } }),
  'another method in a header': {
    ...post(`${core}/configmaps`, map('new')),
    headers: { 'x-http-method-override': 'GET', 'x-http-method': 'GET', 'x-method-override': 'GET' },
  },
  'fields that are checked by nobody': post(`${core}/configmaps?fieldValidation=Ignore`, { ...map('new'), x: 1 }),
  'the last finalizer of what is deleted': patch('merge', `${core}/configmaps/held`, held),
  'the last finalizer by update': put(`${core}/configmaps/held`, { metadata: meta('held') }),
  'delete of what is deleted': remove(`${core}/configmaps/held`, { gracePeriodSeconds: 0 }),
  'delete with its dependents': remove(`${core}/configmaps/old`, { propagationPolicy: 'Foreground' }),
  'dry run of a collection': remove(`${core}/configmaps?dryRun=All`),
  'dry run of a status': patch('merge', `${core}/pods/p/status?dryRun=All`, { status: { phase: 'Failed' } }),
  'status of a namespace': put('/api/v1/namespaces/other/status', { metadata: { name: 'other' }, status: {} }),
  'status of a node': patch('merge', '/api/v1/nodes/n/status', { status: { phase: 'Running' } }),
  'status of a definition': patch(
    'merge',
    '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com/status',
    { status: { storedVersions: ['v1'] } },
  ),
  'status of a custom resource in another version': patch(
    'apply',
    `${widgets}/v2/namespaces/default/widgets/w/status?fieldManager=m`,
    { ...widget('v2'), status: { a: 2 } },
  ),
  'scale of a custom resource in another version': put(`${widgets}/v2/namespaces/default/widgets/w/scale`, {
    ...{ apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: meta('w'), spec: { replicas: 7 } },
  }),
  'a service with an address': post(`${core}/services`, {
    ...{ metadata: meta('addressed'), spec: { type: 'NodePort', clusterIP: address, ports: [{ port: 80, nodePort }] } },
  }),
  'a secret': post(`${core}/secrets`, { metadata: meta('new'), stringData: { a: 'b' } }),
  'a review of access': post('/apis/authorization.k8s.io/v1/subjectaccessreviews', {
    spec: { user: 'u', nonResourceAttributes: { path: '/', verb: 'get' } },
  }),
  'a review of a token': post('/apis/authentication.k8s.io/v1/tokenreviews', { spec: { token: 't' } }),
  'a question who one is': post('/apis/authentication.k8s.io/v1/selfsubjectreviews', {}),
  'an event in its new group': post('/apis/events.k8s.io/v1/namespaces/default/events', {
    ...{ metadata: meta('e2'), eventTime: '2026-01-01T00:00:00.000000Z', reportingController: 'example.com/c' },
    ...{ reportingInstance: 'i', action: 'a', reason: 'r', type: 'Normal' },
  }),
  'ephemeral containers by update': put(`${core}/pods/p/ephemeralcontainers`, {
    ...{ metadata: meta('p'), spec: { ...podSpec, ephemeralContainers: [debug] } },
  }),
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
  'exec over a WebSocket': upgrade('websocket', `${core}/pods/p/exec?command=ls&stdout=true`),
  'exec over SPDY': upgrade('SPDY/3.1', `${core}/pods/p/exec?command=ls&stdout=true`),
  'port forward over a WebSocket': upgrade('websocket', `${core}/pods/p/portforward?ports=80`),
  'proxy to a service over a WebSocket': upgrade('websocket', `${core}/services/v/proxy/a`),
  'proxy to a service by DELETE': remove(`${core}/services/v/proxy/a`),
  'proxy to a node and a path': { method: 'POST', path: '/api/v1/nodes/n:10250/proxy/run/default/p/a' },
  'proxy to a pod': get(`${core}/pods/p/proxy/`),
  'proxy to a pod and a path': { method: 'PUT', path: `${core}/pods/p:80/proxy/a/b` },
  'proxy to a service': get(`${core}/services/v/proxy/`),
  'proxy to a node': get('/api/v1/nodes/n/proxy/pods'),
};

/** Reviews, which policies do not see. Source: kubernetes pkg/kubeapiserver/admission/exclusion. */
const reviews = ['a review of access', 'a review of a token', 'a question who one is'];
const unseen: Readonly<Record<string, readonly string[]>> = { policy: reviews };

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
    post(`${core}/configmaps`, { metadata: { ...meta('held'), finalizers: ['example.com/held'] } }),
    post('/apis/policy/v1/namespaces/default/poddisruptionbudgets', budget),
    post(`${core}/serviceaccounts`, { metadata: meta('s') }),
    post(`${core}/services`, { metadata: meta('v'), spec: { ports: [{ port: 80 }] } }),
    post(`${core}/pods`, { metadata: { ...meta('p'), labels }, spec: podSpec }),
    post(`${core}/pods`, { metadata: meta('free'), spec: { containers } }),
    post('/apis/apps/v1/namespaces/default/deployments', deployment),
  ];
  for (const one of made) expect([one.path, (await send(one)).code]).toEqual([one.path, 201]);
  const isAllowed = {
    observedGeneration: 1,
    disruptionsAllowed: 1,
    currentHealthy: 1,
    desiredHealthy: 0,
    expectedPods: 1,
  };
  const marks = [
    patch('merge', '/apis/policy/v1/namespaces/default/poddisruptionbudgets/b/status', { status: isAllowed }),
    patch('merge', `${core}/pods/p/status`, {
      status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
    }),
    remove(`${core}/configmaps/held`),
  ];
  for (const one of marks) expect([one.path, (await send(one)).code]).toEqual([one.path, 200]);
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

const send = (attempt: Attempt): Promise<Answer> => adminRequest(cluster, attempt);

/** Returns everything that the attempts are after, as it is stored. */
async function stored(): Promise<readonly string[]> {
  const lists = [
    ...['configmaps', 'pods', 'secrets', 'serviceaccounts', 'services', 'events'].map((name) => `${core}/${name}`),
    '/apis/policy/v1/namespaces/default/poddisruptionbudgets',
    '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
    '/api/v1/namespaces',
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
    expect(
      Object.keys(passed)
        .filter((what) => unseen[judge]?.includes(what) !== true)
        .map((what) => [what, passed[what]]),
    ).toEqual([]);
    const open = unseen[judge] ?? [];
    expect(Object.entries(passed).filter(([what]) => !open.includes(what))).toEqual([]);
    expect(Object.keys(passed)).toEqual(open);
    await lift?.();
    await cluster.settle();
    expect(await stored()).toEqual(before);
    // What refused writes had reserved is free again.
    const { code, text: said } = await send(attempts['a service with an address'] as Attempt);
    expect([code, said]).toEqual([201, expect.any(String)]);
  });
});
