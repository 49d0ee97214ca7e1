// The built-in kinds over real stores: the effects of requests to each special endpoint.
import type { KubernetesObject, StatusError, UnstructuredObject } from '@kapstan/api';
import type { RequestContext } from '@kapstan/apiserver';
import { ResourceCatalog, ResourceStack, type ServedResource } from '@kapstan/apiserver';
import type { ObjectSubresource, StrategySubresource } from '@kapstan/apiserver/internal';
import { refusal, StoreFixture, testContext } from '@kapstan/apiserver/testing';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { builtinResources } from './builtin-resources.ts';

let fixture: StoreFixture;
let catalog: ResourceCatalog;
let stacks: ResourceStack[];
beforeEach(async () => {
  fixture = await StoreFixture.open(openLmdbEngine);
  catalog = new ResourceCatalog();
  const server = {
    clock: fixture.clock,
    findStore: (group: string, version: string, resource: string) => catalog.find(group, version, resource)?.store,
    serviceClusterIpRange: '10.0.0.0/28',
    serviceNodePortRange: { first: 30_000, last: 30_009 },
  };
  stacks = [];
  const wanted = [
    'pods',
    'services',
    'namespaces',
    'deployments',
    'poddisruptionbudgets',
    'events',
    'horizontalpodautoscalers',
    'secrets',
    'endpoints',
    'ipaddresses',
    'servicecidrs',
    'ingresses',
  ];
  for (const definition of builtinResources(server)) {
    if (!wanted.includes(definition.resource)) continue;
    const stack = new ResourceStack(definition, {
      engine: fixture.engine,
      clock: fixture.clock,
      watchCache: false,
      freeze: true,
    });
    stacks.push(stack);
    catalog.install(stack.served);
  }
});
afterEach(async () => {
  for (const stack of stacks) await stack.close();
  await fixture.close();
});

function served(id: string): ServedResource {
  const parts = id.split('/');
  return (parts.length === 3 ? catalog.find(parts[0]!, parts[1]!, parts[2]!) : catalog.find('', parts[0]!, parts[1]!))!;
}

async function create(
  id: string,
  object: object,
  context: RequestContext = testContext(),
): Promise<UnstructuredObject> {
  const { store, definition } = served(id);
  const copy = structuredClone(object) as UnstructuredObject;
  definition.applyDefaults(copy);
  return (await store.create(context, copy)).object as UnstructuredObject;
}

async function read(id: string, name: string, context: RequestContext = testContext()): Promise<UnstructuredObject> {
  return (await served(id).store.get(context, name)).object as UnstructuredObject;
}

async function change(
  id: string,
  name: string,
  edit: (object: UnstructuredObject) => void,
  subresource = '',
): Promise<UnstructuredObject> {
  const { store, definition } = served(id);
  const found = definition.subresources.find(
    (candidate): candidate is StrategySubresource<UnstructuredObject> =>
      candidate.type === 'strategy' && candidate.name === subresource,
  );
  const transform = (present: UnstructuredObject | undefined): UnstructuredObject => {
    const object = structuredClone(present!) as UnstructuredObject;
    edit(object);
    definition.applyDefaults(object);
    return object;
  };
  const request = { name, transform, ...(found === undefined ? {} : { strategy: found.strategy, subresource }) };
  return (await store.update(testContext(), request)).stored.object as UnstructuredObject;
}

function objectSubresource(id: string, name: string): ObjectSubresource<UnstructuredObject> {
  return served(id).definition.subresources.find(
    (candidate): candidate is ObjectSubresource<UnstructuredObject> =>
      candidate.type === 'object' && candidate.name === name,
  )!;
}

function post(id: string, name: string, subresource: string, body: object): Promise<KubernetesObject> {
  return objectSubresource(id, subresource).create!(served(id).store, testContext(), {
    name,
    body: body as UnstructuredObject,
    validate: async () => undefined,
  });
}

const message = async (promise: Promise<unknown>): Promise<[code: number, message: string]> => {
  const error: StatusError = await refusal(promise);
  return [error.code, error.message];
};

const pod = (name: string, spec: object = {}, labels: Record<string, string> = {}): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'default', labels },
  spec: { containers: [{ name: 'c', image: 'i:1' }], ...spec },
});

describe('pods', () => {
  it.each<[string, object, number | undefined, number | undefined]>([
    ['their own grace period', { nodeName: 'n' }, undefined, 30],
    ['a shorter one that was asked for', { nodeName: 'n' }, 5, 5],
    ['one second for a negative one', { nodeName: 'n' }, -3, 1],
    ['nothing without a node', {}, 20, undefined],
    ['nothing for zero', { nodeName: 'n' }, 0, undefined],
  ])('get %s', async (_case, spec, gracePeriodSeconds, expected) => {
    await create('v1/pods', pod('p', spec));
    await served('v1/pods').store.delete(testContext(), 'p', { gracePeriodSeconds });
    const left = await read('v1/pods', 'p').catch(() => undefined);
    expect(left?.metadata?.deletionGracePeriodSeconds).toBe(expected);
  });

  it.each([
    ['BestEffort', undefined, []],
    ['Burstable', { requests: { cpu: '1' } }, []],
    ['Guaranteed', { limits: { cpu: '1', memory: '1Gi' } }, []],
    ['BestEffort', undefined, [{ name: 'wait.example.com/a' }]],
  ])('begin as pending and %s, whatever status they come with (%j, gates %j)', async (qosClass, resources, gates) => {
    const containers = [{ name: 'c', image: 'i', ...(resources === undefined ? {} : { resources }) }];
    const schedulingGates = gates.length === 0 ? {} : { schedulingGates: gates };
    const body = { ...pod('p', { containers, ...schedulingGates }), status: { phase: 'Running', message: 'made up' } };
    const { status } = await create('v1/pods', body);
    const message = 'Scheduling is blocked due to non-empty scheduling gates';
    const gated = { type: 'PodScheduled', status: 'False', reason: 'SchedulingGated', message };
    const conditions = gates.length === 0 ? {} : { conditions: [expect.objectContaining(gated)] };
    expect(status).toEqual({ phase: 'Pending', qosClass, ...conditions });
  });

  it('get their node by a binding, once', async () => {
    await create('v1/pods', pod('p'));
    const binding = { metadata: { name: 'p', annotations: { a: 'b' } }, target: { kind: 'Node', name: 'n1' } };
    expect(await post('v1/pods', 'p', 'binding', binding)).toMatchObject({ status: 'Success', code: 201 });
    const bound = await read('v1/pods', 'p');
    expect(bound).toMatchObject({ metadata: { generation: 1, annotations: { a: 'b' } }, spec: { nodeName: 'n1' } });
    expect(bound.status).toMatchObject({ conditions: [{ type: 'PodScheduled', status: 'True' }] });
    expect(await message(post('v1/pods', 'p', 'binding', binding))).toEqual([
      409,
      'Operation cannot be fulfilled on pods/binding "p": pod p is already assigned to node "n1"',
    ]);
  });

  it.each<[string, object, number, string]>([
    [
      'another name',
      { metadata: { name: 'q' }, target: { name: 'n' } },
      400,
      'name in URL does not match name in Binding object',
    ],
    ['no node', { metadata: { name: 'p' }, target: {} }, 500, 'target.name: Required value'],
    [
      'another kind',
      { metadata: { name: 'p' }, target: { kind: 'Pod', name: 'n' } },
      500,
      'target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>"',
    ],
  ])('refuse a binding with %s', async (_case, body, code, text) => {
    await create('v1/pods', pod('p'));
    expect(await message(post('v1/pods', 'p', 'binding', body))).toEqual([code, text]);
  });

  it('count a changed spec, not a changed status', async () => {
    await create('v1/pods', pod('p'));
    const imaged = await change('v1/pods', 'p', (object) => {
      (object.spec as { containers: { image: string }[] }).containers[0]!.image = 'i:2';
    });
    expect(imaged.metadata?.generation).toBe(2);
    const running = await change(
      'v1/pods',
      'p',
      (object) => Object.assign(object, { status: { phase: 'Running' }, spec: {} }),
      'status',
    );
    expect(running).toMatchObject({
      metadata: { generation: 2 },
      status: { phase: 'Running', qosClass: 'BestEffort' },
    });
    expect(running.spec).toEqual(imaged.spec);
  });

  it('keep their ephemeral containers', async () => {
    await create('v1/pods', pod('p'));
    const added = await change(
      'v1/pods',
      'p',
      (object) => Object.assign(object.spec!, { ephemeralContainers: [{ name: 'e', image: 'i' }] }),
      'ephemeralcontainers',
    );
    expect(added.spec).toMatchObject({ ephemeralContainers: [{ name: 'e', imagePullPolicy: 'Always' }] });
    const removed = change(
      'v1/pods',
      'p',
      (object) => Object.assign(object.spec!, { ephemeralContainers: [] }),
      'ephemeralcontainers',
    );
    expect((await message(removed))[1]).toContain('existing ephemeral containers "e" may not be removed');
  });
});

describe('eviction', () => {
  const budget = (
    name: string,
    spec: object = { minAvailable: 1, selector: { matchLabels: { app: 'a' } } },
  ): object => ({
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name, namespace: 'default' },
    spec,
  });
  const evict = (name: string): Promise<unknown> => post('v1/pods', name, 'eviction', { metadata: { name } });
  const run = async (name: string): Promise<void> => {
    await create('v1/pods', pod(name, {}, { app: 'a' }));
    const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
    await change('v1/pods', name, (object) => Object.assign(object, { status }), 'status');
  };
  const allow = (disruptionsAllowed: number): Promise<unknown> => {
    const status = { observedGeneration: 1, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1, disruptionsAllowed };
    return change('policy/v1/poddisruptionbudgets', 'b', (object) => Object.assign(object, { status }), 'status');
  };
  const isGone = async (name: string): Promise<boolean> => (await refusal(read('v1/pods', name))).code === 404;

  it('removes a pod that no budget covers', async () => {
    await run('p');
    await create(
      'policy/v1/poddisruptionbudgets',
      budget('b', { minAvailable: 1, selector: { matchLabels: { app: 'other' } } }),
    );
    await evict('p');
    expect(await isGone('p')).toBe(true);
  });

  it.each([{}, { metadata: {} }, { metadata: { name: 'q' } }])('must name its pod: %j', async (body) => {
    await run('p');
    const { status } = await refusal(post('v1/pods', 'p', 'eviction', body));
    expect(status).toMatchObject({ code: 400, message: 'name in URL does not match name in Eviction object' });
    expect((await read('v1/pods', 'p')).metadata?.deletionTimestamp).toBeUndefined();
  });

  it('tells in a pod that stays for a while who ends it, unless a precondition fails', async () => {
    await create('v1/pods', pod('p', { nodeName: 'n' }, { app: 'a' }));
    const before = (await read('v1/pods', 'p')).metadata?.resourceVersion ?? '';
    const asked = (preconditions: object): Promise<unknown> =>
      post('v1/pods', 'p', 'eviction', { metadata: { name: 'p' }, deleteOptions: { preconditions } });
    expect((await refusal(asked({ uid: 'x' }))).code).toBe(409);
    expect((await refusal(asked({ resourceVersion: '1' }))).code).toBe(409);
    expect((await read('v1/pods', 'p')).metadata?.resourceVersion).toBe(before);
    await asked({ resourceVersion: before });
    const target = { type: 'DisruptionTarget', status: 'True', reason: 'EvictionByEvictionAPI' };
    expect(await read('v1/pods', 'p')).toMatchObject({
      metadata: { deletionGracePeriodSeconds: 30 },
      status: { conditions: [target] },
    });
  });

  it('waits for the controller, then for a disruption, and counts it', async () => {
    await run('p');
    await create('policy/v1/poddisruptionbudgets', budget('b'));
    const early = await refusal(evict('p'));
    expect(early.details).toMatchObject({
      retryAfterSeconds: 10,
      causes: [{ message: 'The disruption budget b is still being processed by the server.' }],
    });
    await allow(0);
    const none = await refusal(evict('p'));
    expect(none.code).toBe(429);
    expect(none.details?.causes?.[0]?.message).toBe('The disruption budget b needs 1 healthy pods and has 1 currently');
    await allow(1);
    await evict('p');
    expect(await isGone('p')).toBe(true);
    const { status } = await read('policy/v1/poddisruptionbudgets', 'b');
    expect(status).toMatchObject({
      disruptionsAllowed: 0,
      disruptedPods: { p: expect.any(String) },
      conditions: [{ type: 'DisruptionAllowed', status: 'False', reason: 'InsufficientPods', message: '' }],
    });
  });

  it.each([
    [{}, 'needs 0 healthy pods and has 0 currently'],
    [{ currentHealthy: 2, desiredHealthy: 1 }, 'does not allow evicting pods currently'],
    [
      { currentHealthy: 2, desiredHealthy: 1, conditions: [{ reason: 'Odd', message: 'why' }] },
      'does not allow evicting pods currently (Odd): why',
    ],
    [
      { desiredHealthy: 1, conditions: [{ reason: 'SyncFailed', message: 'no scale' }] },
      'does not allow evicting pods currently because it failed sync: no scale',
    ],
  ])('says why no disruption is allowed: %o', async (given, why) => {
    await run('p');
    await create('policy/v1/poddisruptionbudgets', budget('b'));
    const lastTransitionTime = '2026-01-01T00:00:00Z';
    const conditions = (given as { conditions?: object[] }).conditions?.map((condition) => ({
      type: 'DisruptionAllowed',
      status: 'False',
      lastTransitionTime,
      ...condition,
    }));
    const status = { observedGeneration: 1, disruptionsAllowed: 0, ...given, ...(conditions && { conditions }) };
    await change('policy/v1/poddisruptionbudgets', 'b', (object) => Object.assign(object, { status }), 'status');
    const { details } = await refusal(evict('p'));
    expect(details?.causes?.[0]?.message).toBe(`The disruption budget b ${why}`);
  });

  it('does not choose between two budgets', async () => {
    await run('p');
    await create('policy/v1/poddisruptionbudgets', budget('b'));
    await create('policy/v1/poddisruptionbudgets', budget('c', { maxUnavailable: 1, selector: {} }));
    expect((await message(evict('p')))[0]).toBe(500);
  });
});

describe('services', () => {
  const service = (name: string, spec: object = {}): object => ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace: 'default' },
    spec: { selector: { a: 'b' }, ports: [{ port: 80 }], ...spec },
  });
  const ipOf = (object: UnstructuredObject): string => (object.spec as { clusterIP: string }).clusterIP;
  const nodePortOf = (object: UnstructuredObject): number =>
    (object.spec as { ports: { nodePort: number }[] }).ports[0]!.nodePort;

  it('get addresses of their own until there are none', async () => {
    const addresses = new Set<string>();
    for (let i = 0; i < 14; i++) addresses.add(ipOf(await create('v1/services', service(`s${i}`))));
    expect(addresses.size).toBe(14);
    expect((await message(create('v1/services', service('one-too-many'))))[1]).toContain('range is full');
    await served('v1/services').store.delete(testContext(), 's3', {});
    expect(addresses.has(ipOf(await create('v1/services', service('again'))))).toBe(true);
  });

  it('give back what a refused or dry-run create took', async () => {
    const asked = { clusterIP: '10.0.0.9' };
    await refusal(create('v1/services', service('bad', { ...asked, sessionAffinity: 'Foo' })));
    await create('v1/services', service('dry', asked), testContext({ dryRun: true }));
    expect(ipOf(await create('v1/services', service('good', asked)))).toBe('10.0.0.9');
    expect((await message(create('v1/services', service('second', asked))))[1]).toContain(
      'failed to allocate IP 10.0.0.9: provided IP is already allocated',
    );
  });

  it('keep address and port over updates that do not name them, and lose them with the type', async () => {
    const created = await create('v1/services', service('s', { type: 'NodePort' }));
    const kept = await change('v1/services', 's', (object) =>
      Object.assign(object, { spec: { type: 'NodePort', ports: [{ port: 81 }] } }),
    );
    expect([ipOf(kept), nodePortOf(kept)]).toEqual([ipOf(created), nodePortOf(created)]);
    const external = await change('v1/services', 's', (object) =>
      Object.assign(object, { spec: { type: 'ExternalName', externalName: 'a.example' } }),
    );
    expect(external.spec).toEqual({ type: 'ExternalName', externalName: 'a.example', sessionAffinity: 'None' });
    expect(ipOf(await create('v1/services', service('t', { clusterIP: ipOf(created) })))).toBe(ipOf(created));
  });

  it('share a node port between the protocols of one port', async () => {
    const ports = [
      { name: 'tcp', port: 53 },
      { name: 'udp', port: 53, protocol: 'UDP' },
    ];
    const created = await create('v1/services', service('dns', { type: 'NodePort', ports }));
    const given = (created.spec as { ports: { nodePort: number }[] }).ports.map((port) => port.nodePort);
    expect(given[0]).toBe(given[1]);
    expect(
      (
        await message(
          create('v1/services', service('s', { type: 'NodePort', ports: [{ port: 80, nodePort: given[0] }] })),
        )
      )[1],
    ).toContain('provided port is already allocated');
  });
});

describe('namespaces', () => {
  const namespace = (name: string): object => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });

  it('go when their finalizers are gone, through /finalize alone', async () => {
    await create('v1/namespaces', namespace('n'));
    const answer = await served('v1/namespaces').store.delete(testContext({ namespace: '' }), 'n', {});
    expect(answer.deleted).toBe(false);
    const going = await change('v1/namespaces', 'n', (object) => Object.assign(object, { spec: {} }));
    expect(going).toMatchObject({
      metadata: { deletionTimestamp: expect.any(String) },
      spec: { finalizers: ['kubernetes'] },
      status: { phase: 'Terminating' },
    });
    expect(going.metadata?.deletionGracePeriodSeconds).toBeUndefined();
    await change('v1/namespaces', 'n', (object) => Object.assign(object, { spec: { finalizers: [] } }), 'finalize');
    expect((await refusal(read('v1/namespaces', 'n'))).code).toBe(404);
  });
});

describe('the scale of a workload', () => {
  const deployment = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'd', namespace: 'default' },
    spec: {
      replicas: 2,
      selector: { matchLabels: { app: 'd' }, matchExpressions: [{ key: 'tier', operator: 'Exists' }] },
      template: { metadata: { labels: { app: 'd', tier: 'x' } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
    },
  };
  const scale = () => objectSubresource('apps/v1/deployments', 'scale');
  const setReplicas = (replicas: number, resourceVersion?: string): Promise<KubernetesObject> =>
    scale().update!(served('apps/v1/deployments').store, testContext(), {
      name: 'd',
      change: (present) =>
        Promise.resolve({
          ...present,
          metadata: { ...present.metadata, resourceVersion: resourceVersion ?? '' },
          spec: { replicas },
        }),
    });

  it('is read from and written to the object', async () => {
    await create('apps/v1/deployments', deployment);
    expect(await scale().get!(served('apps/v1/deployments').store, testContext(), 'd')).toMatchObject({
      kind: 'Scale',
      spec: { replicas: 2 },
      status: { replicas: 0, selector: 'app=d,tier' },
    });
    expect(await setReplicas(0)).toMatchObject({ metadata: { name: 'd' }, spec: {} });
    expect(await read('apps/v1/deployments', 'd')).toMatchObject({
      metadata: { generation: 2 },
      spec: { replicas: 0 },
    });
  });

  it('refuses negative numbers and old versions', async () => {
    const { metadata } = await create('apps/v1/deployments', deployment);
    expect(await message(setReplicas(-1))).toEqual([
      422,
      'Scale.autoscaling "d" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0',
    ]);
    await setReplicas(3);
    expect((await message(setReplicas(4, metadata?.resourceVersion)))[0]).toBe(409);
  });
});

describe('kinds with two versions', () => {
  it('an event is one object in both groups', async () => {
    const event = {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: 'e', namespace: 'default' },
      involvedObject: { kind: 'Pod', name: 'p', namespace: 'default' },
      message: 'hello',
      source: { component: 'c' },
      count: 2,
    };
    await create('v1/events', event);
    const other = await read('events.k8s.io/v1/events', 'e');
    expect(other).toMatchObject({
      apiVersion: 'events.k8s.io/v1',
      regarding: { name: 'p' },
      note: 'hello',
      deprecatedSource: { component: 'c' },
      deprecatedCount: 2,
    });
    const { items } = await served('events.k8s.io/v1/events').store.list(testContext(), {
      fieldSelector: 'regarding.name=p',
    });
    expect(items).toHaveLength(1);
  });

  it('an autoscaler keeps in annotations what v1 has no field for', async () => {
    const metrics = [
      { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } } },
      { type: 'Resource', resource: { name: 'memory', target: { type: 'AverageValue', averageValue: '1Gi' } } },
    ];
    const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' };
    const v2 = {
      apiVersion: 'autoscaling/v2',
      kind: 'HorizontalPodAutoscaler',
      metadata: { name: 'h', namespace: 'default' },
      spec: { scaleTargetRef, maxReplicas: 3, metrics },
    };
    await create('autoscaling/v2/horizontalpodautoscalers', v2);
    const v1 = await read('autoscaling/v1/horizontalpodautoscalers', 'h');
    expect(v1).toMatchObject({ apiVersion: 'autoscaling/v1', spec: { targetCPUUtilizationPercentage: 50 } });
    expect(v1.metadata?.annotations?.['autoscaling.alpha.kubernetes.io/metrics']).toContain('memory');
    await change('autoscaling/v1/horizontalpodautoscalers', 'h', (object) =>
      Object.assign(object.spec!, { maxReplicas: 5 }),
    );
    const again = await read('autoscaling/v2/horizontalpodautoscalers', 'h');
    expect(again.metadata?.annotations).toBeUndefined();
    expect((again.spec as { metrics: unknown[]; maxReplicas: number }).maxReplicas).toBe(5);
    expect((again.spec as { metrics: unknown[] }).metrics).toHaveLength(2);
  });
});

describe('secrets', () => {
  it('take texts into their data and forget them', async () => {
    const secret = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 's', namespace: 'default' },
      data: { a: 'YQ==' },
      stringData: { a: 'b', __proto__: null },
    };
    const created = await create('v1/secrets', secret);
    expect(created).toMatchObject({ type: 'Opaque', data: { a: 'Yg==' } });
    expect(created.stringData).toBeUndefined();
  });
});

describe('an ingress', () => {
  const ingress = (resource: object) => ({
    metadata: { name: 'i' },
    spec: { defaultBackend: { resource } },
  });
  const id = 'networking.k8s.io/v1/ingresses';

  it.each([[{}], [{ apiGroup: null }]])('may name a backend of the group without a name: %j', async (group) => {
    const { spec } = await create(id, ingress({ ...group, kind: 'Bucket', name: 'b' }));
    expect(spec).toMatchObject({ defaultBackend: { resource: { kind: 'Bucket', name: 'b' } } });
  });

  it('is told what its backend lacks, whether or not that has a group', async () => {
    const error = await refusal(create(id, ingress({ apiGroup: null, kind: '', name: 'a/b' })));
    expect([error.code, error.status.details?.causes?.map(({ field }) => field)]).toEqual([
      422,
      ['spec.defaultBackend.resource.kind', 'spec.defaultBackend.resource.name'],
    ]);
  });
});
