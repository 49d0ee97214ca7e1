// Tests the fate of metadata that mutating admission or the writer sets although the server controls it, and the requests to which policies
// do not apply. Recorded from kube-apiserver.
import { isStatusError, type UnstructuredObject } from '@kapstan/api';
import type { AdmissionRequest } from '@kapstan/control-plane';
import {
  MutatingAdmissionPolicy,
  MutatingAdmissionPolicyBinding,
  MutatingWebhookConfiguration,
  ValidatingAdmissionPolicy,
  ValidatingWebhookConfiguration,
} from '@kapstan/kinds/admissionregistration.k8s.io/v1';
import { SelfSubjectReview, TokenReview } from '@kapstan/kinds/authentication.k8s.io/v1';
import {
  LocalSubjectAccessReview,
  SelfSubjectAccessReview,
  SelfSubjectRulesReview,
  SubjectAccessReview,
} from '@kapstan/kinds/authorization.k8s.io/v1';
import { Lease } from '@kapstan/kinds/coordination.k8s.io/v1';
import { ConfigMap } from '@kapstan/kinds/core/v1';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type TestCluster, testCluster } from './test-cluster.ts';
import { about, mutate, patches, validate } from './testing/policies.ts';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let cluster: TestCluster;
beforeEach(async () => {
  cluster = await testCluster({ http: 'off', controlPlane: { admission: { disabled: ['ServiceAccount'] } } });
});
afterEach(() => cluster.close());

const namespace = 'default';
const target = (name: string): { name: string; namespace: string } => ({ name, namespace });

async function answer(call: Promise<unknown>): Promise<string> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error === undefined) return 'done';
  return isStatusError(error) ? `${error.code} ${error.message}` : String(error);
}

describe('metadata', () => {
  let validated: AdmissionRequest[];
  let change: (object: UnstructuredObject) => void;
  beforeEach(() => {
    validated = [];
    change = () => undefined;
    cluster.admit('*', {
      mutate: ({ object }) => {
        if (object !== null) change(object);
      },
      validate: (request) => void validated.push(request as AdmissionRequest),
    });
  });
  const setting = (metadata: object): void => {
    change = (object) => {
      object.metadata = { ...object.metadata, ...metadata };
    };
  };
  const past = '2001-01-01T00:00:00Z';

  it('of a new object is what mutating admission makes of it, but for uid and time', async () => {
    setting({
      deletionTimestamp: past,
      deletionGracePeriodSeconds: 5,
      uid: 'x',
      creationTimestamp: past,
      selfLink: '/x',
    });
    const { metadata } = await cluster.client.create(ConfigMap, { metadata: target('a') });
    expect(metadata).toMatchObject({ deletionTimestamp: past, deletionGracePeriodSeconds: 5 });
    expect([metadata?.uid, metadata?.creationTimestamp]).not.toContain('x');
    expect(metadata).not.toHaveProperty('selfLink');
    expect(metadata?.creationTimestamp).not.toBe(past);
  });

  it('that the writer of a new object sends is dropped, except in an update that creates', async () => {
    const metadata = { deletionTimestamp: past, selfLink: '/x' };
    const created = await cluster.client.create(ConfigMap, { metadata: { ...target('a'), ...metadata } });
    expect(created.metadata).not.toHaveProperty('deletionTimestamp');
    const updated = await cluster.client.update(Lease, {
      metadata: { ...target('l'), ...metadata, resourceVersion: '5' },
    });
    expect(updated.metadata).toMatchObject({ deletionTimestamp: past });
    expect(updated.metadata).not.toHaveProperty('selfLink');
    expect(updated.metadata?.resourceVersion).not.toBe('5');
    // Validation sees the object as it was sent.
    expect(validated.at(-1)?.object?.metadata).toMatchObject({ resourceVersion: '5', selfLink: '/x' });
  });

  it('is seen by the validation of an update as it was changed, and is not kept', async () => {
    await cluster.client.create(ConfigMap, { metadata: target('a') });
    setting({ selfLink: '/x', generation: 7, creationTimestamp: past });
    const { metadata } = await cluster.client.patch(ConfigMap, target('a'), {
      type: 'merge',
      body: { data: { k: 'v' } },
    });
    expect(validated.at(-1)?.object?.metadata).toMatchObject({ selfLink: '/x' });
    expect(metadata).not.toHaveProperty('selfLink');
    expect(metadata).not.toHaveProperty('generation');
    expect(metadata?.creationTimestamp).not.toBe(past);
  });

  it('without a name is refused after mutating admission, though the path names the object', async () => {
    await cluster.client.create(ConfigMap, { metadata: target('a') });
    change = (object) => {
      delete object.metadata;
    };
    const patch = cluster.client.patch(ConfigMap, target('a'), { type: 'merge', body: { data: { k: 'v' } } });
    expect(await answer(patch)).toBe(
      '422 ConfigMap "" is invalid: [metadata.name: Required value: name or generateName is required, metadata.name: Invalid value: "": field is immutable]',
    );
  });
});

describe('a policy about everything', () => {
  const user = 'u';
  const asked = { namespace, verb: 'get', resource: 'pods' };
  const reviews: readonly (readonly [string, () => Promise<unknown>])[] = [
    ['TokenReview', () => cluster.client.create(TokenReview, { spec: { token: 't' } })],
    ['SelfSubjectReview', () => cluster.client.create(SelfSubjectReview, {})],
    [
      'SubjectAccessReview',
      () => cluster.client.create(SubjectAccessReview, { spec: { user, resourceAttributes: asked } }),
    ],
    [
      'SelfSubjectAccessReview',
      () => cluster.client.create(SelfSubjectAccessReview, { spec: { resourceAttributes: asked } }),
    ],
    ['SelfSubjectRulesReview', () => cluster.client.create(SelfSubjectRulesReview, { spec: { namespace } })],
    [
      'LocalSubjectAccessReview',
      () =>
        cluster.client.create(LocalSubjectAccessReview, {
          metadata: { namespace },
          spec: { user, resourceAttributes: asked },
        }),
    ],
  ];
  const all = about(['*/*'], '*');
  const writes = about(['*/*'], 'CREATE', 'UPDATE');

  it.each(reviews)('is not asked about %s, so that nobody is locked out', async (_kind, create) => {
    await validate(cluster, { spec: { matchConstraints: all, validations: [{ expression: 'false' }] } });
    expect(await answer(create())).toBe('done');
  });

  it.each(reviews)('that mutates is not asked about %s either', async (_kind, create) => {
    await mutate(cluster, {
      spec: { matchConstraints: writes, mutations: [patches("[JSONPatch{op: 'remove', path: '/none'}]")] },
    });
    expect(await answer(create())).toBe('done');
  });

  it('is asked about configurations of webhooks, and not about policies', async () => {
    await validate(cluster, {
      spec: { matchConstraints: all, validations: [{ expression: 'false', message: 'no' }] },
      binding: { validationActions: ['Deny'] },
    });
    const { client } = cluster;
    const metadata = { name: 'x' };
    for (const kind of [ValidatingWebhookConfiguration, MutatingWebhookConfiguration]) {
      expect(await answer(client.create(kind, { metadata }))).toContain(
        "ValidatingAdmissionPolicy 'p' with binding 'p' denied",
      );
    }
    const constraints = about(['configmaps'], 'CREATE');
    const validations = [{ expression: 'true' }];
    await client.create(ValidatingAdmissionPolicy, { metadata, spec: { matchConstraints: constraints, validations } });
    await client.create(MutatingAdmissionPolicy, {
      metadata,
      spec: {
        matchConstraints: constraints,
        reinvocationPolicy: 'Never',
        mutations: [patches("[JSONPatch{op: 'remove', path: '/none'}]")],
      },
    });
    await client.create(MutatingAdmissionPolicyBinding, { metadata, spec: { policyName: 'x' } });
  });
});

it('options that only the server has do not keep a deletion from admission', async () => {
  await cluster.client.create(ConfigMap, { metadata: target('a') });
  cluster.admit(ConfigMap, { operations: ['DELETE'], validate: () => ({ allowed: false }) });
  const sneaky = cluster.client.delete(ConfigMap, target('a'), { isAdmitted: true } as object);
  await expect(sneaky).rejects.toThrow(TypeError);
  expect(await answer(cluster.client.delete(ConfigMap, target('a')))).toContain('denied the request');
});
