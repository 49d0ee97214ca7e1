// Cases of admission plug-ins that read objects of the namespace: pod security and limit ranges.
import { type GrowthCase, type GrowthRequest, members, pod, times } from '../growth-case.ts';

/** Creates or changes a namespace of its own for a case, with the service account that pods need. */
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

function apply(path: string, body: object): GrowthRequest {
  const query = '?fieldManager=growth&force=true';
  return { method: 'PATCH', path: path + query, contentType: 'application/apply-patch+yaml', body };
}

const bad = { privileged: true, runAsUser: 0, capabilities: { add: ['SYS_ADMIN'] } };
const containers = (n: number, more: object): object[] =>
  times(n, (index) => ({ name: `c${index}`, image: 'i', ...more }));

function createsIn(
  name: string,
  space: string,
  given: Pick<GrowthCase, 'full' | 'prepare'> & { body: (n: number) => object },
): GrowthCase {
  const path = `/api/v1/namespaces/${space}/pods`;
  return {
    name,
    full: given.full,
    ...(given.prepare && { prepare: given.prepare }),
    request: (n) => ({ method: 'POST', path, body: given.body(n) }),
    made: [`${path}/growth`, `/api/v1/namespaces/${space}/limitranges/growth`],
    codes: [201, 403, 422],
  };
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
];
