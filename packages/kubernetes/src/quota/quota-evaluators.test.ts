import { runWhole } from '@kapstan/api/internal';
import { VirtualClock } from '@kapstan/api/testing';
import { describe, expect, it } from 'vitest';
import { addAmounts, amountsWhere, formatAmounts, formatUsage, increases, isSameUsage, one, zero } from './amounts.ts';
import { DeviceClassNames } from './device-class-names.ts';
import { podAmounts } from './pod-amounts.ts';
import { measuredNames } from './quota-evaluator.ts';
import { QuotaEvaluators } from './quota-evaluators.ts';
import type { ScopeTerm } from './quota-scope.ts';
import { formatScopeTerm } from './quota-scope.ts';

const clock = new VirtualClock();
const classes = new DeviceClassNames();
const stored = { pod: undefined as object | undefined, claims: [] as object[] };
const evaluators = new QuotaEvaluators({
  clock,
  classes,
  pod: async () => stored.pod as never,
  claims: async () => stored.claims as never,
});
const evaluatorOf = (resource: string, group = '') => {
  const found = evaluators.of({ group, resource });
  if (found === undefined) throw new Error(`nobody measures ${resource}`);
  return found;
};
const used = (resource: string, object: object, group = ''): Record<string, string> =>
  formatUsage(runWhole(evaluatorOf(resource, group).usage(object)));
const containers = (...resources: object[]): object[] =>
  resources.map((each, at) => ({ name: `c${at}`, resources: each }));
const podOf = (spec: object, status: object = {}): object => ({ metadata: { name: 'p' }, spec, status });
const term = (scopeName: string, operator = 'Exists', values?: string[]): ScopeTerm =>
  ({ scopeName, operator, ...(values && { values }) }) as ScopeTerm;

describe('what a pod uses', () => {
  it('is what its containers need at the peak, with sidecars, overhead and all names of each amount', () => {
    const spec = {
      containers: containers({
        requests: { cpu: '100m', memory: '1Mi', 'hugepages-2Mi': '4Mi' },
        limits: { cpu: '1' },
      }),
      initContainers: [
        { name: 'side', restartPolicy: 'Always', resources: { requests: { cpu: '10m' } } },
        { name: 'init', resources: { requests: { cpu: '500m', 'example.com/gpu': '1' }, limits: { cpu: '2' } } },
      ],
      overhead: { cpu: '5m', memory: '1Mi' },
    };
    expect(used('pods', podOf(spec))).toEqual({
      'count/pods': '1',
      pods: '1',
      cpu: '515m',
      'requests.cpu': '515m',
      memory: '2Mi',
      'requests.memory': '2Mi',
      'limits.cpu': '2005m',
      'hugepages-2Mi': '4Mi',
      'requests.hugepages-2Mi': '4Mi',
      'requests.example.com/gpu': '1',
    });
  });

  it('is only the count once it has ended, or its node did not stop it in time', () => {
    const spec = { containers: containers({ requests: { cpu: '1' } }) };
    expect(used('pods', podOf(spec, { phase: 'Succeeded' }))).toEqual({ 'count/pods': '1' });
    expect(used('pods', podOf(spec, { phase: 'Failed' }))).toEqual({ 'count/pods': '1' });
    const ending = { deletionTimestamp: '1970-01-01T00:00:00Z', deletionGracePeriodSeconds: 30 };
    const late = new Date(clock.now()).toISOString();
    expect(used('pods', { ...podOf(spec), metadata: ending })).toEqual({ 'count/pods': '1' });
    const inTime = { deletionTimestamp: late, deletionGracePeriodSeconds: 30 };
    expect(used('pods', { ...podOf(spec), metadata: inTime })).toMatchObject({ pods: '1', cpu: '1' });
  });

  it('is the larger of what it asks for and what it has while it is resized, unless its node refused', () => {
    const spec = { containers: containers({ requests: { cpu: '3' }, limits: { cpu: '4' } }) };
    const has = {
      name: 'c0',
      resources: { requests: { cpu: '1' }, limits: { cpu: '5' } },
      allocatedResources: { cpu: '2' },
    };
    const status = { containerStatuses: [has] };
    expect(used('pods', podOf(spec, status))).toMatchObject({ cpu: '3', 'limits.cpu': '5' });
    const conditions = [{ type: 'PodResizePending', reason: 'Infeasible' }];
    expect(used('pods', podOf(spec, { ...status, conditions }))).toMatchObject({ cpu: '2', 'limits.cpu': '5' });
  });

  it('is what the pod names for itself, for the names that a pod may have', () => {
    const spec = {
      containers: containers({
        requests: { cpu: '1', memory: '1Mi', 'ephemeral-storage': '1' },
        limits: { memory: '2Mi' },
      }),
      resources: { requests: { cpu: '5' }, limits: { memory: '7Mi' } },
    };
    expect(used('pods', podOf(spec))).toMatchObject({
      cpu: '5',
      memory: '1Mi',
      'ephemeral-storage': '1',
      'limits.memory': '7Mi',
    });
  });

  it('must be named by each container for cpu and memory that are limited', () => {
    const missing = (names: string[], spec: object): string | undefined =>
      runWhole(evaluatorOf('pods').missingAmounts?.(names, podOf(spec)) ?? nothing());
    const spec = {
      containers: containers({ requests: { cpu: '1' } }, {}),
      initContainers: [{ name: 'b' }, { name: 'a' }],
    };
    expect(missing(['requests.cpu', 'limits.memory', 'pods', 'requests.ephemeral-storage'], spec)).toBe(
      'must specify limits.memory for: a,b,c0,c1; requests.cpu for: a,b,c1',
    );
    expect(missing(['pods'], spec)).toBeUndefined();
    expect(missing(['cpu'], { ...spec, resources: { requests: { memory: '1' } } })).toBeUndefined();
    expect(missing(['cpu'], { containers: containers({ requests: { cpu: '1' } }) })).toBeUndefined();
  });
});

// biome-ignore lint/correctness/useYield: it stands for a measure that requires nothing.
function* nothing(): Generator<undefined, undefined, undefined> {
  return undefined;
}

describe('the scopes of a pod', () => {
  const inScope = (scope: ScopeTerm, spec: object): boolean | undefined =>
    evaluatorOf('pods').matchesScope?.(scope, podOf({ containers: [], ...spec }));
  const terms = [{ topologyKey: 'z', namespaces: ['other'] }];

  it.each([
    [term('Terminating'), { activeDeadlineSeconds: 0 }, {}],
    [term('NotTerminating'), {}, { activeDeadlineSeconds: 5 }],
    [term('BestEffort'), {}, { containers: containers({ requests: { cpu: '1' } }) }],
    [term('NotBestEffort'), { containers: containers({ limits: { memory: '1' } }) }, {}],
    [term('PriorityClass'), { priorityClassName: 'high' }, {}],
    [term('PriorityClass', 'In', ['high']), { priorityClassName: 'high' }, { priorityClassName: 'low' }],
    [term('PriorityClass', 'NotIn', ['high']), { priorityClassName: 'low' }, { priorityClassName: 'high' }],
    [term('PriorityClass', 'NotIn', ['high']), {}, { priorityClassName: 'high' }],
    [term('PriorityClass', 'DoesNotExist'), {}, { priorityClassName: 'high' }],
    [
      term('CrossNamespacePodAffinity'),
      { affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } } },
      { affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'z' }] } } },
    ],
    [
      term('CrossNamespacePodAffinity'),
      {
        affinity: {
          podAntiAffinity: {
            preferredDuringSchedulingIgnoredDuringExecution: [
              { weight: 1, podAffinityTerm: { topologyKey: 'z', namespaceSelector: {} } },
            ],
          },
        },
      },
      {},
    ],
  ])('%j has one and not the other', (scope, inside, outside) => {
    expect(inScope(scope, inside)).toBe(true);
    expect(inScope(scope, outside)).toBe(false);
  });

  it('are none of those of claims', () => {
    expect(inScope(term('VolumeAttributesClass'), {})).toBe(false);
    expect(formatScopeTerm(term('PriorityClass', 'In', ['a', 'b']))).toBe('{PriorityClass In [a b]}');
    expect(formatScopeTerm(term('BestEffort'))).toBe('{BestEffort Exists []}');
  });
});

describe('what a claim of a volume uses', () => {
  const claim = (spec: object, more: object = {}): object => ({ metadata: { name: 'c' }, spec, ...more });
  const asks = (storage: string): object => ({ resources: { requests: { storage } } });

  it('is counted in total and for its class, in whole bytes', () => {
    expect(used('persistentvolumeclaims', claim({ ...asks('1500m'), storageClassName: 'gold' }))).toEqual({
      persistentvolumeclaims: '1',
      'count/persistentvolumeclaims': '1',
      'gold.storageclass.storage.k8s.io/persistentvolumeclaims': '1',
      'requests.storage': '2',
      'gold.storageclass.storage.k8s.io/requests.storage': '2',
    });
    const annotations = { 'volume.beta.kubernetes.io/storage-class': 'old' };
    expect(
      used('persistentvolumeclaims', { ...claim({ storageClassName: 'gold' }), metadata: { annotations } }),
    ).toMatchObject({
      'old.storageclass.storage.k8s.io/persistentvolumeclaims': '1',
    });
  });

  it('is what it got when that is more', () => {
    const status = { allocatedResources: { storage: '3Gi' } };
    expect(used('persistentvolumeclaims', claim(asks('2Gi'), { status }))).toMatchObject({ 'requests.storage': '3Gi' });
    expect(used('persistentvolumeclaims', claim(asks('4Gi'), { status }))).toMatchObject({ 'requests.storage': '4Gi' });
  });

  it('is in the scope of each attributes class that it has, had or gets', () => {
    const evaluator = evaluatorOf('persistentvolumeclaims');
    const inScope = (scope: ScopeTerm, object: object): boolean | undefined => evaluator.matchesScope?.(scope, object);
    const scope = term('VolumeAttributesClass', 'In', ['fast']);
    expect(inScope(scope, claim({ volumeAttributesClassName: 'fast' }))).toBe(true);
    expect(inScope(scope, claim({}, { status: { currentVolumeAttributesClassName: 'fast' } }))).toBe(true);
    const modifyVolumeStatus = { targetVolumeAttributesClassName: 'fast' };
    expect(inScope(scope, claim({}, { status: { modifyVolumeStatus } }))).toBe(true);
    expect(inScope(scope, claim({}))).toBe(false);
    expect(inScope(term('BestEffort'), claim({}))).toBe(false);
  });
});

describe('what a service uses', () => {
  it.each([
    ['ClusterIP', {}, '0', '0'],
    ['NodePort', {}, '2', '0'],
    ['LoadBalancer', {}, '2', '1'],
    ['LoadBalancer', { allocateLoadBalancerNodePorts: false }, '1', '1'],
  ])('of type %s %j', (type, more, nodePorts, balancers) => {
    const ports = [{ port: 80, nodePort: 30_080 }, { port: 81 }];
    expect(used('services', { spec: { type, ports, ...more } })).toEqual({
      'count/services': '1',
      services: '1',
      'services.nodeports': nodePorts,
      'services.loadbalancers': balancers,
    });
  });
});

describe('what a claim of devices uses', () => {
  const of = (requests: object[], metadata: object = {}): Record<string, string> =>
    used(
      'resourceclaims',
      { metadata: { name: 'c', namespace: 'n', ...metadata }, spec: { devices: { requests } } },
      'resource.k8s.io',
    );
  const exactly = (deviceClassName: string, more: object): object => ({ exactly: { deviceClassName, ...more } });

  it('is the sum of its requests, the worst case of each', () => {
    const firstAvailable = [
      { deviceClassName: 'a', allocationMode: 'ExactCount', count: 2 },
      { deviceClassName: 'a', allocationMode: 'ExactCount', count: 3 },
      { deviceClassName: 'b', allocationMode: 'All' },
      { deviceClassName: 'c', allocationMode: 'Unknown', count: 9 },
    ];
    expect(of([{ firstAvailable }, exactly('a', { allocationMode: 'ExactCount', count: 4 })])).toEqual({
      'count/resourceclaims.resource.k8s.io': '1',
      'a.deviceclass.resource.k8s.io/devices': '7',
      'b.deviceclass.resource.k8s.io/devices': '32',
      'requests.deviceclass.resource.kubernetes.io/a': '7',
      'requests.deviceclass.resource.kubernetes.io/b': '32',
    });
  });

  it('counts as the extended resource of its class, and older versions name the class in the request', () => {
    classes.replace([{ metadata: { name: 'gpu' }, spec: { extendedResourceName: 'example.com/gpu' } } as never]);
    const counted = of([{ deviceClassName: 'gpu', allocationMode: 'ExactCount', count: 2 }]);
    expect(counted).toMatchObject({ 'requests.example.com/gpu': '2', 'gpu.deviceclass.resource.k8s.io/devices': '2' });
    const evaluator = evaluatorOf('resourceclaims', 'resource.k8s.io');
    expect(evaluator.measures('requests.example.com/gpu')).toBe(true);
    expect(evaluator.measures('requests.deviceclass.resource.kubernetes.io/gpu')).toBe(true);
    classes.set({ metadata: { name: 'gpu' }, spec: {} } as never);
    expect(evaluator.measures('requests.example.com/gpu')).toBe(false);
    expect(evaluator.measures('requests.deviceclass.resource.kubernetes.io/gpu')).toBe(true);
    classes.delete({ metadata: { name: 'gpu' } });
    expect(evaluator.measures('requests.deviceclass.resource.kubernetes.io/gpu')).toBe(false);
    expect(evaluator.measures('requests.cpu')).toBe(false);
    expect(evaluator.measures('gpu.deviceclass.resource.k8s.io/devices')).toBe(true);
  });
});

describe('names of a quota', () => {
  it.each([
    [
      'pods',
      '',
      ['pods', 'count/pods', 'requests.cpu', 'hugepages-1Gi', 'requests.hugepages-1Gi', 'requests.example.com/x'],
    ],
    ['services', '', ['services', 'count/services', 'services.nodeports', 'services.loadbalancers']],
    ['persistentvolumeclaims', '', ['requests.storage', 'a.storageclass.storage.k8s.io/requests.storage']],
    ['secrets', '', ['secrets', 'count/secrets']],
    ['deployments', 'apps', ['count/deployments.apps']],
    ['foos', 'example.com', ['count/foos.example.com']],
  ])('that concern %s.%s', (resource, group, names) => {
    const all = Object.fromEntries([...names, 'count/others', 'deployments', 'limits.gpu'].map((name) => [name, '1']));
    expect(runWhole(measuredNames(evaluatorOf(resource, group), all))).toEqual(names);
  });

  it('count neither events nor what is not stored', () => {
    for (const [group, resource] of [
      ['', 'events'],
      ['events.k8s.io', 'events'],
      ['', 'bindings'],
      ['authorization.k8s.io', 'subjectaccessreviews'],
    ] as const)
      expect(evaluators.of({ group, resource })).toBeUndefined();
  });
});

describe('amounts', () => {
  it('are compared and told whatever their form', () => {
    expect(isSameUsage({ a: '1', b: '1000m' }, { b: '1', a: '1' })).toBe(true);
    expect(isSameUsage({ a: '1' }, { b: '1' })).toBe(false);
    expect(isSameUsage({ a: '1' }, {})).toBe(false);
    expect(
      formatAmounts(
        new Map([
          ['b', one],
          ['a', zero],
        ]),
      ),
    ).toBe('a=0,b=1');
    expect(
      runWhole(
        increases(
          new Map([
            ['a', one],
            ['b', zero],
          ]),
          new Map([['b', one]]),
        ),
      ),
    ).toEqual(new Map([['a', one]]));
  });

  it('gives way while it goes through many', () => {
    const many = new Map(Array.from({ length: 50_000 }, (_, index) => [`r${index}`, one]));
    const stops = (work: Iterable<unknown>): number => [...work].length;
    expect(stops(addAmounts(new Map(many), many))).toBeGreaterThan(40);
    expect(stops(increases(many, new Map()))).toBeGreaterThan(40);
    expect(stops(amountsWhere(many, () => true))).toBeGreaterThan(40);
    const limits = Object.fromEntries(Array.from({ length: 50_000 }, (_, index) => [`example.com/r${index}`, '1']));
    const pod = { spec: { containers: [{ name: 'a', image: 'a', resources: { limits } }] } };
    // The amounts are read, then added up.
    expect(stops(podAmounts(pod, 'limits'))).toBeGreaterThan(140);
  });
});
