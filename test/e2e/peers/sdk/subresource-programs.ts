// Programs about subresources: status, scale, eviction, binding, token.
import { isConflict, isForbidden, isNotFound, isTooManyRequests } from '@kapstan/api';
import { bind, createToken, evict, getScale, updateScale } from '@kapstan/client';
import { Deployment } from '@kapstan/kinds/apps/v1';
import { ConfigMap, Pod, ServiceAccount } from '@kapstan/kinds/core/v1';
import { PodDisruptionBudget } from '@kapstan/kinds/policy/v1';
import { expect } from 'vitest';
import { deployment, failure } from './client-programs.ts';
import type { Programs } from './scene.ts';

const pod = (namespace: string, name: string): Pod => ({
  metadata: { namespace, name, labels: { app: 'x' } },
  spec: { containers: [{ name: 'c', image: 'i' }] },
});

export const subresourcePrograms: Programs = {
  'writes spec and status apart': async ({ client, namespace }) => {
    const at = { namespace, name: 'web' };
    const made = await client.create(Deployment, { ...deployment(at), status: { replicas: 9 } } as Deployment);
    expect(made.status).toEqual({});
    const changed = { ...made, spec: { ...made.spec, replicas: 4 }, status: { replicas: 3 } } as Deployment;
    const state = await client.update(Deployment, changed, { subresource: 'status' });
    expect([state.spec?.replicas, state.status, state.metadata?.generation]).toEqual([1, { replicas: 3 }, 1]);
    const body = { spec: { replicas: 7 }, status: { replicas: 8 } };
    const wish = await client.mergePatch(Deployment, at, body);
    expect([wish.spec?.replicas, wish.status, wish.metadata?.generation]).toEqual([7, { replicas: 3 }, 2]);
    expect((await client.get(Deployment, at, { subresource: 'status' })).status).toEqual({ replicas: 3 });
  },

  'reads and writes a scale, with conflicts': async ({ client, namespace }) => {
    const at = { namespace, name: 'web' };
    await client.create(Deployment, deployment(at));
    const scale = await getScale(client, Deployment, at);
    expect(scale).toMatchObject({
      kind: 'Scale',
      apiVersion: 'autoscaling/v1',
      spec: { replicas: 1 },
      status: { replicas: 0, selector: 'app=web' },
    });
    const wish = { ...scale, spec: { replicas: 3 } };
    expect((await updateScale(client, Deployment, { scale: wish })).spec).toEqual({ replicas: 3 });
    expect((await client.get(Deployment, at)).spec?.replicas).toBe(3);
    expect(isConflict(await failure(updateScale(client, Deployment, { scale: wish })))).toBe(true);
    await client.create(ConfigMap, { metadata: at });
    const none = await failure(getScale(client, ConfigMap, at));
    expect([none.code, none.message]).toEqual([404, 'the server could not find the requested resource']);
  },

  'evicts pods as a disruption budget allows': async (scene) => {
    const { client, namespace } = scene;
    for (const name of ['a', 'b', 'c']) await client.create(Pod, pod(namespace, name));
    await evict(client, { namespace, name: 'a' });
    expect(isNotFound(await failure(client.get(Pod, { namespace, name: 'a' })))).toBe(true);
    // A budget does not protect a pending pod.
    const running = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
    for (const name of ['b', 'c'])
      await client.mergePatch(Pod, { namespace, name }, { status: running }, { subresource: 'status' });
    // The budget asks clients to wait; a client with retries would obey.
    const impatient = scene.connect({ maxRetries: 0 });
    const at = { namespace, name: 'budget' };
    const budget = { metadata: at, spec: { minAvailable: 1, selector: { matchLabels: { app: 'x' } } } };
    const { metadata } = await client.create(PodDisruptionBudget, budget);
    const early = await failure(evict(impatient, { namespace, name: 'b' }));
    expect([isTooManyRequests(early), early.message]).toEqual([
      true,
      "Cannot evict pod as it would violate the pod's disruption budget.",
    ]);
    expect(early.details?.causes).toEqual([
      { reason: 'DisruptionBudget', message: 'The disruption budget budget is still being processed by the server.' },
    ]);
    const counts = { currentHealthy: 2, desiredHealthy: 1, expectedPods: 2, disruptionsAllowed: 1 };
    const status = { ...counts, observedGeneration: metadata?.generation };
    await client.mergePatch(PodDisruptionBudget, at, { status }, { subresource: 'status' });
    await evict(impatient, { namespace, name: 'b' });
    const late = await failure(evict(impatient, { namespace, name: 'c' }));
    expect(late.details?.causes?.[0]?.message).toBe(
      'The disruption budget budget does not allow evicting pods currently',
    );
    const after = await client.get(PodDisruptionBudget, at);
    expect([after.status?.disruptionsAllowed, Object.keys(after.status?.disruptedPods ?? {})]).toEqual([0, ['b']]);
    expect(after.status?.conditions).toMatchObject([
      { type: 'DisruptionAllowed', status: 'False', reason: 'InsufficientPods', message: '', observedGeneration: 1 },
    ]);
  },

  'binds a pod to a node, once': async ({ client, namespace }) => {
    const at = { namespace, name: 'a' };
    await client.create(Pod, pod(namespace, 'a'));
    await bind(client, at, { node: 'n1' });
    const bound = await client.get(Pod, at);
    expect(bound.spec?.nodeName).toBe('n1');
    expect(bound.status?.conditions).toMatchObject([{ type: 'PodScheduled', status: 'True' }]);
    const again = await failure(bind(client, at, { node: 'n2' }));
    expect([isConflict(again), again.message]).toEqual([
      true,
      'Operation cannot be fulfilled on pods/binding "a": pod a is already assigned to node "n1"',
    ]);
    // There is no kubelet to end the pod, so its grace period continues.
    expect((await client.delete(Pod, at))?.metadata).toMatchObject({ deletionGracePeriodSeconds: 30 });
    await client.delete(Pod, at, { gracePeriodSeconds: 0 });
    expect(isNotFound(await failure(client.get(Pod, at)))).toBe(true);
  },

  'makes tokens of service accounts, and is known by them': async (scene) => {
    const { client, namespace } = scene;
    const at = { namespace, name: 'robot' };
    expect((await failure(createToken(client, at))).message).toBe('serviceaccounts "robot" not found');
    const { metadata } = await client.create(ServiceAccount, { metadata: at });
    const { status, spec } = await createToken(client, at, { expirationSeconds: 1200 });
    const [, body = ''] = (status?.token ?? '').split('.');
    const claims = JSON.parse(Buffer.from(body, 'base64url').toString());
    expect(spec?.expirationSeconds).toBe(1200);
    expect(claims.exp - claims.iat).toBe(1200);
    expect(claims).toMatchObject({
      sub: `system:serviceaccount:${namespace}:robot`,
      'kubernetes.io': { namespace, serviceaccount: { name: 'robot', uid: metadata?.uid } },
    });
    const robot = scene.connect({}, { token: status?.token ?? '' });
    const refused = await failure(robot.list(ConfigMap, { namespace }));
    expect([isForbidden(refused), refused.message]).toEqual([
      true,
      `configmaps is forbidden: User "system:serviceaccount:${namespace}:robot" cannot list resource "configmaps" in API group "" in the namespace "${namespace}"`,
    ]);
    const short = await failure(createToken(client, at, { expirationSeconds: 10 }));
    expect(short.details?.causes).toEqual([
      {
        reason: 'FieldValueInvalid',
        message: 'Invalid value: 10: may not specify a duration less than 10 minutes',
        field: 'spec.expirationSeconds',
      },
    ]);
  },
};
