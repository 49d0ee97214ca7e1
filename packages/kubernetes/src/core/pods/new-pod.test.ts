// New pods as a kube-apiserver 1.36 stored them, recorded.

import { testContext } from '@kapstan/apiserver/testing';
import type { Affinity, Container, Pod, PodSpec } from '@kapstan/kinds/core/v1';
import { describe, expect, it } from 'vitest';
import { definitionOf } from '../../testing/status-endpoint.ts';

const container = (more: Partial<Container> = {}): Container => ({ name: 'c', image: 'i:1', ...more });

function created(spec: Partial<PodSpec>, metadata: Pod['metadata'] = {}): { pod: Pod; warnings: string[] } {
  const { applyDefaults, strategy } = definitionOf('pods');
  const pod = { metadata: { name: 'p', ...metadata }, spec: { containers: [container()], ...spec } } as Pod;
  const context = testContext();
  applyDefaults(pod as never);
  strategy.prepareForCreate(pod as never, context);
  return { pod, warnings: context.warnings };
}

describe('the AppArmor annotations of a new pod', () => {
  const key = 'container.apparmor.security.beta.kubernetes.io/c';
  const warning = `metadata.annotations[${key}]: deprecated since v1.30; use the "appArmorProfile" field instead`;
  const runtime = { appArmorProfile: { type: 'RuntimeDefault' as const } };
  it.each<[string, string, Partial<PodSpec>, unknown, string[]]>([
    ['become fields', 'unconfined', {}, { type: 'Unconfined' }, [warning]],
    ['may name a file', 'localhost/p', {}, { type: 'Localhost', localhostProfile: 'p' }, [warning]],
    ['stay what they are when they say nothing', 'localhost/', {}, undefined, [warning]],
    ['may be too long for a field', `localhost/${'x'.repeat(5000)}`, {}, undefined, [warning]],
    [
      'do not go over a field',
      'unconfined',
      { containers: [container({ securityContext: runtime })] },
      runtime.appArmorProfile,
      [],
    ],
    ['need no field when the pod says it', 'runtime/default', { securityContext: runtime }, undefined, []],
    ['differ from the pod', 'unconfined', { securityContext: runtime }, { type: 'Unconfined' }, [warning]],
    ['mean nothing on Windows', 'unconfined', { os: { name: 'windows' } }, undefined, []],
  ])('%s', (_about, said, spec, profile, warnings) => {
    const result = created(spec, { annotations: { [key]: said } });
    expect(result.pod.spec?.containers[0]?.securityContext?.appArmorProfile).toEqual(profile);
    expect(result.warnings).toEqual(warnings);
  });
});

describe('the label keys of a new pod', () => {
  const labels = { a: 'b', c: 'd' };
  const added = [
    { key: 'a', operator: 'In', values: ['b'] },
    { key: 'c', operator: 'NotIn', values: ['d'] },
  ];
  const keys = { topologyKey: 'z', matchLabelKeys: ['a', 'missing'], mismatchLabelKeys: ['c'] };

  it.each(['podAffinity', 'podAntiAffinity'] as const)('go with their values into the selectors of %s', (name) => {
    const affinity: Affinity = {
      [name]: {
        requiredDuringSchedulingIgnoredDuringExecution: [{ ...keys, labelSelector: { matchLabels: { x: 'y' } } }],
        preferredDuringSchedulingIgnoredDuringExecution: [
          { weight: 1, podAffinityTerm: { ...keys, labelSelector: {} } },
        ],
      },
    };
    const terms = created({ affinity }, { labels }).pod.spec?.affinity?.[name];
    expect(terms?.requiredDuringSchedulingIgnoredDuringExecution?.[0]?.labelSelector).toEqual({
      matchLabels: { x: 'y' },
      matchExpressions: added,
    });
    expect(terms?.preferredDuringSchedulingIgnoredDuringExecution?.[0]?.podAffinityTerm.labelSelector).toEqual({
      matchExpressions: added,
    });
  });

  it('go into the constraints of its spread, and make no selector where none is', () => {
    const constraint = { maxSkew: 1, topologyKey: 'z', whenUnsatisfiable: 'DoNotSchedule', matchLabelKeys: ['a'] };
    const spread = [{ ...constraint, labelSelector: {} }, constraint] as NonNullable<
      PodSpec['topologySpreadConstraints']
    >;
    const constraints = created({ topologySpreadConstraints: spread }, { labels }).pod.spec?.topologySpreadConstraints;
    expect(constraints?.map(({ labelSelector }) => labelSelector)).toEqual([
      { matchExpressions: added.slice(0, 1) },
      undefined,
    ]);
  });
});

describe('the amounts of a whole pod', () => {
  const sidecar = container({ name: 's', restartPolicy: 'Always', resources: { requests: { cpu: '1' } } });
  const init = container({ name: 'i', resources: { requests: { cpu: '3' } } });
  const main = container({ resources: { requests: { cpu: '500m' } } });
  it.each<[string, Partial<PodSpec>, PodSpec['resources'], string]>([
    ['are not made of nothing', { containers: [main] }, undefined, 'Burstable'],
    [
      'ask for what the containers need at their start, and for the limit of what none asks for',
      { resources: { limits: { cpu: '5', memory: '1Gi' } }, initContainers: [sidecar, init], containers: [main] },
      { limits: { cpu: '5', memory: '1Gi' }, requests: { cpu: '4', memory: '1Gi' } },
      'Burstable',
    ],
    [
      'ask for what the containers need later, when that is more',
      {
        resources: { limits: { cpu: '5' } },
        initContainers: [sidecar],
        containers: [main, container({ name: 'd', resources: { requests: { cpu: '2' } } })],
      },
      { limits: { cpu: '5' }, requests: { cpu: '3500m' } },
      'Burstable',
    ],
    [
      'limit huge pages as the containers do',
      {
        resources: { requests: { cpu: '4' } },
        containers: [container({ resources: { limits: { 'hugepages-2Mi': '4Mi', memory: '1Gi' } } })],
      },
      { limits: { 'hugepages-2Mi': '4Mi' }, requests: { cpu: '4', memory: '1Gi', 'hugepages-2Mi': '4Mi' } },
      'Burstable',
    ],
    [
      'decide the class of service alone',
      { resources: { limits: { cpu: '1', memory: '1Gi' } }, containers: [container()] },
      { limits: { cpu: '1', memory: '1Gi' }, requests: { cpu: '1', memory: '1Gi' } },
      'Guaranteed',
    ],
  ])('%s', (_about, spec, resources, qosClass) => {
    const { pod } = created(spec);
    expect(pod.spec?.resources).toEqual(resources);
    expect(pod.status?.qosClass).toBe(qosClass);
  });
});

it('loses what is behind feature gates that are off', () => {
  const { pod } = created({
    os: { name: 'linux' },
    containers: [
      container({ lifecycle: { stopSignal: 'SIGTERM' } }),
      container({ name: 'd', lifecycle: { stopSignal: 'SIGTERM', preStop: { sleep: { seconds: 1 } } } }),
    ],
    volumes: [{ name: 'v', projected: { sources: [{ clusterTrustBundle: { name: 'a', path: 'p' } }] } }],
  });
  expect(pod.spec?.containers.map(({ lifecycle }) => lifecycle)).toEqual([
    undefined,
    { preStop: { sleep: { seconds: 1 } } },
  ]);
  expect(pod.spec?.volumes?.[0]?.projected?.sources).toEqual([{}]);
});
