import { isStatusError, type KubernetesObject } from '@kapstan/api';
import {
  type NamedRuleWithOperations,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
} from '@kapstan/kinds/admissionregistration.k8s.io/v1';
import { CustomResourceDefinition } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { Deployment } from '@kapstan/kinds/apps/v1';
import { HorizontalPodAutoscaler } from '@kapstan/kinds/autoscaling/v2';
import { Lease } from '@kapstan/kinds/coordination.k8s.io/v1';
import { ConfigMap, Namespace, Pod } from '@kapstan/kinds/core/v1';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type TestCluster, testCluster } from './test-cluster.ts';
import { about, configMaps, validate } from './testing/policies.ts';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let cluster: TestCluster;

beforeEach(async () => {
  cluster = await testCluster({ http: 'off', controlPlane: { admission: { disabled: ['ServiceAccount'] } } });
});
afterEach(() => cluster.close());

const namespace = 'default';
const target = (name: string): { name: string; namespace: string } => ({ name, namespace });
const map = (name: string, data: Record<string, string> = {}): ConfigMap => ({ metadata: target(name), data });
const create = (object: ConfigMap): Promise<ConfigMap> => cluster.client.create(ConfigMap, object);
const allows = async (object: ConfigMap): Promise<boolean> => (await refusal(create(object))) === 'none';
const denyAll = [{ expression: 'false', message: 'no' }];

async function refusal(call: Promise<unknown>): Promise<string> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error === undefined) return 'none';
  return isStatusError(error) ? `${error.code} ${error.message}` : String(error);
}

const everything = about(['configmaps', 'leases'], '*');

describe('a validating policy', () => {
  it('denies what its expression does not allow, with a message and causes', async () => {
    await validate(cluster, {
      spec: { validations: [{ expression: "object.data.a != 'bad'", message: 'bad is bad' }] },
    });
    const why = "ValidatingAdmissionPolicy 'p' with binding 'p' denied request: bad is bad";
    const error = await create(map('a', { a: 'bad' })).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      status: {
        code: 422,
        reason: 'Invalid',
        message: `configmaps "a" is forbidden: ${why}`,
        details: { name: 'a', kind: 'configmaps', causes: [{ message: why }] },
      },
    });
    await create(map('a', { a: 'good' }));
  });

  it('is asked about every write in process, whatever way it takes', async () => {
    const { client } = cluster;
    await create(map('old'));
    await validate(cluster, { spec: { matchConstraints: everything, validations: denyAll } });
    const ways: Record<string, () => Promise<unknown>> = {
      create: () => create(map('a')),
      generated: () => create({ metadata: { generateName: 'g-', namespace } }),
      apply: () => client.apply(ConfigMap, map('b'), { fieldManager: 'm' }),
      update: () => client.update(ConfigMap, { ...map('old'), data: { k: 'v' } }),
      patch: () => client.patch(ConfigMap, target('old'), { type: 'merge', body: { data: { k: 'w' } } }),
      'dry run': () => client.create(ConfigMap, map('c'), { dryRun: true }),
      delete: () => client.delete(ConfigMap, target('old')),
      'delete without effect': () => client.delete(ConfigMap, target('old'), { dryRun: true }),
      collection: () => client.deleteCollection(ConfigMap, { namespace }),
      'update that creates': () => client.update(Lease, { metadata: target('l') }),
    };
    for (const [way, call] of Object.entries(ways))
      expect([way, await refusal(call())]).toEqual([way, expect.stringContaining('denied request: no')]);
    expect(await client.get(ConfigMap, target('old'))).toBeDefined();
  });

  it('is asked about subresources in their own kinds, and not for a resource alone', async () => {
    const { client } = cluster;
    const template = { metadata: { labels: { app: 'd' } }, spec: { containers: [{ name: 'a', image: 'a' }] } };
    await client.create(Deployment, {
      metadata: target('d'),
      spec: { selector: { matchLabels: { app: 'd' } }, template },
    });
    await client.create(Pod, { metadata: target('p'), spec: template.spec } as never);
    const validations = [{ expression: "object.kind == 'Deployment'", messageExpression: "'no ' + object.kind" }];
    const matchConstraints = about(['deployments', 'deployments/scale', 'pods/*'], '*');
    await validate(cluster, { spec: { matchConstraints, validations } });
    const body = { spec: { replicas: 3 }, status: { replicas: 1 } };
    const patch = (subresource: string) =>
      refusal(client.patch(Deployment, target('d'), { type: 'merge', body }, { subresource }));
    expect(await patch('scale')).toContain('no Scale');
    expect(await patch('status')).toBe('none');
    const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'p' } };
    const evicting = client.createSubresource(Pod, { ...target('p'), subresource: 'eviction' }, { body: eviction });
    expect(await refusal(evicting)).toContain('no Eviction');
    expect(await client.get(Pod, target('p'))).toBeDefined();
  });

  it('sees other versions of a kind as its rules name them, unless it wants its own exactly', async () => {
    const hpa = {
      metadata: target('h'),
      spec: { maxReplicas: 2, scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' } },
    };
    const resources = ['horizontalpodautoscalers'];
    const resourceRules: NamedRuleWithOperations[] = [
      { apiGroups: ['autoscaling'], apiVersions: ['v1'], operations: ['CREATE'], resources },
    ];
    const shown = "object.apiVersion + ' ' + request.kind.version + ' ' + request.requestKind.version";
    const validations = [{ expression: 'false', messageExpression: shown }];
    await validate(cluster, { spec: { matchConstraints: { resourceRules, matchPolicy: 'Exact' }, validations } });
    await cluster.client.create(HorizontalPodAutoscaler, hpa, { dryRun: true });
    await validate(cluster, { name: 'q', spec: { matchConstraints: { resourceRules }, validations } });
    expect(await refusal(cluster.client.create(HorizontalPodAutoscaler, hpa))).toContain('autoscaling/v1 v1 v2');
  });

  it('is in force for the first write after a start, and ends with its binding', async () => {
    await validate(cluster, { spec: { validations: denyAll } });
    await cluster.stop();
    await cluster.start();
    expect(await refusal(create(map('a')))).toContain('denied request: no');
    await cluster.client.delete(ValidatingAdmissionPolicyBinding, { name: 'p' });
    await cluster.settle();
    await create(map('a'));
  });

  it('cannot lock itself in: policies and bindings are exempt', async () => {
    await validate(cluster, { spec: { matchConstraints: about(['*'], '*'), validations: denyAll } });
    expect(await allows(map('a'))).toBe(false);
    await cluster.client.delete(ValidatingAdmissionPolicyBinding, { name: 'p' });
    await cluster.settle();
    expect(await allows(map('a'))).toBe(true);
  });

  it('follows changes of its expressions', async () => {
    await validate(cluster, { spec: { validations: denyAll } });
    const body = [{ op: 'replace', path: '/spec/validations/0/expression', value: 'true' }];
    await cluster.client.patch(ValidatingAdmissionPolicy, { name: 'p' }, { type: 'json', body });
    await cluster.settle();
    await create(map('a'));
  });

  it('that fails denies, or is passed over by its failure policy', async () => {
    const validations = [{ expression: "object.data.none == 'x'" }];
    await validate(cluster, { spec: { validations } });
    expect(await refusal(create(map('a', { k: 'v' })))).toContain('resulted in error: no such key: none');
    await cluster.client.delete(ValidatingAdmissionPolicy, { name: 'p' });
    await validate(cluster, { name: 'q', spec: { validations, failurePolicy: 'Ignore' } });
    await create(map('a'));
  });

  it('evaluates variables when they are named, once for all validations', async () => {
    const variables = [
      { name: 'unused', expression: "object.data.none == 'x'" },
      { name: 'size', expression: 'object.data.size()' },
      { name: 'big', expression: 'variables.size > 1' },
    ];
    const validations = [{ expression: '!variables.big', messageExpression: "'has ' + string(variables.size)" }];
    await validate(cluster, { spec: { variables, validations } });
    expect(await refusal(create(map('a', { a: '1', b: '2' })))).toContain('denied request: has 2');
    await create(map('a', { a: '1' }));
  });

  it('ends when its expressions cost more than the budget, also those of variables', async () => {
    const hundred = `[${Array.from({ length: 100 }, (_, i) => i).join(',')}]`;
    const dear = `${hundred}.all(a, ${hundred}.all(b, a + b >= 0 && a * b >= 0 && a - b < 1000))`;
    const variables = Array.from({ length: 120 }, (_, i) => ({ name: `v${i}`, expression: dear }));
    const validations = variables.map(({ name }) => ({ expression: `variables.${name}` }));
    await validate(cluster, { spec: { variables, validations } });
    expect(await refusal(create(map('a')))).toContain('validation failed due to running out of cost budget');
  });

  it('asks the authorizer about the user, and sees the namespace', async () => {
    await cluster.client.create(Namespace, { metadata: { name: 'n', labels: { team: 'a' } } });
    const expression =
      "authorizer.requestResource.check('create').allowed() && namespaceObject.metadata.labels.team == 'a'";
    await validate(cluster, { spec: { validations: [{ expression }] } });
    await create({ metadata: { name: 'a', namespace: 'n' } });
    expect(await allows(map('a'))).toBe(false);
  });
});

describe('a binding', () => {
  it('narrows what its policy is for', async () => {
    const matchResources = { objectSelector: { matchLabels: { strict: 'yes' } } };
    await validate(cluster, { spec: { validations: denyAll }, binding: { matchResources } });
    await create(map('a'));
    const labels = { strict: 'yes' };
    expect(await allows({ metadata: { ...target('b'), labels } })).toBe(false);
  });

  it('may exclude objects by their names', async () => {
    const excludeResourceRules: NamedRuleWithOperations[] = [
      { apiGroups: [''], apiVersions: ['v1'], operations: ['*'], resources: ['configmaps'], resourceNames: ['free'] },
    ];
    const matchConstraints = { ...configMaps, excludeResourceRules };
    await validate(cluster, { spec: { matchConstraints, validations: denyAll } });
    await create(map('free'));
    expect(await allows(map('other'))).toBe(false);
  });

  it('only warns where it does not deny', async () => {
    // Warnings are headers of an answer.
    await using served = await testCluster({ controlPlane: { admission: { disabled: ['ServiceAccount'] } } });
    await validate(served, { spec: { validations: denyAll }, binding: { validationActions: ['Warn', 'Audit'] } });
    const warnings: string[] = [];
    await using client = await served.connect({ onWarning: (text) => warnings.push(text) });
    expect((await client.create(ConfigMap, map('a'))).metadata?.name).toBe('a');
    expect(warnings).toEqual(["Validation failed for ValidatingAdmissionPolicy 'p' with binding 'p': no"]);
  });
});

describe('parameters', () => {
  const paramKind = { apiVersion: 'v1', kind: 'ConfigMap' };
  const limited = {
    paramKind,
    matchConstraints: { ...configMaps, objectSelector: { matchLabels: { l: 'yes' } } },
    validations: [
      { expression: 'size(object.data) <= int(params.data.max)', messageExpression: "'at most ' + params.data.max" },
    ],
  };
  const two = { metadata: { ...target('x'), labels: { l: 'yes' } }, data: { a: '1', b: '2' } };

  it('come from the object that is named, in the namespace of the request if none is', async () => {
    await create(map('limit', { max: '1' }));
    const paramRef = { name: 'limit', parameterNotFoundAction: 'Deny' };
    await validate(cluster, { spec: limited, binding: { paramRef } });
    expect(await refusal(create(two))).toContain('at most 1');
    await cluster.client.update(ConfigMap, { ...map('limit', { max: '2' }) });
    await create(two);
  });

  it('are all that a selector selects', async () => {
    for (const [name, max] of Object.entries({ a: '5', b: '1', c: '0' }))
      await create({ metadata: { ...target(name), labels: name === 'c' ? {} : { role: 'limit' } }, data: { max } });
    const paramRef = { selector: { matchLabels: { role: 'limit' } }, namespace, parameterNotFoundAction: 'Deny' };
    await validate(cluster, { spec: limited, binding: { paramRef } });
    expect(await refusal(create(two))).toContain('at most 1');
  });

  it('that are not there deny or allow, as the binding says', async () => {
    const paramRef = { name: 'none', namespace, parameterNotFoundAction: 'Deny' };
    await validate(cluster, { spec: limited, binding: { paramRef } });
    expect(await refusal(create(two))).toContain(
      'failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction',
    );
    const body = { spec: { paramRef: { parameterNotFoundAction: 'Allow' } } };
    await cluster.client.patch(ValidatingAdmissionPolicyBinding, { name: 'p' }, { type: 'merge', body });
    await cluster.settle();
    await create(two);
  });

  it('of a kind that comes later are found then', async () => {
    const group = 'example.com';
    const spec = { ...limited, paramKind: { apiVersion: `${group}/v1`, kind: 'Limit' } };
    const paramRef = { name: 'l', parameterNotFoundAction: 'Deny' };
    await validate(cluster, { spec, binding: { paramRef } });
    expect(await refusal(create(two))).toContain(
      "ValidatingAdmissionPolicy 'p' denied request: failed to configure policy: failed to find resource referenced by paramKind: 'example.com/v1, Kind=Limit'",
    );
    const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
    await cluster.client.create(CustomResourceDefinition, {
      metadata: { name: `limits.${group}` },
      spec: {
        group,
        scope: 'Cluster',
        names: { plural: 'limits', kind: 'Limit' },
        versions: [{ name: 'v1', served: true, storage: true, schema }],
      },
    } as never);
    await cluster.settle();
    const limits = {
      group,
      version: 'v1',
      kind: 'Limit',
      plural: 'limits',
      namespaced: false,
      apiVersion: `${group}/v1`,
    };
    await cluster.client.create(
      limits as never,
      { metadata: { name: 'l' }, data: { max: '1' } } as KubernetesObject as never,
    );
    expect(await refusal(create(two))).toContain('at most 1');
  });
});

describe('validation of policies', () => {
  const spec = (validations: readonly object[], more: object = {}) => ({
    metadata: { name: 'x' },
    spec: { matchConstraints: configMaps, validations, ...more } as never,
  });
  const refused = (object: ReturnType<typeof spec>) =>
    refusal(cluster.client.create(ValidatingAdmissionPolicy, object as ValidatingAdmissionPolicy));

  it('compiles expressions where they stand', async () => {
    expect(await refused(spec([{ expression: 'params.x' }]))).toContain(
      `spec.validations[0].expression: Invalid value: "params.x": compilation failed: ERROR: <input>:1:1: undeclared reference to 'params'`,
    );
    expect(await refused(spec([{ expression: "object.x.matches('[')" }]))).toContain('spec.validations[0].expression');
    expect(await refused(spec([{ expression: "int('x') == 1" }]))).toContain(
      'spec.validations[0].expression: Internal error: program instantiation failed: ',
    );
  });

  it('lets match conditions name no variables', async () => {
    const matchConditions = [{ name: 'c', expression: 'variables.x' }];
    expect(await refused(spec([{ expression: 'true' }], { matchConditions }))).toContain(
      'spec.matchConditions[0].expression: Invalid value: "variables.x": compilation failed',
    );
  });
});

it('is told by /metrics under the names of kube-apiserver', async () => {
  await cluster.close();
  cluster = await testCluster();
  await validate(cluster, { spec: { validations: denyAll } });
  await refusal(create(map('a')));
  const client = await cluster.connect();
  const { body: text } = await client.raw({ path: '/metrics' });
  const labels = 'policy="p",policy_binding="p",error_type="invalid_error",enforcement_action="deny"';
  expect(text).toContain(`apiserver_validating_admission_policy_check_total{${labels}} 1`);
  expect(text).toContain('apiserver_validating_admission_policy_check_duration_seconds_bucket');
  expect(text).toContain('# TYPE apiserver_mutating_admission_policy_check_total counter');
});

it('status says which expressions do not fit the kinds', async () => {
  await cluster.close();
  const name = 'validatingadmissionpolicy-status-controller';
  cluster = await testCluster({ http: 'off', controlPlane: { controlLoops: [name] } });
  const validations = [
    { expression: 'object.data.size() > 1' },
    { expression: 'object.replicas > 1', messageExpression: 'string(object.data.x)' },
  ];
  await validate(cluster, { spec: { validations } });
  await cluster.settle();
  const { status } = await cluster.client.get(ValidatingAdmissionPolicy, { name: 'p' });
  expect(status).toEqual({
    observedGeneration: 1,
    typeChecking: {
      expressionWarnings: [
        {
          fieldRef: 'spec.validations[1].expression',
          warning: `/v1, Kind=ConfigMap: ERROR: <input>:1:7: undefined field 'replicas'\n | object.replicas > 1\n | ......^\n`,
        },
      ],
    },
  });
});
