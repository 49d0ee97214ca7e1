// Tests admission webhooks over HTTPS in a whole server: every way of writing passes through them, and a start bypasses nothing.
import { isForbidden, isNotFound, isStatusError, type KubernetesObject } from '@kapstan/api';
import {
  MutatingWebhookConfiguration,
  type RuleWithOperations,
  ValidatingWebhookConfiguration,
} from '@kapstan/kinds/admissionregistration.k8s.io/v1';
import { Deployment } from '@kapstan/kinds/apps/v1';
import { HorizontalPodAutoscaler } from '@kapstan/kinds/autoscaling/v2';
import { Lease } from '@kapstan/kinds/coordination.k8s.io/v1';
import { ConfigMap, Namespace, Pod, ServiceAccount } from '@kapstan/kinds/core/v1';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type TestCluster, testCluster } from './test-cluster.ts';
import { AdmissionWebhookServer, allowing, jsonPatch, reviewed } from './testing/admission-webhook-server.ts';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const namespace = 'default';
const target = (name: string): { name: string; namespace: string } => ({ name, namespace });
const map = (name: string, changes: object = {}): ConfigMap => ({ metadata: { ...target(name), ...changes } });
const everything: RuleWithOperations = { apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*/*'] };
const own = { matchLabels: { 'kubernetes.io/metadata.name': namespace } };

let hook: AdmissionWebhookServer;
let cluster: TestCluster;

beforeEach(async () => {
  hook = await AdmissionWebhookServer.start();
  cluster = await testCluster({ controlPlane: { admission: { disabled: ['ServiceAccount'] } } });
});
afterEach(async () => {
  await cluster.close();
  await hook.close();
});

async function refusal(call: Promise<unknown>): Promise<string> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!isStatusError(error)) throw new Error(`no StatusError: ${String(error)}`);
  return `${error.code} ${error.message}`;
}

/** Installs a configuration and returns when admission follows it. */
async function install(configuration: KubernetesObject, kind = ValidatingWebhookConfiguration): Promise<void> {
  await cluster.client.create(kind, configuration as never);
  await cluster.settle();
  hook.asked.length = 0;
}

const denying = (text: string): AdmissionWebhookServer['answer'] => {
  return (request, response) => reviewed(request, response, { allowed: false, status: { message: text } });
};

describe('a validating webhook for everything', () => {
  const rules = [everything];
  beforeEach(() => install(hook.validating('all', { rules, namespaceSelector: own })));

  it('is asked about every write in process, whatever way it takes', async () => {
    const { client } = cluster;
    await client.create(ConfigMap, map('a'));
    await client.apply(ConfigMap, map('b'), { fieldManager: 'm' });
    await client.update(ConfigMap, { ...map('a'), data: { k: 'v' } });
    await client.patch(ConfigMap, target('a'), { type: 'merge', body: { data: { k: 'w' } } });
    await client.create(ConfigMap, map('c'), { dryRun: true });
    await client.delete(ConfigMap, target('b'), { dryRun: true });
    await client.delete(ConfigMap, target('b'));
    await client.update(Lease, { metadata: target('l') });
    expect(hook.questions()).toEqual([
      'CREATE configmaps a',
      'CREATE configmaps b',
      'UPDATE configmaps a',
      'UPDATE configmaps a',
      'CREATE configmaps c (dry run)',
      'DELETE configmaps b (dry run)',
      'DELETE configmaps b',
      'CREATE leases l',
    ]);
  });

  it('is asked for each object of a collection that is deleted, without its name', async () => {
    for (const name of ['a', 'b']) await cluster.client.create(ConfigMap, map(name, { labels: { set: 'x' } }));
    hook.asked.length = 0;
    await cluster.client.deleteCollection(ConfigMap, { namespace, labelSelector: 'set=x' });
    expect(hook.asked.map(({ operation, name, oldObject }) => [operation, name, oldObject?.metadata?.name])).toEqual([
      ['DELETE', undefined, 'a'],
      ['DELETE', undefined, 'b'],
    ]);
    hook.answer = denying('stays');
    await cluster.client.delete(ValidatingWebhookConfiguration, { name: 'all' });
    await cluster.settle();
    await cluster.client.create(ConfigMap, map('c', { labels: { set: 'x' } }));
    await install(hook.validating('again', { rules, namespaceSelector: own }));
    const deletion = cluster.client.deleteCollection(ConfigMap, { namespace, labelSelector: 'set=x' });
    expect(await refusal(deletion)).toBe('400 admission webhook "again.example.com" denied the request: stays');
    expect(await cluster.client.get(ConfigMap, target('c'))).toBeDefined();
  });

  it('is asked about subresources with their own kinds, once each', async () => {
    const { client } = cluster;
    const template = { metadata: { labels: { app: 'd' } }, spec: { containers: [{ name: 'a', image: 'a' }] } };
    const spec = { selector: { matchLabels: { app: 'd' } }, template };
    await client.create(Deployment, { metadata: target('d'), spec });
    await client.create(Pod, { metadata: target('p'), spec: template.spec } as never);
    hook.asked.length = 0;
    const replicas = { type: 'merge', body: { spec: { replicas: 3 } } } as const;
    await client.patch(Deployment, target('d'), replicas, { subresource: 'scale' });
    const status = { type: 'merge', body: { status: { replicas: 1 } } } as const;
    await client.patch(Deployment, target('d'), status, { subresource: 'status' });
    const parts = hook.asked.map(({ kind, object, oldObject }) => [kind.kind, object?.kind, oldObject?.kind]);
    expect(parts).toEqual([
      ['Scale', 'Scale', 'Scale'],
      ['Deployment', 'Deployment', 'Deployment'],
    ]);
    expect(hook.questions()).toEqual(['UPDATE deployments/scale d', 'UPDATE deployments/status d']);
    const binding = { apiVersion: 'v1', kind: 'Binding', metadata: { name: 'p' }, target: { kind: 'Node', name: 'n' } };
    await client.createSubresource(Pod, { ...target('p'), subresource: 'binding' }, { body: binding as never });
    const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'p' } };
    await client.createSubresource(Pod, { ...target('p'), subresource: 'eviction' }, { body: eviction });
    await client.create(ServiceAccount, { metadata: target('s') });
    const token = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { audiences: ['a'] } };
    await client.createSubresource(ServiceAccount, { ...target('s'), subresource: 'token' }, { body: token as never });
    expect(hook.questions()).toEqual([
      'CREATE pods/binding p',
      'CREATE pods/eviction p',
      'CREATE serviceaccounts s',
      'CREATE serviceaccounts/token s',
    ]);
  });

  it('keeps a pod from being evicted', async () => {
    const { client } = cluster;
    hook.answer = allowing;
    await client.create(Pod, { metadata: target('p'), spec: { containers: [{ name: 'a', image: 'a' }] } });
    hook.answer = denying('no');
    const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'p' } };
    const evicting = client.createSubresource(Pod, { ...target('p'), subresource: 'eviction' }, { body: eviction });
    expect(await refusal(evicting)).toContain('denied the request: no');
    expect(await client.get(Pod, target('p'))).toBeDefined();
  });

  it('is not asked about configurations, so that a bad one can be taken away', async () => {
    await cluster.client.create(ValidatingWebhookConfiguration, hook.validating('cluster', { rules }));
    await cluster.settle();
    hook.answer = denying('no');
    await cluster.client.delete(ValidatingWebhookConfiguration, { name: 'cluster' });
    await cluster.client.delete(ValidatingWebhookConfiguration, { name: 'all' });
    expect(hook.questions()).toEqual([]);
  });

  it('is in force for the first write after a start', async () => {
    hook.answer = denying('still here');
    await cluster.stop();
    await cluster.start();
    expect(await refusal(cluster.client.create(ConfigMap, map('a')))).toContain('denied the request: still here');
  });
});

describe('a failing webhook for everything', () => {
  it('keeps no server from starting, and can be taken away then', async () => {
    await install(hook.validating('all', { rules: [everything] }));
    hook.answer = (_request, response) => void response.destroy();
    await cluster.stop();
    await cluster.start();
    expect(await refusal(cluster.client.create(ConfigMap, map('a')))).toMatch(
      /^500 Internal error occurred: failed calling/,
    );
    await cluster.client.delete(ValidatingWebhookConfiguration, { name: 'all' });
    await cluster.settle();
    await cluster.client.create(ConfigMap, map('a'));
  });
});

describe('other versions of a kind', () => {
  const hpa = {
    metadata: target('h'),
    spec: { maxReplicas: 2, scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' } },
  };
  const resources = ['horizontalpodautoscalers'];
  const rules: RuleWithOperations[] = [
    { apiGroups: ['autoscaling'], apiVersions: ['v1'], operations: ['CREATE'], resources },
  ];

  it('are converted for a webhook, there and back', async () => {
    await install(hook.mutating('hpa', { rules, matchPolicy: 'Equivalent' }), MutatingWebhookConfiguration as never);
    hook.answer = (request, response) => {
      const cpu = { op: 'add', path: '/spec/targetCPUUtilizationPercentage', value: 77 };
      reviewed(request, response, jsonPatch([cpu]));
    };
    const made = await cluster.client.create(HorizontalPodAutoscaler, hpa);
    expect(hook.asked[0]).toMatchObject({
      kind: { version: 'v1' },
      requestKind: { version: 'v2' },
      object: { apiVersion: 'autoscaling/v1' },
    });
    expect(made.apiVersion).toBe('autoscaling/v2');
    expect(made.spec?.metrics?.[0]?.resource?.target.averageUtilization).toBe(77);
  });

  it('are passed over by a webhook that wants its own exactly', async () => {
    await install(hook.validating('hpa', { rules, matchPolicy: 'Exact' }));
    await cluster.client.create(HorizontalPodAutoscaler, hpa);
    expect(hook.asked).toEqual([]);
  });
});

describe('a mutating webhook', () => {
  it('is called again when a later one changed the object, and others are not', async () => {
    const order: string[] = [];
    hook.answer = (request, response, path) => {
      order.push(path);
      const value = { ...request.object?.metadata?.labels, [path.slice(0, 1)]: String(order.length) };
      const isSecond = path.startsWith('a') && value.b !== undefined;
      reviewed(request, response, isSecond ? undefined : jsonPatch([{ op: 'add', path: '/metadata/labels', value }]));
    };
    const first = hook.webhook({ name: 'a.example.com', reinvocationPolicy: 'IfNeeded' });
    const second = hook.webhook({ name: 'b.example.com' });
    await install(
      { metadata: { name: 'm' }, webhooks: [first, second] } as never,
      MutatingWebhookConfiguration as never,
    );
    const { metadata } = await cluster.client.create(ConfigMap, map('x'));
    expect(metadata?.labels).toEqual({ a: '1', b: '2' });
    expect(order).toEqual(['a.example.com', 'b.example.com', 'a.example.com']);
  });

  it('owns nothing, and its members are of the kind', async () => {
    await install(hook.mutating('m'), MutatingWebhookConfiguration as never);
    hook.answer = (request, response) =>
      reviewed(
        request,
        response,
        jsonPatch([
          { op: 'add', path: '/nonsense', value: 1 },
          { op: 'add', path: '/data', value: { k: 'v' } },
        ]),
      );
    const made = await cluster.client.create(ConfigMap, map('x'), { fieldManager: 'me' });
    expect(made).toMatchObject({ data: { k: 'v' } });
    expect(made).not.toHaveProperty('nonsense');
    expect(JSON.stringify(made.metadata?.managedFields ?? [])).not.toContain('f:data');
  });

  it('cannot change what is deleted', async () => {
    await cluster.client.create(ConfigMap, map('x'));
    const rules: RuleWithOperations[] = [
      { apiGroups: [''], apiVersions: ['v1'], operations: ['DELETE'], resources: ['configmaps'] },
    ];
    await install(hook.mutating('m', { rules }), MutatingWebhookConfiguration as never);
    hook.answer = (request, response) => reviewed(request, response, jsonPatch([{ op: 'remove', path: '/data' }]));
    expect(await refusal(cluster.client.delete(ConfigMap, target('x')))).toBe(
      '500 Internal error occurred: admission webhook "m.example.com" attempted to modify the object, which is not supported for this operation',
    );
  });
});

describe('selection', () => {
  it('by labels of the namespace looks at the newest state, also of a namespace that is written', async () => {
    const rules: RuleWithOperations[] = [
      { apiGroups: [''], apiVersions: ['v1'], operations: ['*'], resources: ['configmaps', 'namespaces'] },
    ];
    await install(hook.validating('n', { rules, namespaceSelector: { matchLabels: { team: 'a' } } }));
    await cluster.client.create(Namespace, { metadata: { name: 't', labels: { team: 'a' } } });
    await cluster.client.create(ConfigMap, { metadata: { name: 'x', namespace: 't' } });
    await cluster.client.create(ConfigMap, map('x'));
    expect(hook.questions()).toEqual(['CREATE namespaces t', 'CREATE configmaps x']);
  });

  it('by conditions asks the authorizer about the user', async () => {
    const expression = "!authorizer.group('').resource('configmaps').namespace('default').check('delete').allowed()";
    await install(hook.validating('c', { matchConditions: [{ name: 'no-delete', expression }] }));
    await cluster.client.create(ConfigMap, map('x'));
    expect(hook.asked).toEqual([]);
    await cluster.client.delete(ValidatingWebhookConfiguration, { name: 'c' });
    await cluster.settle();
    const failing = [{ name: 'fails', expression: 'object.data.missing == "x"' }];
    await install(hook.validating('f', { matchConditions: failing }));
    const create = cluster.client.create(ConfigMap, map('y'));
    await expect(create).rejects.toSatisfy(isForbidden);
    await install(hook.validating('g', { matchConditions: failing, failurePolicy: 'Ignore' }));
    await cluster.client.delete(ValidatingWebhookConfiguration, { name: 'f' });
    await cluster.settle();
    await cluster.client.create(ConfigMap, map('y'));
    expect(hook.asked).toEqual([]);
  });

  it('answers 404 for a namespace that is not there', async () => {
    await install(hook.validating('n', { namespaceSelector: { matchLabels: { team: 'a' } } }));
    const create = cluster.client.create(ConfigMap, { metadata: { name: 'x', namespace: 'none' } });
    await expect(create).rejects.toSatisfy(isNotFound);
  });
});

it('names what calls it cost in /metrics, under the names of kube-apiserver', async () => {
  await install(hook.validating('v'));
  await cluster.client.create(ConfigMap, map('a'));
  hook.answer = denying('no');
  await refusal(cluster.client.create(ConfigMap, map('b')));
  hook.answer = (_request, response) => void response.destroy();
  await refusal(cluster.client.create(ConfigMap, map('c')));
  const client = await cluster.connect();
  const { body: text } = await client.raw({ path: '/metrics' });
  const of = 'name="v.example.com",type="validating",operation="CREATE"';
  expect(text).toContain(`apiserver_admission_webhook_request_total{${of},code="200",rejected="false"} 1`);
  expect(text).toContain(`apiserver_admission_webhook_request_total{${of},code="400",rejected="true"} 1`);
  expect(text).toContain(
    `apiserver_admission_webhook_rejection_count{${of},error_type="calling_webhook_error",rejection_code="503"} 1`,
  );
  expect(text).toContain(
    `apiserver_admission_webhook_rejection_count{${of},error_type="no_error",rejection_code="400"} 1`,
  );
  expect(text).toContain('apiserver_admission_webhook_admission_duration_seconds_count');
});
