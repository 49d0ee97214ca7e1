import type { UnstructuredObject } from '@kapstan/api';
import { ObjectReader } from '@kapstan/apiserver';
import { StoreFixture, testContext } from '@kapstan/apiserver/testing';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AdmissionServer, objection, testAttributes } from '../../testing/admission-server.ts';
import { LimitRanger } from './limit-ranger.ts';

const containerLimits = {
  type: 'Container',
  default: { cpu: '500m', memory: '256Mi' },
  defaultRequest: { cpu: '250m' },
  max: { cpu: '1' },
};
const ranges: Readonly<Record<string, readonly object[]>> = {
  small: [containerLimits],
  pods: [{ type: 'Pod', max: { cpu: '1500m' } }],
  claims: [{ type: 'PersistentVolumeClaim', min: { storage: '1Gi' }, max: { storage: '2Gi' } }],
};
let server: AdmissionServer;
let names = 0;

beforeAll(async () => {
  server = new AdmissionServer(await StoreFixture.open(openLmdbEngine));
  await server.start({ disabled: ['ServiceAccount', 'DefaultTolerationSeconds', 'Priority'] });
  for (const namespace of ['open', ...Object.keys(ranges)]) await server.create('namespaces', { name: namespace });
  for (const [namespace, limits] of Object.entries(ranges))
    await server.create('limitranges', { name: 'r', namespace, spec: { limits } });
});
afterAll(() => server.close());

interface Given {
  readonly requests?: object;
  readonly limits?: object;
}

function pod(namespace: string, containers: readonly Given[], more: object = {}): Promise<UnstructuredObject> {
  const named = containers.map((resources, at) => ({ name: `c${at}`, resources }));
  return server.create('pods', { name: `p${++names}`, namespace, spec: { containers: named, ...more } });
}

const why = async (step: Promise<unknown>): Promise<string | undefined> =>
  (await objection(async () => void (await step)))?.[1].replace(/^.* is forbidden: /, '');

describe('a pod in a namespace with a limit range', () => {
  it('gets the amounts that it does not name, and is told of them', async () => {
    const initContainers = [{ name: 'i' }];
    const made = await pod('small', [{ requests: { memory: '1Mi' } }, { limits: { cpu: '1' } }], { initContainers });
    const spec = made.spec as { containers: { resources: object }[]; initContainers: { resources: object }[] };
    expect([...spec.containers, ...spec.initContainers].map(({ resources }) => resources)).toEqual([
      { requests: { memory: '1Mi', cpu: '250m' }, limits: { cpu: '500m', memory: '256Mi' } },
      { requests: { cpu: '250m' }, limits: { cpu: '1', memory: '256Mi' } },
      { requests: { cpu: '250m' }, limits: { cpu: '500m', memory: '256Mi' } },
    ]);
    const told = [
      'cpu request for container c0',
      'cpu, memory limit for container c0',
      'cpu request for container c1',
      'memory limit for container c1',
      'cpu request for init container i',
      'cpu, memory limit for init container i',
    ];
    expect(made.metadata?.annotations).toEqual({
      'kubernetes.io/limit-ranger': `LimitRanger plugin set: ${told.join('; ')}`,
    });
  });

  it('is as it was where nothing is missing or no range is', async () => {
    const whole = { requests: { cpu: '1', memory: '1' }, limits: { cpu: '1', memory: '1' } };
    for (const namespace of ['small', 'open'])
      expect((await pod(namespace, [whole])).metadata?.annotations).toBeUndefined();
    expect((await pod('open', [{}])).spec).toEqual({ containers: [{ name: 'c0', resources: {} }] });
  });

  it('is refused for each container and init container outside of the bounds, once for equal faults', async () => {
    const big = { limits: { cpu: '2' } };
    const fault = 'maximum cpu usage per Container is 1, but limit is 2';
    expect(await why(pod('small', [big, big]))).toBe(fault);
    const initContainers = [{ name: 'i', resources: { limits: { cpu: '3' } } }];
    expect(await why(pod('small', [big], { initContainers }))).toBe(`[${fault}, ${fault.replace('is 2', 'is 3')}]`);
  });

  it('is refused when it names more amounts than are read in one turn', async () => {
    const many = Object.fromEntries(Array.from({ length: 20_001 }, (_, at) => [`example.com/r${at}`, '1']));
    const fault = 'a pod in a namespace with limit ranges may name 20000 amounts at most';
    expect(await why(pod('pods', [{ limits: many }]))).toBe(fault);
    expect(await why(pod('open', [{ limits: many }]))).toBeUndefined();
  });

  it('is refused when limit ranges would set more amounts than a pod may have', async () => {
    await server.create('namespaces', { name: 'wide' });
    const wide = Object.fromEntries(Array.from({ length: 1_001 }, (_, at) => [`example.com/r${at}`, '1']));
    await server.create('limitranges', {
      name: 'r',
      namespace: 'wide',
      spec: { limits: [{ type: 'Container', default: wide }] },
    });
    const containers = Array.from({ length: 100 }, () => ({}));
    await expect.poll(() => why(pod('wide', containers))).toBe('limit ranges would set more than 100000 amounts');
  });

  it.each<[object[], object, string | undefined]>([
    [[{ limits: { cpu: '1' } }, { limits: { cpu: '400m' } }], {}, undefined],
    [[{ limits: { cpu: '1' } }, { limits: { cpu: '600m' } }], {}, '1600m'],
    [[{ limits: { cpu: '1' } }], { initContainers: [{ name: 'i', resources: { limits: { cpu: '2' } } }] }, '2'],
    [[{ limits: { cpu: '2' } }], { resources: { limits: { cpu: '1' } } }, undefined],
    [[{ limits: { cpu: '1' } }], { resources: { limits: { cpu: '2' } } }, '2'],
  ])('is measured as a whole: %j with %j', async (containers, more, limit) => {
    const fault = `maximum cpu usage per Pod is 1500m, but limit is ${limit}`;
    expect(await why(pod('pods', containers, more))).toBe(limit === undefined ? undefined : fault);
  });
});

it.each([
  ['512Mi', 'minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 512Mi'],
  ['3Gi', 'maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 3Gi'],
  ['2Gi', undefined],
])('a claim of %s: %s', async (storage, expected) => {
  const claim = {
    name: `v${storage}`.toLowerCase(),
    namespace: 'claims',
    spec: { resources: { requests: { storage } } },
  };
  expect(await why(server.create('persistentvolumeclaims', claim))).toBe(expected);
});

describe('a change', () => {
  const big = { spec: { containers: [{ name: 'c', resources: { limits: { cpu: '2' } } }] } } as UnstructuredObject;
  const gone = { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } } as UnstructuredObject;
  it.each<[string, string, UnstructuredObject, boolean]>([
    ['of a pod', '', {}, false],
    ['of the amounts of a pod', 'resize', {}, true],
    ['of the amounts of a pod that is being deleted', 'resize', gone, false],
    ['of the state of a pod', 'status', {}, false],
  ])('%s by %j is measured: %j, %s', async (_what, subresource, oldObject, isMeasured) => {
    const plugin = new LimitRanger(new ObjectReader(server.catalog));
    const resource = { group: '', version: 'v1', resource: 'pods' };
    const kind = { group: '', version: 'v1', kind: 'Pod' };
    const attributes = testAttributes({ resource, kind, subresource, namespace: 'small', object: big, oldObject });
    expect((await objection(() => plugin.validate(attributes))) !== undefined).toBe(isMeasured);
  });
});

it('a range that changed counts in its new form', async () => {
  await server.create('namespaces', { name: 'changing' });
  const limits = [{ type: 'Container', max: { cpu: '1' } }];
  await server.create('limitranges', { name: 'r', namespace: 'changing', spec: { limits } });
  await expect.poll(() => why(pod('changing', [{ limits: { cpu: '2' } }]))).toContain('maximum cpu usage');
  const wider = { limits: [{ type: 'Container', max: { cpu: '3' } }] };
  await server.store('limitranges').update(testContext({ namespace: 'changing' }), {
    name: 'r',
    transform: (old) => ({ ...old, spec: wider }),
  });
  await expect.poll(() => why(pod('changing', [{ limits: { cpu: '2' } }]))).toBeUndefined();
});
