import type { Container, ContainerPort, EnvVar, KeyToPath, PodSpec, Volume } from '@kapstan/kinds/core/v1';
import { describe, expect, it } from 'vitest';
import { hostNameWarnings, podWarnings, templateWarnings } from './pod-warnings.ts';

const container = (more: Partial<Container> = {}): Container => ({ name: 'c', image: 'i', ...more });
const spec = (more: Partial<PodSpec> = {}): PodSpec => ({ containers: [container()], ...more });
const withEnv = (...env: EnvVar[]): PodSpec => spec({ containers: [container({ env })] });
const withPorts = (...ports: ContainerPort[]): PodSpec => spec({ containers: [container({ ports })] });
const hides = 'spec.containers[0].env[1]: hides previous definition of "E", which may be dropped when using apply';

describe('warnings about a pod', () => {
  it.each<[string, PodSpec, string[]]>([
    ['a plain pod', spec(), []],
    ['an environment variable twice', withEnv({ name: 'E', value: '1' }, { name: 'E', value: '2' }), [hides]],
    ['one that builds on the earlier', withEnv({ name: 'E', value: '1' }, { name: 'E', value: '$(E)2' }), []],
    ['one that only repeats the earlier', withEnv({ name: 'E', value: '1' }, { name: 'E', value: '$(E)' }), [hides]],
    [
      'one that comes from elsewhere',
      withEnv({ name: 'E', value: '1' }, { name: 'E', valueFrom: { fieldRef: { fieldPath: 'x' } } }),
      [hides],
    ],
    [
      'half a byte',
      spec({ containers: [container({ resources: { limits: { memory: '1500m', cpu: '1500m' } } })] }),
      ['spec.containers[0].resources.limits[memory]: fractional byte value "1500m" is invalid, must be an integer'],
    ],
    [
      'a port twice, across containers',
      spec({
        initContainers: [container({ name: 'i', ports: [{ containerPort: 80, protocol: 'TCP' }] })],
        containers: [
          container({
            ports: [
              { containerPort: 80, protocol: 'TCP' },
              { containerPort: 80, protocol: 'UDP' },
            ],
          }),
        ],
      }),
      ['spec.containers[0].ports[0]: duplicate port definition with spec.initContainers[0].ports[0]'],
    ],
    [
      'a port with and without a host port',
      withPorts({ containerPort: 80 }, { containerPort: 80, hostPort: 8080 }),
      ['spec.containers[0].ports[1]: overlapping port definition with spec.containers[0].ports[0]'],
    ],
    [
      'a host port with and without an address',
      withPorts({ containerPort: 80, hostPort: 1 }, { containerPort: 80, hostPort: 1, hostIP: '1.1.1.1' }),
      ['spec.containers[0].ports[1]: dangerously ambiguous port definition with spec.containers[0].ports[0]'],
    ],
    ['two host ports', withPorts({ containerPort: 80, hostPort: 1 }, { containerPort: 80, hostPort: 2 }), []],
    [
      'an address without a host port',
      withPorts({ name: 'w', containerPort: 80, protocol: 'TCP', hostIP: '1.1.1.1' }),
      [
        'spec.containers[0].ports[0]: hostIP set without hostPort: {Name:w HostPort:0 ContainerPort:80 Protocol:TCP HostIP:1.1.1.1}',
      ],
    ],
    [
      'a name of a port twice',
      spec({
        containers: [
          container({ ports: [{ name: 'web', containerPort: 1 }] }),
          container({ name: 'd', ports: [{ name: 'web', containerPort: 2 }] }),
        ],
      }),
      [
        'spec.containers[1].ports[0]: duplicate port name "web" with spec.containers[0].ports[0], services and probes that select ports by name will use spec.containers[0].ports[0]',
      ],
    ],
    [
      'an old label in a node selector',
      spec({ nodeSelector: { 'beta.kubernetes.io/os': 'linux' } }),
      ['spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead'],
    ],
    [
      'old labels and odd values in the affinity to nodes',
      spec({
        affinity: {
          nodeAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: {
              nodeSelectorTerms: [
                { matchExpressions: [{ key: 'beta.kubernetes.io/arch', operator: 'In', values: ['-'] }] },
              ],
            },
            preferredDuringSchedulingIgnoredDuringExecution: [
              { weight: 1, preference: { matchExpressions: [{ key: 'x', operator: 'In', values: ['a', '-'] }] } },
            ],
          },
        },
      }),
      [
        'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].key: beta.kubernetes.io/arch is deprecated since v1.14; use "kubernetes.io/arch" instead',
        expect.stringMatching(
          /^spec\.affinity\.nodeAffinity\.preferredDuringSchedulingIgnoredDuringExecution\[0\]\.preference\.matchExpressions\[0\]\.values\[1\]: - is invalid, /,
        ),
      ],
    ],
    [
      'an old topology and selectors that match nothing',
      spec({
        topologySpreadConstraints: [
          { maxSkew: 1, topologyKey: 'failure-domain.beta.kubernetes.io/zone', whenUnsatisfiable: 'DoNotSchedule' },
        ],
        affinity: {
          podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'k' }] },
          podAntiAffinity: {
            preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm: { topologyKey: 'k' } }],
          },
        },
      }),
      [
        'spec.topologySpreadConstraints[0].topologyKey: failure-domain.beta.kubernetes.io/zone is deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
        'spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod',
        'spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector: a null labelSelector results in matching no pod',
        'spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.labelSelector: a null labelSelector results in matching no pod',
      ],
    ],
    [
      'old kinds of volumes',
      spec({
        volumes: [
          { name: 'a', emptyDir: {} },
          { name: 'b', gitRepo: { repository: 'r' } },
        ],
      }),
      ['spec.volumes[1].gitRepo: deprecated in v1.11, and disabled by default in v1.33+'],
    ],
    [
      'what apply would drop',
      spec({
        hostAliases: [{ ip: '1.1.1.1' }, { ip: '1.1.1.1' }],
        imagePullSecrets: [{ name: 's' }, { name: 's' }, { name: '' }],
      }),
      [
        'spec.hostAliases[1].ip: duplicate ip "1.1.1.1"',
        'spec.imagePullSecrets[1].name: duplicate name "s"',
        'spec.imagePullSecrets[2].name: invalid empty name ""',
      ],
    ],
    [
      'a negative time to end',
      spec({ terminationGracePeriodSeconds: -1 }),
      ['spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1'],
    ],
  ])('%s', (_name, given, expected) => {
    expect(podWarnings({ spec: given })).toEqual(expected);
  });

  it('warns of annotations that became fields, unless the field is there', () => {
    const annotations = {
      'seccomp.security.alpha.kubernetes.io/pod': 'x',
      'container.apparmor.security.beta.kubernetes.io/c': 'unconfined',
    };
    const at = 'spec.template';
    const warnings = (given: PodSpec): string[] => podWarnings({ metadata: { annotations }, spec: given }, at);
    const seccomp =
      'spec.template.metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]: non-functional in v1.27+; use the "seccompProfile" field instead';
    const appArmor =
      'spec.template.metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]: deprecated since v1.30; use the "appArmorProfile" field instead';
    expect(warnings(spec())).toEqual([seccomp, appArmor]);
    const unconfined = { securityContext: { appArmorProfile: { type: 'Unconfined' as const } } };
    const runtime = { securityContext: { appArmorProfile: { type: 'RuntimeDefault' as const } } };
    expect(warnings(spec({ containers: [container(runtime)] }))).toEqual([seccomp]);
    expect(warnings(spec(unconfined))).toEqual([seccomp]);
    expect(warnings(spec(runtime))).toEqual([seccomp, appArmor]);
  });

  it('warns of files in one volume that lie in each other, and of projected sources that are empty', () => {
    const items = (...paths: string[]): KeyToPath[] => paths.map((path) => ({ key: 'k', path }));
    const volumes: Volume[] = [
      { name: 'v', configMap: { name: 'x', items: items('a', 'a/b', 'a/', 'c') } },
      { name: 'w', secret: { secretName: 's', items: items('q', 'q', '') } },
      {
        name: 'p',
        projected: {
          sources: [
            { configMap: { name: 'x', items: items('a') } },
            { secret: { name: 'x', items: items('a/b') } },
            { serviceAccountToken: { path: 'ab' } },
            { downwardAPI: { items: [{ path: 'a/c' }] } },
            {},
          ],
        },
      },
    ];
    expect(podWarnings({ spec: spec({ volumes }) })).toEqual([
      'volume "v" (ConfigMap "x"): overlapping paths: "a/b" with "a"',
      'volume "v" (ConfigMap "x"): overlapping paths: "a" with "a"',
      'volume "v" (ConfigMap "x"): overlapping paths: "a" with "a/b"',
      'volume "w" (Secret "s"): overlapping paths: "q" with "q"',
      'volume "p" (Projected) has no sources provided',
      'volume "p" (Projected): overlapping paths: "a/b" (Secret "x") with "a" (ConfigMap "x")',
      'volume "p" (Projected): overlapping paths: "a/c" (DownwardAPI) with "a" (ConfigMap "x")',
    ]);
  });

  it('warns about pod templates, when those have changed', () => {
    const template = { spec: spec({ terminationGracePeriodSeconds: -1 }) };
    const [at1, at2] = [1, 2].map((generation) => ({ metadata: { generation } }));
    const warnings = (next = at1, old?: typeof at1): string[] =>
      templateWarnings('spec.template', template, { next: next ?? {}, old });
    expect(warnings()).toEqual([expect.stringMatching(/^spec\.template\.spec\.terminationGracePeriodSeconds: /)]);
    expect([warnings(at1, at1).length, warnings(at2, at1).length]).toEqual([0, 1]);
  });

  it('warns of names that make odd host names', () => {
    expect(hostNameWarnings({ metadata: { name: 'a' } }, 'x')).toEqual([]);
    expect(hostNameWarnings({ metadata: { name: 'a.b' } }, "the Pod's hostname")).toEqual([
      expect.stringMatching(
        /^metadata\.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: \[.+\]$/,
      ),
    ]);
  });
});
