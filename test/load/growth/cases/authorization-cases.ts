// Cases of authorization: reviews of access that fill a request, and pods that relate many objects to their node.
import { type GrowthCase, type GrowthRequest, members, pods, times } from '../growth-case.ts';

const reviews = '/apis/authorization.k8s.io/v1/subjectaccessreviews';
const group = ['system:nodes'];

const review = (spec: object): GrowthRequest => ({
  method: 'POST',
  path: reviews,
  body: { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec },
});
const secret = { verb: 'get', resource: 'secrets', namespace: 'default', name: 's0' };
const pod = (name: string, volumes: number) => ({
  metadata: { name },
  spec: {
    nodeName: 'growth',
    terminationGracePeriodSeconds: 0,
    containers: [{ name: 'c', image: 'i' }],
    volumes: times(volumes, (i) => ({ name: `v${i}`, secret: { secretName: `s${i}` } })),
  },
});

export const authorizationCases: readonly GrowthCase[] = [
  {
    name: 'a review of access for a user with many groups',
    full: 100_000,
    request: (n) =>
      review({
        user: 'system:node:growth',
        groups: [...times(n, (i) => `g${i}`), ...group],
        resourceAttributes: secret,
      }),
  },
  {
    name: 'a review of access for a user with many extra values',
    full: 50_000,
    request: (n) => review({ user: 'u', extra: members(n, (i) => [`v${i}`]), resourceAttributes: secret }),
  },
  {
    name: 'a review of access with many field requirements',
    full: 30_000,
    request: (n) => {
      const requirements = times(n, (i) => ({ key: `f${i}`, operator: 'In', values: [`v${i}`] }));
      return review({
        user: 'system:node:growth',
        groups: group,
        resourceAttributes: { verb: 'list', resource: 'pods', fieldSelector: { requirements } },
      });
    },
  },
  {
    name: 'a pod on a node with many volumes',
    full: 15_000,
    request: (n) => ({ method: 'POST', path: pods, body: pod('growth', n) }),
    made: [`${pods}/growth`],
  },
  {
    name: 'a review of access for a node with many pods',
    full: 400,
    prepare: (n) => times(n, (i) => ({ method: 'POST', path: pods, body: pod(`growth-${i}`, 3) })),
    request: () => review({ user: 'system:node:growth', groups: group, resourceAttributes: { ...secret, name: 's2' } }),
    // All pods of the namespace.
    made: [pods],
  },
];
