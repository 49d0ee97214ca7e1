// Cases of admission plug-ins that read objects of the namespace: pod security, limit ranges and quotas.
import { configMaps, type GrowthCase, type GrowthRequest, members, pod, times } from '../growth-case.ts';

/** Creates or changes a separate namespace for a case, with the service account that pods need. */
function namespace(name: string, labels: object = {}): GrowthRequest[] {
  const path = `/api/v1/namespaces/${name}`;
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default' } };
  return [
    apply(path, { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } }),
    apply(`${path}/serviceaccounts/default`, account),
  ];
}

function limitRange(namespaceName: string, limits: readonly object[]): GrowthRequest {
  const body = { apiVersion: 'v1', kind: 'LimitRange', metadata: { name: 'growth' }, spec: { limits } };
  return apply(`/api/v1/namespaces/${namespaceName}/limitranges/growth`, body);
}

/** Returns a quota that is counted: nothing is used. */
function quota(namespaceName: string, hard: Readonly<Record<string, string>>, name = 'growth'): GrowthRequest[] {
  const path = `/api/v1/namespaces/${namespaceName}/resourcequotas/${name}`;
  const body = { apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name } };
  const used = Object.fromEntries(Object.keys(hard).map((resource) => [resource, '0']));
  return [apply(path, { ...body, spec: { hard } }), apply(`${path}/status`, { ...body, status: { hard, used } })];
}

function apply(path: string, body: object): GrowthRequest {
  const query = '?fieldManager=growth&force=true';
  return { method: 'PATCH', path: path + query, contentType: 'application/apply-patch+yaml', body };
}

const bad = { privileged: true, runAsUser: 0, capabilities: { add: ['SYS_ADMIN'] } };
const containers = (n: number, more: object): object[] =>
  times(n, (index) => ({ name: `c${index}`, image: 'i', ...more }));

type Creation = Pick<GrowthCase, 'full' | 'prepare'> & {
  readonly body: (n: number) => object;
  /** Number of quotas in the largest preparation. Absent = one. */
  readonly quotas?: number;
};

function quotasOf(space: string, { quotas = 1 }: Creation): string[] {
  return ['', ...times(quotas, String)].map((suffix) => `/api/v1/namespaces/${space}/resourcequotas/growth${suffix}`);
}

function createsIn(name: string, space: string, given: Creation): GrowthCase {
  const path = `/api/v1/namespaces/${space}/pods`;
  return {
    name,
    full: given.full,
    ...(given.prepare && { prepare: given.prepare }),
    request: (n) => ({ method: 'POST', path, body: given.body(n) }),
    made: [`${path}/growth`, `/api/v1/namespaces/${space}/limitranges/growth`, ...quotasOf(space, given)],
    codes: [201, 403, 413, 422],
  };
}

const registration = '/apis/admissionregistration.k8s.io/v1';
const scalers = '/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers';

/** The policy sees autoscalers in another version than the sent one. */
const scalerPolicy = {
  metadata: { name: 'growth' },
  spec: {
    matchConstraints: {
      resourceRules: [
        {
          apiGroups: ['autoscaling'],
          apiVersions: ['v1'],
          operations: ['CREATE'],
          resources: ['horizontalpodautoscalers'],
        },
      ],
    },
    validations: [{ expression: "object.spec.maxReplicas > 0 && object.apiVersion == 'autoscaling/v1'" }],
  },
};
const scalerBinding = { metadata: { name: 'growth' }, spec: { policyName: 'growth', validationActions: ['Deny'] } };

function scaler(n: number): object {
  const target = { type: 'AverageValue', averageValue: '1' };
  const metrics = times(n, (index) => ({ type: 'Pods', pods: { metric: { name: `m${index}` }, target } }));
  const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' };
  return { metadata: { name: 'growth' }, spec: { maxReplicas: 2, scaleTargetRef, metrics } };
}

export const admissionCases: readonly GrowthCase[] = [
  createsIn('containers that break every rule of pod security', 'growth-strict', {
    full: 25_000,
    prepare: () => [...namespace('growth-strict', { 'pod-security.kubernetes.io/enforce': 'restricted' })],
    body: (n) => pod({ containers: containers(n, { securityContext: bad }) }),
  }),
  createsIn('containers that a limit range gives amounts', 'growth-limits', {
    full: 40_000,
    prepare: () => [
      ...namespace('growth-limits'),
      limitRange('growth-limits', [{ type: 'Container', max: { cpu: '1', memory: '1Gi' } }]),
    ],
    body: (n) => pod({ containers: containers(n, {}) }),
  }),
  createsIn('containers outside of the bounds of a limit range', 'growth-limits', {
    full: 30_000,
    prepare: () => [
      ...namespace('growth-limits'),
      limitRange('growth-limits', [
        { type: 'Container', max: { cpu: '1' } },
        { type: 'Pod', max: { cpu: '1' } },
      ]),
    ],
    body: (n) => pod({ containers: containers(n, { resources: { limits: { cpu: '2' } } }) }),
  }),
  createsIn('a limit range of many bounds', 'growth-limits', {
    full: 60_000,
    prepare: (n) => [
      ...namespace('growth-limits'),
      limitRange('growth-limits', [{ type: 'Pod', max: members(n, () => '1', 'example.com/r') }]),
    ],
    body: () => pod({ containers: containers(50, {}) }),
  }),
  createsIn('containers whose amounts a quota counts', 'growth-quotas', {
    full: 30_000,
    prepare: () => [
      ...namespace('growth-quotas'),
      ...quota('growth-quotas', { 'requests.cpu': '1k', 'limits.cpu': '1k' }),
    ],
    body: (n) => pod({ containers: containers(n, { resources: { limits: { cpu: '1m' } } }) }),
  }),
  createsIn('containers that do not name what a quota limits', 'growth-quotas', {
    full: 40_000,
    prepare: () => [...namespace('growth-quotas'), ...quota('growth-quotas', { 'requests.cpu': '1', memory: '1Gi' })],
    body: (n) => pod({ containers: containers(n, {}) }),
  }),
  createsIn('containers whose amounts a pod as a whole replaces', 'growth-plain', {
    full: 30_000,
    prepare: () => [...namespace('growth-plain')],
    body: (n) =>
      pod({
        containers: containers(n, { resources: { limits: { cpu: '1m' } } }),
        resources: { limits: { memory: '1Gi' } },
      }),
  }),
  createsIn('amounts of one container that a quota counts', 'growth-quotas', {
    full: 50_000,
    prepare: () => [...namespace('growth-quotas'), ...quota('growth-quotas', { pods: '1k' })],
    body: (n) => pod({ containers: containers(1, { resources: { limits: members(n, () => '1', 'example.com/r') } }) }),
  }),
  createsIn('a quota of many names', 'growth-quotas', {
    // The quota names each resource in its spec, its status and its managed fields: 200 bytes in a store of 1.5 MiB.
    full: 7_000,
    prepare: (n) => [
      ...namespace('growth-quotas'),
      ...quota(
        'growth-quotas',
        members(n, () => '1k', 'requests.example.com/r'),
      ),
    ],
    body: () => pod({ containers: containers(1, { resources: { limits: { 'example.com/r0': '1' } } }) }),
  }),
  createsIn('many quotas in a namespace', 'growth-many-quotas', {
    full: 400,
    quotas: 400,
    prepare: (n) => [
      ...namespace('growth-many-quotas'),
      ...times(n, (index) => quota('growth-many-quotas', { pods: '1k' }, `growth${index}`)).flat(),
    ],
    body: () => pod({}),
  }),
  {
    name: 'an object that functions of the program admit',
    full: 60_000,
    request: (n) => ({
      method: 'POST',
      path: '/apis/apps/v1/namespaces/default/controllerrevisions',
      body: { metadata: { name: 'growth' }, revision: 1, data: members(n, () => ['a', { b: 1 }]) },
    }),
    made: ['/apis/apps/v1/namespaces/default/controllerrevisions/growth'],
    codes: [201],
  },
  {
    name: 'an object that a policy wants in another version',
    full: 8_000,
    prepare: () => [
      { method: 'POST', path: `${registration}/validatingadmissionpolicies`, body: scalerPolicy },
      { method: 'POST', path: `${registration}/validatingadmissionpolicybindings`, body: scalerBinding },
    ],
    request: (n) => ({ method: 'POST', path: scalers, body: scaler(n) }),
    made: [
      `${scalers}/growth`,
      `${registration}/validatingadmissionpolicies/growth`,
      `${registration}/validatingadmissionpolicybindings/growth`,
    ],
    codes: [201],
  },
  {
    name: 'a large object that is deleted',
    full: 60_000,
    prepare: (n) => [
      {
        method: 'POST',
        path: configMaps,
        body: { metadata: { name: 'growth' }, data: members(n, () => 'value') },
      },
    ],
    request: () => ({ method: 'DELETE', path: `${configMaps}/growth` }),
    made: [`${configMaps}/growth`],
    codes: [200],
  },
];
