// Tests that the rules of kinds have linear cost: four times the items take about four times the CPU. Looking through
// all items for each of them would take sixteen times as much.
import type { UnstructuredObject } from '@kapstan/api';
import type { ResourceDefinition } from '@kapstan/apiserver';
import { testContext } from '@kapstan/apiserver/testing';
import { describe, expect, it } from 'vitest';
import { builtinResources } from './builtin-resources.ts';

const definitions = new Map(
  builtinResources().map((definition) => [`${definition.group}/${definition.resource}`, definition]),
);
const context = testContext();

type Part = Record<string, unknown>;
const times = <T>(count: number, of: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => of(index));
const container = (more: Part): Part => ({ name: 'c', image: 'i', ...more });
const pod = (spec: Part, metadata: Part = {}): Part => ({ metadata, spec: { containers: [container({})], ...spec } });

/** Objects with n items that were once compared with each other. */
const growing: readonly (readonly [name: string, resource: string, of: (n: number) => Part])[] = [
  [
    'mounts of volumes',
    '/pods',
    (n) =>
      pod({
        volumes: times(n, (i) => ({ name: `v${i}`, emptyDir: {} })),
        containers: [container({ volumeMounts: times(n, (i) => ({ name: `v${n - i - 1}`, mountPath: `/${i}` })) })],
      }),
  ],
  [
    'devices beside mounts',
    '/pods',
    (n) =>
      pod({
        volumes: times(n, (i) => ({ name: `v${i}`, persistentVolumeClaim: { claimName: 'c' } })),
        containers: [
          container({
            volumeMounts: times(n, (i) => ({ name: `v${i}`, mountPath: `/${i}` })),
            volumeDevices: times(n, (i) => ({ name: `v${n - i - 1}`, devicePath: `/dev/${i}` })),
          }),
        ],
      }),
  ],
  [
    'keys of files',
    '/pods',
    (n) =>
      pod({
        volumes: times(n, (i) => ({ name: `v${i}`, emptyDir: {} })),
        containers: [
          container({
            env: times(n, (i) => ({
              name: `E${i}`,
              valueFrom: { fileKeyRef: { volumeName: `v${n - i - 1}`, path: 'p', key: 'k' } },
            })),
          }),
        ],
      }),
  ],
  [
    'equal ports',
    '/pods',
    (n) => pod({ containers: [container({ ports: times(n, () => ({ containerPort: 80, protocol: 'TCP' })) })] }),
  ],
  [
    'ports on other ports of the host',
    '/pods',
    (n) =>
      pod({
        containers: [container({ ports: times(n, (i) => ({ containerPort: 80, hostPort: 1 + i, protocol: 'TCP' })) })],
      }),
  ],
  [
    'files of a volume',
    '/pods',
    (n) =>
      pod({
        volumes: [{ name: 'v', configMap: { name: 'c', items: times(n, (i) => ({ key: 'k', path: `p${i}` })) } }],
      }),
  ],
  ['aliases of hosts', '/pods', (n) => pod({ hostAliases: times(n, (i) => ({ ip: `10.0.${i >> 8}.${i & 255}` })) })],
  [
    'claims of a container',
    '/pods',
    (n) =>
      pod({
        resourceClaims: times(n, (i) => ({ name: `c${i}`, resourceClaimName: 'r' })),
        containers: [container({ resources: { claims: times(n, (i) => ({ name: `x${i}`, request: 'a' })) } })],
      }),
  ],
  [
    'spread constraints',
    '/pods',
    (n) =>
      pod({
        topologySpreadConstraints: times(n, (i) => ({
          maxSkew: 1,
          topologyKey: `k${i}`,
          whenUnsatisfiable: 'DoNotSchedule',
          labelSelector: {},
        })),
      }),
  ],
  [
    'label keys of an affinity',
    '/pods',
    (n) =>
      pod({
        affinity: {
          podAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: [
              {
                topologyKey: 'k',
                labelSelector: { matchExpressions: times(n, (i) => ({ key: `e${i}`, operator: 'Exists' })) },
                matchLabelKeys: times(n, (i) => `m${i}`),
                mismatchLabelKeys: times(n, (i) => `n${i}`),
              },
            ],
          },
        },
      }),
  ],
  [
    'annotations of profiles',
    '/pods',
    (n) =>
      pod(
        { containers: times(n, (i) => container({ name: `c${i}` })) },
        {
          annotations: Object.fromEntries(
            times(n, (i) => [`container.apparmor.security.beta.kubernetes.io/c${n - i - 1}`, 'runtime/default']),
          ),
        },
      ),
  ],
  ['tolerations', '/pods', (n) => pod({ tolerations: times(n, (i) => ({ key: `k${i}`, operator: 'Exists' })) })],
  [
    'sidecars',
    '/pods',
    (n) =>
      pod({
        resources: { requests: { cpu: '1' } },
        initContainers: times(n, (i) =>
          container({ name: `c${i}`, restartPolicy: 'Always', resources: { requests: { [`a.io/r${i}`]: '1' } } }),
        ),
      }),
  ],
  [
    'amounts with huge exponents',
    '/resourcequotas',
    (n) => ({ spec: { hard: Object.fromEntries(times(n, (i) => [`count/a${i}.b`, `1e${99_999 + i}`])) } }),
  ],
  [
    'addresses of a service',
    '/services',
    (n) => ({ spec: { ports: [{ port: 80 }], externalIPs: times(n, (i) => `10.0.${i >> 8}.${i & 255}`) } }),
  ],
  [
    'topologies of a class',
    'storage.k8s.io/storageclasses',
    (n) => ({
      provisioner: 'p',
      allowedTopologies: times(n, (i) => ({ matchLabelExpressions: [{ key: `k${i}`, values: ['a'] }] })),
    }),
  ],
  [
    'actions of a binding',
    'admissionregistration.k8s.io/validatingadmissionpolicybindings',
    (n) => ({ spec: { policyName: 'p', validationActions: times(n, (i) => `a${i}`) } }),
  ],
  [
    'labels that are none',
    '/configmaps',
    (n) => ({ metadata: { labels: Object.fromEntries(times(n, (i) => [`-${i}`, '-'])) } }),
  ],
];

const size = 1_000;
/** Linear cost gives a factor of four and quadratic cost sixteen; caches and collections blur both. */
const mostTimes = 9;
const leastMs = 20;

/** The limit is high enough for a busy machine. */
const patience = { timeout: 60_000 };

describe('validation', patience, () => {
  it.each(growing)('grows with the object: %s', (_, resource, of) => {
    const definition = definitions.get(resource) as ResourceDefinition;
    cpuMsOf(definition, of(size));
    // A ratio above the limit is measured again, because other programs may have run at the same time.
    const small = leastOf(3, () => cpuMsOf(definition, of(size)));
    const large = leastOf(3, () => cpuMsOf(definition, of(4 * size)));
    expect(large).toBeLessThan(Math.max(leastMs, mostTimes * small));
  });
});

const leastOf = (count: number, measure: () => number): number => Math.min(...times(count, measure));

/** Returns the CPU time of this thread for everything that a create and an update ask of a kind. */
function cpuMsOf(definition: ResourceDefinition, part: Part): number {
  const object = { apiVersion: 'v1', kind: definition.kind, ...part } as unknown as UnstructuredObject;
  definition.applyDefaults(object);
  const before = process.cpuUsage();
  const { strategy } = definition;
  strategy.prepareForCreate(object, context);
  strategy.validateCreate(object, context);
  for (const _ of strategy.warningsOnCreate?.(object, context) ?? []);
  strategy.validateUpdate(object, object, context);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}
