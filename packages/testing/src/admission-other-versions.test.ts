// A judge that names one version of a kind refuses writes in every other version and group that reaches the same objects.
import { ValidatingWebhookConfiguration } from '@kapstan/kinds/admissionregistration.k8s.io/v1';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type TestCluster, testCluster } from './test-cluster.ts';
import { type Attempt, adminRequest, patchTypes } from './testing/admin-request.ts';
import { AdmissionWebhookServer, reviewed } from './testing/admission-webhook-server.ts';
import { validate } from './testing/policies.ts';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let cluster: TestCluster;
let hook: AdmissionWebhookServer;
beforeEach(async () => {
  hook = await AdmissionWebhookServer.start();
  hook.answer = (asked, response) => reviewed(asked, response, { allowed: false, status: { message: 'no entry' } });
  cluster = await testCluster();
  await adminRequest(cluster, {
    ...{ method: 'POST', path: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', body: definition },
  });
  await expect
    .poll(() => adminRequest(cluster, { method: 'POST', path: `${widgets('v1')}`, body: widget('v1', 'w') }), {
      timeout: 20_000,
    })
    .toMatchObject({ code: 201 });
});
afterEach(async () => {
  await cluster.close();
  await hook.close();
});

const widgets = (version: string): string => `/apis/example.com/${version}/namespaces/default/widgets`;
const widget = (version: string, name: string): object => ({
  ...{ apiVersion: `example.com/${version}`, kind: 'Widget', metadata: { name }, spec: { replicas: 1 } },
});
const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'widgets', kind: 'Widget' },
    versions: ['v1', 'v2'].map((name) => ({
      ...{ name, schema, served: true, storage: name === 'v1' },
      subresources: {
        status: {},
        scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' },
      },
    })),
  },
};
const meta = (name: string): object => ({ name, namespace: 'default' });
const merge = (path: string, body: object): Attempt => ({ method: 'PATCH', path, body, type: patchTypes.merge });

interface Named {
  readonly group: string;
  readonly version: string;
  /** With "/status" for that part of it. */
  readonly resource: string;
}

/** What the judge names, and a write by another name. */
const cases: Readonly<Record<string, readonly [Named, Attempt]>> = {
  'an event in the old group': [
    { group: 'events.k8s.io', version: 'v1', resource: 'events' },
    {
      ...{ method: 'POST', path: '/api/v1/namespaces/default/events' },
      body: { metadata: meta('e'), involvedObject: { namespace: 'default', name: 'p' }, reason: 'r', type: 'Normal' },
    },
  ],
  'an event in the new group': [
    { group: '', version: 'v1', resource: 'events' },
    {
      ...{ method: 'POST', path: '/apis/events.k8s.io/v1/namespaces/default/events' },
      body: {
        ...{ metadata: meta('e'), eventTime: '2026-01-01T00:00:00.000000Z', reportingController: 'example.com/c' },
        ...{ reportingInstance: 'i', action: 'a', reason: 'r', type: 'Normal' },
      },
    },
  ],
  'an autoscaler in the old version': [
    { group: 'autoscaling', version: 'v2', resource: 'horizontalpodautoscalers' },
    {
      ...{ method: 'POST', path: '/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers' },
      body: {
        metadata: meta('h'),
        spec: { maxReplicas: 2, scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' } },
      },
    },
  ],
  'a custom resource': [
    { group: 'example.com', version: 'v1', resource: 'widgets' },
    merge(`${widgets('v2')}/w`, { spec: { replicas: 2 } }),
  ],
  'a custom resource by apply': [
    { group: 'example.com', version: 'v1', resource: 'widgets' },
    { method: 'PATCH', path: `${widgets('v2')}/n?fieldManager=m`, body: widget('v2', 'n'), type: patchTypes.apply },
  ],
  'the status of a custom resource': [
    { group: 'example.com', version: 'v2', resource: 'widgets/status' },
    merge(`${widgets('v1')}/w/status`, { status: { a: 1 } }),
  ],
  'the scale of a custom resource': [
    { group: 'example.com', version: 'v2', resource: 'widgets/scale' },
    merge(`${widgets('v1')}/w/scale`, { spec: { replicas: 3 } }),
  ],
  'a deleted custom resource': [
    { group: 'example.com', version: 'v1', resource: 'widgets' },
    { method: 'DELETE', path: `${widgets('v2')}/w` },
  ],
  'deleted custom resources': [
    { group: 'example.com', version: 'v1', resource: 'widgets' },
    { method: 'DELETE', path: widgets('v2') },
  ],
};

const kinds: Readonly<Record<string, string>> = {
  events: 'Event',
  horizontalpodautoscalers: 'HorizontalPodAutoscaler',
  widgets: 'Widget',
};

const operations = ['CREATE', 'UPDATE', 'DELETE'] as const;
const rule = ({ group, version, resource }: Named) => ({
  ...{ apiGroups: [group], apiVersions: [version], operations: [...operations], resources: [resource] },
});

const judges: Readonly<Record<string, (named: Named) => Promise<unknown>>> = {
  webhook: async (named) => {
    await cluster.client.create(ValidatingWebhookConfiguration, hook.validating('one', { rules: [rule(named)] }));
    await cluster.settle();
  },
  policy: (named) =>
    validate(cluster, {
      spec: {
        matchConstraints: { resourceRules: [rule(named)] },
        validations: [{ expression: 'false', message: 'no entry' }],
      },
    }),
  function: async ({ group, version, resource: path }) => {
    const [plural = '', subresource] = path.split('/');
    const kind = kinds[plural] ?? '';
    const resource = { group, version, kind, plural, scope: 'Namespaced' } as const;
    const validate = () => ({ allowed: false, status: { message: 'no entry' } });
    cluster.admit(resource, { validate, operations, subresource });
  },
};

describe.each(Object.keys(judges))('a %s that names one version', (judge) => {
  it.each(Object.keys(cases))('is not passed by the other: %s', async (what) => {
    const [named, attempt] = cases[what] as (typeof cases)[string];
    await judges[judge]?.(named);
    const { code, text } = await adminRequest(cluster, attempt);
    expect([code >= 400, text]).toEqual([true, expect.stringContaining('no entry')]);
  });
});
