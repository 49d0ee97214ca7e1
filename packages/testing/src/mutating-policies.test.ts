import { isStatusError } from '@kapstan/api';
import type { MutatingAdmissionPolicySpec } from '@kapstan/kinds/admissionregistration.k8s.io/v1';
import { Deployment } from '@kapstan/kinds/apps/v1';
import { HorizontalPodAutoscaler } from '@kapstan/kinds/autoscaling/v2';
import { ConfigMap } from '@kapstan/kinds/core/v1';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type TestCluster, testCluster } from './test-cluster.ts';
import { about, applies, mutate, patches, validate } from './testing/policies.ts';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let cluster: TestCluster;

beforeEach(async () => {
  cluster = await testCluster({ http: 'off' });
});
afterEach(() => cluster.close());

const target = (name: string): { name: string; namespace: string } => ({ name, namespace: 'default' });
const map = (name: string, data: Record<string, string> = {}): ConfigMap => ({ metadata: target(name), data });
const create = (object: ConfigMap): Promise<ConfigMap> => cluster.client.create(ConfigMap, object);

async function refusal(call: Promise<unknown>): Promise<string> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return isStatusError(error) ? `${error.code} ${error.message}` : String(error);
}

const refused = async (mutations: MutatingAdmissionPolicySpec['mutations'], data = { k: 'v' }): Promise<string> => {
  await mutate(cluster, { spec: { mutations: mutations as never } });
  return refusal(create(map('a', data)));
};
const denied = "403 policy 'm' with binding 'm' denied request: ";

describe('an apply configuration', () => {
  it('is merged into the object, whose writer owns none of it', async () => {
    const expression =
      "Object{metadata: Object.metadata{labels: {'by': request.operation}}, data: {'k': 'new', 'm': 'v'}}";
    await mutate(cluster, { spec: { mutations: [applies(expression)] } });
    const made = await cluster.client.create(ConfigMap, map('a', { k: 'v' }), { fieldManager: 'me' });
    expect(made).toMatchObject({ data: { k: 'new', m: 'v' }, metadata: { labels: { by: 'CREATE' } } });
    const fields = JSON.stringify(made.metadata?.managedFields);
    expect(fields).toContain('f:k');
    expect(fields).not.toContain('f:m');
    const updated = await cluster.client.update(ConfigMap, { ...made, data: { x: 'y' } });
    expect(updated).toMatchObject({ data: { k: 'new', m: 'v', x: 'y' }, metadata: { labels: { by: 'UPDATE' } } });
    const applied = await cluster.client.apply(ConfigMap, map('b', { a: 'b' }), { fieldManager: 'me' });
    expect(applied.data).toEqual({ a: 'b', k: 'new', m: 'v' });
  });

  it('merges lists by their keys', async () => {
    const containers = 'Object.spec.template.spec.containers';
    const expression = `Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{containers: [${containers}{name: 'side', image: 's'}]}}}}`;
    await mutate(cluster, {
      spec: { matchConstraints: about(['deployments'], 'CREATE'), mutations: [applies(expression)] },
    });
    const template = { metadata: { labels: { app: 'd' } }, spec: { containers: [{ name: 'a', image: 'a' }] } };
    const spec = { selector: { matchLabels: { app: 'd' } }, template };
    const made = await cluster.client.create(Deployment, { metadata: target('d'), spec });
    const names = made.spec?.template.spec?.containers.map(({ name, imagePullPolicy }) => [name, imagePullPolicy]);
    expect(names).toEqual([
      ['a', 'Always'],
      ['side', 'Always'],
    ]);
  });

  it('with structs that have not the names of their places is refused', async () => {
    expect(await refused([applies("Object{metadata: Object.spec{name: 'x'}}")])).toBe(
      `${denied}type mismatch: unexpected type name "Object.spec", expected "Object.metadata", which matches field name path from root Object type`,
    );
  });

  it('with fields that the kind has not is refused', async () => {
    expect(await refused([applies("Object{nope: 'x'}")])).toBe(
      `${denied}error applying patch: failed to convert patch object to typed object: .nope: field not declared in schema`,
    );
  });

  it('with lists that are owned as a whole is refused', async () => {
    const expression =
      "Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{nodeSelector: {'a': 'b'}}}}}";
    await mutate(cluster, {
      spec: { matchConstraints: about(['deployments'], 'CREATE'), mutations: [applies(expression)] },
    });
    const template = { metadata: { labels: { app: 'd' } }, spec: { containers: [{ name: 'a', image: 'a' }] } };
    const spec = { selector: { matchLabels: { app: 'd' } }, template };
    expect(await refusal(cluster.client.create(Deployment, { metadata: target('d'), spec }))).toContain(
      'may not mutate atomic arrays, maps or structs: .spec.template.spec.nodeSelector',
    );
  });
});

describe('a JSON patch', () => {
  it('is applied in order, with keys that are escaped', async () => {
    const expression =
      "[JSONPatch{op: 'add', path: '/metadata/labels', value: {}}, JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('example.com/a'), value: 'b'}]";
    await mutate(cluster, { spec: { mutations: [patches(expression)] } });
    expect((await create(map('a'))).metadata?.labels).toEqual({ 'example.com/a': 'b' });
  });

  it('changes nothing when one of its tests fails', async () => {
    const expression =
      "[JSONPatch{op: 'add', path: '/data/x', value: 'y'}, JSONPatch{op: 'test', path: '/data/k', value: 'other'}]";
    await mutate(cluster, { spec: { mutations: [patches(expression)] } });
    expect((await create(map('a', { k: 'v' }))).data).toEqual({ k: 'v' });
  });

  it('that does not apply is refused', async () => {
    expect(await refused([patches("[JSONPatch{op: 'remove', path: '/data/none'}]")])).toBe(
      `${denied}JSON Patch: error in remove for path: '/data/none': Unable to remove nonexistent key: none: missing value`,
    );
  });

  it('with members that the kind has not is an error', async () => {
    expect(await refused([patches("[JSONPatch{op: 'add', path: '/nope', value: 1}]")])).toBe(
      '500 Internal error occurred: strict decoding error: unknown field "nope"',
    );
  });
});

describe('mutating policies', () => {
  it('run by name, each on what the one before it left, and before validating ones', async () => {
    await mutate(cluster, { name: 'b', spec: { mutations: [applies("Object{data: {'b': object.data.a + '!'}}")] } });
    await mutate(cluster, { name: 'a', spec: { mutations: [applies("Object{data: {'a': 'x'}}")] } });
    await validate(cluster, { spec: { validations: [{ expression: "object.data.b == 'x!'" }] } });
    expect((await create(map('m'))).data).toEqual({ a: 'x', b: 'x!' });
  });

  it('that want it are evaluated again when another one changed the object, and others are not', async () => {
    const count = (name: string) =>
      applies(`Object{data: {'${name}': has(object.data.${name}) ? object.data.${name} + '+' : '1'}}`);
    await mutate(cluster, { name: 'a', spec: { mutations: [count('a')], reinvocationPolicy: 'IfNeeded' } });
    await mutate(cluster, { name: 'b', spec: { mutations: [count('b')] } });
    expect((await create(map('m', { k: 'v' }))).data).toEqual({ k: 'v', a: '1+', b: '1' });
  });

  it('that fail are passed over where their failure policy says so, and later mutations are applied', async () => {
    const mutations = [applies("Object{data: {'a': object.data.none}}"), applies("Object{data: {'b': 'x'}}")];
    await mutate(cluster, { spec: { mutations, failurePolicy: 'Ignore' } });
    expect((await create(map('m', { k: 'v' }))).data).toEqual({ k: 'v', b: 'x' });
  });

  it('change other versions of a kind, there and back', async () => {
    const spec = { maxReplicas: 2, scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' } };
    const matchConstraints = about(['horizontalpodautoscalers'], 'CREATE');
    for (const rule of matchConstraints.resourceRules ?? []) rule.apiVersions = ['v1'];
    const expression = 'Object{spec: Object.spec{targetCPUUtilizationPercentage: 77}}';
    await mutate(cluster, { spec: { matchConstraints, mutations: [applies(expression)] } });
    const made = await cluster.client.create(HorizontalPodAutoscaler, { metadata: target('h'), spec });
    expect(made.apiVersion).toBe('autoscaling/v2');
    expect(made.spec?.metrics?.[0]?.resource?.target.averageUtilization).toBe(77);
  });

  it('see their conditions, variables and parameters', async () => {
    await create(map('param', { v: '42' }));
    await mutate(cluster, {
      spec: {
        paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
        matchConditions: [{ name: 'c', expression: "'k' in object.data" }],
        variables: [{ name: 'v', expression: 'params.data.v' }],
        mutations: [applies("Object{data: {'v': string(variables.v), 'ns': namespaceObject.metadata.name}}")],
      },
      binding: { paramRef: { name: 'param', namespace: 'default', parameterNotFoundAction: 'Deny' } },
    });
    expect((await create(map('a', { k: '1' }))).data).toEqual({ k: '1', v: '42', ns: 'default' });
    expect((await create(map('b', { x: '1' }))).data).toEqual({ x: '1' });
  });

  it('are in force for a dry run and after a start', async () => {
    await mutate(cluster, { spec: { mutations: [applies("Object{data: {'m': 'v'}}")] } });
    expect((await cluster.client.create(ConfigMap, map('a'), { dryRun: true })).data).toEqual({ m: 'v' });
    await cluster.stop();
    await cluster.start();
    expect((await create(map('a'))).data).toEqual({ m: 'v' });
  });
});
