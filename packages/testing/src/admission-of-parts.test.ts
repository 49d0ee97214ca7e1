// Tests what admission sees of writes through subresources and of objects without a store: in which form, in which order, and never for
// requests that the server refuses itself.
import { isStatusError, type KubernetesObject, type UnstructuredObject } from '@kapstan/api';
import type { AdmissionRequest } from '@kapstan/control-plane';
import { Deployment } from '@kapstan/kinds/apps/v1';
import { SelfSubjectReview } from '@kapstan/kinds/authentication.k8s.io/v1';
import { Binding, Namespace, Pod, ServiceAccount } from '@kapstan/kinds/core/v1';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type TestCluster, testCluster } from './test-cluster.ts';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const namespace = 'default';
const target = (name: string): { name: string; namespace: string } => ({ name, namespace });
const containers = [{ name: 'a', image: 'a' }];

interface Asked {
  readonly phase: 'admit' | 'validate';
  readonly request: AdmissionRequest;
}

let cluster: TestCluster;
let asked: Asked[];
/** Changes the object of each request. */
let change: (object: UnstructuredObject) => void;

beforeEach(async () => {
  cluster = await testCluster({ http: 'off', controlPlane: { admission: { disabled: ['ServiceAccount'] } } });
  const { client } = cluster;
  await client.create(Pod, { metadata: target('p'), spec: { containers } });
  await client.create(ServiceAccount, { metadata: target('s') });
  const template = { metadata: { labels: { app: 'd' } }, spec: { containers } };
  const spec = { selector: { matchLabels: { app: 'd' } }, template };
  await client.create(Deployment, { metadata: target('d'), spec });
  await cluster.settle();
  asked = [];
  change = () => undefined;
  const operations = ['CREATE', 'UPDATE', 'DELETE'] as const;
  cluster.admit('*', {
    operations,
    subresource: '*',
    mutate: (request) => {
      asked.push({ phase: 'admit', request: structuredClone(request) });
      if (request.object !== null) change(request.object);
    },
    validate: (request) => void asked.push({ phase: 'validate', request: request as AdmissionRequest }),
  });
});
afterEach(() => cluster.close());

const phases = (): readonly string[] => asked.map(({ phase }) => phase);
const validated = (): AdmissionRequest | undefined => asked.find(({ phase }) => phase === 'validate')?.request;
const admitted = (): AdmissionRequest | undefined => asked.find(({ phase }) => phase === 'admit')?.request;

async function answer(call: Promise<unknown>): Promise<string> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error === undefined) return 'done';
  return isStatusError(error) ? `${error.code} ${error.message}` : String(error);
}

const part = (resource: typeof Pod | typeof ServiceAccount, name: string, subresource: string) => {
  return (body: object): Promise<KubernetesObject> =>
    cluster.client.createSubresource(resource, { ...target(name), subresource }, { body: body as KubernetesObject });
};
const bind = (name: string, changes: object = {}): Promise<KubernetesObject> =>
  part(
    Pod,
    'p',
    'binding',
  )({ apiVersion: 'v1', kind: 'Binding', metadata: { name }, target: { name: 'n' }, ...changes });
const evict = (name: string, changes: object = {}): Promise<KubernetesObject> =>
  part(Pod, 'p', 'eviction')({ apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name }, ...changes });
const tokenFor = (account: string, changes: object = {}): Promise<KubernetesObject> =>
  part(ServiceAccount, account, 'token')({ apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', ...changes });

describe('validating admission is not asked about', () => {
  const wrong: readonly (readonly [string, () => Promise<unknown>, string])[] = [
    ['a binding of another name', () => bind('q'), '400 name in URL does not match name in Binding object'],
    ['a binding without a target', () => bind('p', { target: {} }), '500 target.name: Required value'],
    [
      'a binding without a target in the old form',
      () => cluster.client.create(Binding, { metadata: target('p') } as Binding),
      '500 target.name: Required value',
    ],
    ['an eviction of another name', () => evict('q'), '400 name in URL does not match name in Eviction object'],
    ['a token of a missing account', () => tokenFor('none', { spec: {} }), '404 serviceaccounts "none" not found'],
    [
      'a token of an account with another uid',
      () => tokenFor('s', { metadata: { uid: 'x' }, spec: {} }),
      '409 Operation cannot be fulfilled on TokenRequest.authentication.k8s.io "s": the UID in the token request (x) does not match',
    ],
    [
      'a token that would be too short',
      () => tokenFor('s', { spec: { expirationSeconds: 1 } }),
      '422 TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 1: may not specify a duration less than 10 minutes',
    ],
  ];
  it.each(wrong)('%s', async (_what, call, expected) => {
    expect(await answer(call())).toContain(expected);
    expect(phases()).toEqual(['admit']);
  });
});

it('a name that mutating admission gives a part is refused before validation', async () => {
  change = (object) => {
    object.metadata = { ...object.metadata, name: 'q' };
  };
  expect(await answer(evict('p'))).toBe('400 name in URL does not match name in Eviction object');
  expect(await answer(bind('p'))).toBe('400 name in URL does not match name in Binding object');
  expect(phases()).toEqual(['admit', 'admit']);
});

it('an eviction in an old version is seen in the new one', async () => {
  expect(await answer(evict('p', { apiVersion: 'policy/v1beta1' }))).toBe('done');
  expect(asked.map(({ request }) => request.object?.apiVersion)).toEqual(['policy/v1', 'policy/v1']);
});

it('a request for a token is seen with what will be signed', async () => {
  const { metadata: { uid } = {} } = await cluster.client.get(ServiceAccount, target('s'));
  await tokenFor('s', { spec: {}, status: { token: 'mine' } });
  expect(admitted()?.object).toMatchObject({
    spec: { audiences: null, boundObjectRef: null, expirationSeconds: 3600 },
  });
  expect(validated()?.object).toMatchObject({
    metadata: { name: 's', namespace, uid },
    spec: { audiences: [expect.any(String)], boundObjectRef: null, expirationSeconds: 3600 },
    status: { expirationTimestamp: null },
  });
  expect(JSON.stringify(validated()?.object)).not.toContain('mine');
});

it('a scale has all its members, and keeps its name', async () => {
  const scale = { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: target('d') };
  await cluster.client.update(Deployment, scale as never, { subresource: 'scale' });
  expect(admitted()?.object).toMatchObject({ spec: {}, status: { replicas: 0 } });
  change = (object) => {
    delete object.metadata;
  };
  const replicas = { type: 'merge', body: { spec: { replicas: 3 } } } as const;
  expect(await answer(cluster.client.patch(Deployment, target('d'), replicas, { subresource: 'scale' }))).toBe(
    '422 Scale.autoscaling "d" is invalid: [metadata.name: Required value: name or generateName is required, metadata.namespace: Required value]',
  );
});

it('names are those of the request, whatever mutating admission makes of them', async () => {
  await cluster.client.create(Pod, { metadata: target('q'), spec: { containers } });
  asked = [];
  change = (object) => {
    object.metadata = { ...object.metadata, name: 'q' };
  };
  await cluster.client.create(Binding, { metadata: target('p'), target: { name: 'n' } });
  expect(asked.map(({ request }) => request.name)).toEqual(['p', 'p']);
  asked = [];
  await cluster.client.create(SelfSubjectReview, {});
  expect(asked.map(({ request }) => request.name)).toEqual([undefined, 'q']);
});

it('a namespace that gets its name from the server lies in none yet', async () => {
  await cluster.client.create(Namespace, { metadata: { generateName: 'g-' } });
  expect(asked.map(({ request: { name, namespace } }) => [name, namespace])).toEqual([
    [undefined, undefined],
    [expect.stringMatching(/^g-/), undefined],
  ]);
});

it('a deletion shows what it requires of a namespace, and of a collection what was sent', async () => {
  await cluster.client.create(Namespace, { metadata: { name: 'n' } });
  const { metadata: { uid } = {} } = await cluster.client.get(Namespace, { name: 'n' });
  asked = [];
  await cluster.client.delete(Namespace, { name: 'n' });
  expect(validated()?.options).toEqual({
    kind: 'DeleteOptions',
    apiVersion: 'meta.k8s.io/v1',
    preconditions: { uid },
  });
  asked = [];
  await cluster.client.deleteCollection(Pod, { namespace, dryRun: true });
  expect(validated()?.options).toEqual({ kind: 'DeleteOptions', apiVersion: 'meta.k8s.io/v1', dryRun: ['All'] });
});

it('what the server writes itself is seen as the server, as it is by kube-apiserver', async () => {
  await cluster.client.create(Namespace, { metadata: { name: 'own' } });
  expect(admitted()?.userInfo).toEqual({
    username: 'system:apiserver',
    uid: expect.stringMatching(/^[0-9a-f-]{36}$/),
    groups: ['system:authenticated', 'system:masters'],
  });
});
