// Tests which answers of a mutating webhook count as changes, so that earlier webhooks are called again. Recorded from kube-apiserver,
// which compares Go's structs before it sets defaults.
import type { KubernetesObject, Resource } from '@kapstan/api';
import { MutatingWebhookConfiguration, type RuleWithOperations } from '@kapstan/kinds/admissionregistration.k8s.io/v1';
import { Deployment } from '@kapstan/kinds/apps/v1';
import { Pod } from '@kapstan/kinds/core/v1';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type TestCluster, testCluster } from './test-cluster.ts';
import { AdmissionWebhookServer, allowing, jsonPatch, reviewed } from './testing/admission-webhook-server.ts';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let hook: AdmissionWebhookServer;
let cluster: TestCluster;
beforeEach(async () => {
  hook = await AdmissionWebhookServer.start();
  cluster = await testCluster({ http: 'off', controlPlane: { admission: { disabled: ['ServiceAccount'] } } });
  const rules: RuleWithOperations[] = [
    { apiGroups: ['', 'apps'], apiVersions: ['v1'], operations: ['CREATE', 'UPDATE'], resources: ['*/*'] },
  ];
  await cluster.client.create(MutatingWebhookConfiguration, {
    metadata: { name: 'm' },
    webhooks: [
      hook.webhook({ name: 'again.example.com', rules, reinvocationPolicy: 'IfNeeded' }),
      hook.webhook({ name: 'patches.example.com', rules }),
    ],
  });
  await cluster.settle();
});
afterEach(async () => {
  await cluster.close();
  await hook.close();
});

const target = { name: 'x', namespace: 'default' };
const set = (path: string, value: unknown) => ({ op: 'add', path, value });

/** Returns the number of calls of the first webhook for a write that the second one answers with the patch. */
async function calls(patch: readonly unknown[], write: () => Promise<unknown>): Promise<number> {
  hook.answer = (request, response, path) =>
    path === 'patches.example.com' ? reviewed(request, response, jsonPatch(patch)) : allowing(request, response, path);
  hook.asked.length = 0;
  await write();
  hook.answer = allowing;
  return hook.asked.length - 1;
}

const containers = [{ name: 'c', image: 'i', resources: { limits: { cpu: '1' } } }];
const creates =
  <T extends KubernetesObject>(kind: Resource<T>, spec: object) =>
  () =>
    cluster.client.create(kind, { metadata: target, spec } as unknown as T, { dryRun: true });

/** Scales have no managed fields, so only real differences count. */
async function scaling(): Promise<() => Promise<unknown>> {
  const template = { metadata: { labels: { a: 'b' } }, spec: { containers } };
  await cluster.client.create(Deployment, {
    metadata: target,
    spec: { selector: { matchLabels: { a: 'b' } }, template },
  });
  const replicas = { type: 'merge', body: { spec: { replicas: 3 } } } as const;
  return () => cluster.client.patch(Deployment, target, replicas, { subresource: 'scale' });
}

describe('a patch of an object whose managed fields were set just now', () => {
  it.each([
    ['changes nothing', [{ op: 'replace', path: '/spec/containers/0/image', value: 'i' }]],
    ['writes an amount in another way', [set('/spec/containers/0/resources/limits/cpu', '1000m')]],
    ['removes a default', [{ op: 'remove', path: '/spec/restartPolicy' }]],
  ])('that %s is a change', async (_what, patch) => {
    expect(await calls(patch, creates(Pod, { containers }))).toBe(2);
  });

  it('without operations is none', async () => {
    expect(await calls([], creates(Pod, { containers }))).toBe(1);
  });
});

describe('a patch of an object without managed fields', () => {
  it.each([
    ['changes nothing', [set('/spec/replicas', 3)], 1],
    ['sets an empty map', [set('/metadata/labels', {})], 1],
    ['writes a time in another zone', [set('/metadata/creationTimestamp', '2000-01-01T01:00:00+01:00')], 1],
    ['adds an unknown field', [set('/spec/more', 1)], 1],
    ['changes the number', [set('/spec/replicas', 4)], 2],
  ] as const)('that %s is a change only if the values differ', async (_what, patch, expected) => {
    const scale = await scaling();
    const { metadata } = await cluster.client.get(Deployment, target);
    const at = metadata?.creationTimestamp ?? '';
    const moved = new Date(Date.parse(at) + 3_600_000).toISOString().replace(/\.\d+Z$/, '+01:00');
    const sent = patch.map((each) => (each.path === '/metadata/creationTimestamp' ? { ...each, value: moved } : each));
    expect(await calls(sent, scale)).toBe(expected);
  });
});

it('a patch that changes nothing of a stored object is no change', async () => {
  await cluster.client.create(Pod, { metadata: target, spec: { containers } });
  const nothing = { type: 'merge', body: {} } as const;
  const update = () => cluster.client.patch(Pod, target, nothing);
  expect(await calls([{ op: 'replace', path: '/spec/containers/0/image', value: 'i' }], update)).toBe(1);
  // The default is restored, but the object differed before.
  expect(await calls([{ op: 'remove', path: '/spec/restartPolicy' }], update)).toBe(2);
});
