// Cases of lists and maps in kinds with special validation rules, valid and invalid.
import { creates, type GrowthCase, pod, pods, times } from '../growth-case.ts';

const container = (more: object) => ({ containers: [{ name: 'c', image: 'i', ...more }] });
/** Updates a pod in a way that is refused, with an error that shows the differences. */
const refusesUpdate = (name: string, full: number, spec: (n: number, isNext: boolean) => object): GrowthCase => ({
  ...{ name, full, codes: [413, 422], made: [`${pods}/growth`] },
  prepare: (n) => [{ method: 'POST', path: pods, body: pod(spec(n, false)) }],
  request: (n) => ({ method: 'PUT', path: `${pods}/growth`, body: pod(spec(n, true)) }),
});
const ofPod = { path: `${pods}`, codes: [201, 413, 422] } as const;

const ofWebhook = {
  path: '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations',
  codes: [201, 422],
} as const;
const webhookOf = (clientConfig: object) => ({
  metadata: { name: 'growth' },
  webhooks: [{ name: 'a.b.c', sideEffects: 'None', admissionReviewVersions: ['v1'], clientConfig }],
});

export const validationCases: readonly GrowthCase[] = [
  creates('pod of many volumes', {
    ...ofPod,
    full: 80_000,
    body: (n) => pod({ volumes: times(n, (i) => ({ name: `v${i}`, emptyDir: {} })) }),
  }),
  creates('pod of many ports', {
    ...ofPod,
    full: 60_000,
    body: (n) => pod(container({ ports: times(n, (i) => ({ containerPort: (i % 65_535) + 1 })) })),
  }),
  creates('pod of many env', {
    ...ofPod,
    full: 60_000,
    body: (n) => pod(container({ env: times(n, (i) => ({ name: `E${i}`, value: 'x' })) })),
  }),
  refusesUpdate('refused update of a pod of many volumes', 40_000, (n, isNext) => ({
    volumes: times(n, (i) => ({ name: `${isNext ? 'w' : 'v'}${i}`, emptyDir: {} })),
  })),
  refusesUpdate('refused update of every other argument of a pod', 4_700, (n, isNext) =>
    container({ args: times(n, (i) => (isNext && i % 2 === 0 ? `b${i}` : `a${i}`)) }),
  ),
  creates('webhook whose URL is of marks to escape', {
    ...ofWebhook,
    full: 700_000,
    body: (n) => webhookOf({ url: '$('.repeat(n) }),
  }),
  creates('webhook whose path is of slashes', {
    ...ofWebhook,
    full: 1_400_000,
    body: (n) => webhookOf({ service: { namespace: 'default', name: 'a', path: '/'.repeat(n) } }),
  }),
  creates('webhook whose certificates are of line breaks', {
    ...ofWebhook,
    full: 700_000,
    body: (n) => webhookOf({ url: 'https://a', caBundle: '\n'.repeat(n) }),
  }),
  creates('resource slice whose pool is named by slashes', {
    path: '/apis/resource.k8s.io/v1/resourceslices',
    codes: [422],
    full: 1_400_000,
    body: (n) => ({
      metadata: { name: 'growth' },
      spec: { driver: 'a.b', allNodes: true, pool: { name: '/'.repeat(n), resourceSliceCount: 1, generation: 1 } },
    }),
  }),
];
