import type { UnstructuredObject } from '@kapstan/api';
import { testContext } from '@kapstan/apiserver/testing';
import { describe, expect, it } from 'vitest';
import { builtinResources } from './builtin-resources.ts';

const definitions = builtinResources({ serviceClusterIpRange: '10.96.0.0/16' });
const strategyOf = (resource: string) => definitions.find((definition) => definition.resource === resource)!.strategy;

/** Returns the warnings of a create, and of an update without changes. */
const warningsOf = (resource: string, object: UnstructuredObject): readonly (readonly string[])[] => [
  strategyOf(resource).warningsOnCreate?.(object, testContext()) ?? [],
  strategyOf(resource).warningsOnUpdate?.(object, object, testContext()) ?? [],
];

const reserved =
  'metadata.name: names ending with ".static.k8s.io" are reserved for static manifest-based configurations and cannot be managed via the API';

/** The same warnings for creates and updates. */
const both = (
  resource: string,
  object: UnstructuredObject,
  warnings: string[],
): readonly [resource: string, object: UnstructuredObject, onCreate: string[], onUpdate: string[]] => [
  resource,
  object,
  warnings,
  warnings,
];

const zone = 'failure-domain.beta.kubernetes.io/zone';
const zoneText = 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead';
const manyIndexes =
  'In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail';
const fraction = (path: string, text: string): string =>
  `${path}: fractional byte value "${text}" is invalid, must be an integer`;

describe('warnings that come with writes', () => {
  it.each<readonly [resource: string, object: UnstructuredObject, onCreate: string[], onUpdate: string[]]>([
    ['endpointslices', { addressType: 'FQDN' }, ['spec.addressType: FQDN endpoints are deprecated'], []],
    ['endpointslices', { addressType: 'IPv4' }, [], []],
    [
      'ingresses',
      { metadata: { annotations: { 'kubernetes.io/ingress.class': 'a' } }, spec: {} },
      [`annotation "kubernetes.io/ingress.class" is deprecated, please use 'spec.ingressClassName' instead`],
      [],
    ],
    [
      'ingresses',
      { metadata: { annotations: { 'kubernetes.io/ingress.class': 'a' } }, spec: { ingressClassName: 'a' } },
      [],
      [],
    ],
    [
      'csidrivers',
      { spec: { tokenRequests: [{ audience: 'a' }] } },
      [
        'spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes',
      ],
      [],
    ],
    both(
      'csistoragecapacities',
      { nodeTopology: { matchLabels: { [zone]: 'a' }, matchExpressions: [{ key: zone, operator: 'Exists' }] } },
      [`nodeTopology.matchExpressions[0].key: ${zone} is ${zoneText}`, `nodeTopology.matchLabels.${zone}: ${zoneText}`],
    ),
    [
      'serviceaccounts',
      { metadata: { annotations: { 'kubernetes.io/enforce-mountable-secrets': 'x' } } },
      [
        'metadata.annotations[kubernetes.io/enforce-mountable-secrets]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets',
      ],
      [],
    ],
    [
      'jobs',
      { metadata: { name: 'j' }, spec: { completionMode: 'Indexed', completions: 100_001, parallelism: 10_001 } },
      [`spec: ${manyIndexes}`],
      [],
    ],
    [
      'jobs',
      { metadata: { name: 'j' }, spec: { completionMode: 'NonIndexed', completions: 100_001, parallelism: 10_001 } },
      [],
      [],
    ],
    [
      'cronjobs',
      {
        metadata: { name: 'a.b' },
        spec: {
          schedule: 'TZ=UTC * * * * *',
          jobTemplate: { spec: { completionMode: 'Indexed', completions: 100_001, parallelism: 10_001 } },
        },
      },
      [
        'metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [must not contain dots]',
        `spec.jobTemplate.spec: ${manyIndexes}`,
      ],
      [
        'cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details',
      ],
    ],
    ['validatingwebhookconfigurations', { metadata: { name: 'a.static.k8s.io' } }, [reserved], [reserved]],
    both(
      'persistentvolumes',
      {
        metadata: { annotations: { 'volume.beta.kubernetes.io/storage-class': 'x' } },
        spec: {
          persistentVolumeReclaimPolicy: 'Recycle',
          storageos: {},
          nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [{ key: zone }] }] } },
        },
      },
      [
        'metadata.annotations[volume.beta.kubernetes.io/storage-class]: deprecated since v1.8; use "storageClassName" attribute instead',
        'spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.',
        `spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].key: ${zone} is ${zoneText}`,
        'spec.storageOS: deprecated in v1.22, non-functional in v1.25+',
      ],
    ),
    both(
      'persistentvolumeclaims',
      {
        metadata: { annotations: { 'volume.beta.kubernetes.io/storage-class': 'x' } },
        spec: { resources: { requests: { storage: '1500m' }, limits: { storage: '2' } } },
      },
      [
        'metadata.annotations[volume.beta.kubernetes.io/storage-class]: deprecated since v1.8; use "storageClassName" attribute instead',
        fraction('spec.resources.requests[storage]', '1500m'),
      ],
    ),
    [
      'statefulsets',
      {
        metadata: { name: 'a' },
        spec: {
          revisionHistoryLimit: -1,
          volumeClaimTemplates: [{ spec: { resources: { requests: { storage: '1500m' } } } }],
        },
      },
      [
        fraction('spec.volumeClaimTemplates[0].resources.requests[storage]', '1500m'),
        'spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended',
      ],
      [
        fraction('spec.volumeClaimTemplates[0].Spec.resources.requests[storage]', '1500m'),
        'spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended',
      ],
    ],
    both('storageclasses', { allowedTopologies: [{ matchLabelExpressions: [{ key: zone, values: ['a'] }] }] }, [
      `allowedTopologies[0].matchLabelExpressions[0].key: ${zoneText}`,
    ]),
    both('runtimeclasses', { scheduling: { nodeSelector: { [zone]: 'a' } } }, [`scheduling.nodeSelector: ${zoneText}`]),
    both('nodes', { spec: { podCIDRs: ['1:0::/16', '1.1.1.0/24'] } }, [
      'spec.podCIDRs[0]: IPv6 CIDR value "1:0::/16" should be in RFC 5952 canonical format ("1::/16")',
    ]),
    both(
      'networkpolicies',
      { spec: { ingress: [{ from: [{ ipBlock: { cidr: '1::/16', except: ['1:0::/64'] } }] }] } },
      [
        'spec.ingress[0].from[0].ipBlock.except[0]: IPv6 CIDR value "1:0::/64" should be in RFC 5952 canonical format ("1::/64")',
      ],
    ),
    both('networkpolicies', { spec: { egress: [{ to: [{ ipBlock: { cidr: '1:0::/16' } }] }] } }, [
      'spec.egress[0].to[0].ipBlock.cidr: IPv6 CIDR value "1:0::/16" should be in RFC 5952 canonical format ("1::/16")',
    ]),
    [
      'pods',
      {
        metadata: { name: 'a' },
        spec: {
          dnsConfig: { nameservers: ['1:0::2'] },
          hostAliases: [{ ip: '1:0::3' }],
          volumes: [
            { storageos: {} },
            { ephemeral: { volumeClaimTemplate: { spec: { resources: { limits: { storage: '1500m' } } } } } },
          ],
          containers: [
            { name: 'a', ports: [{ name: 'p', containerPort: 1 }] },
            { name: 'b', ports: [{ name: 'p', containerPort: 2 }] },
          ],
        },
      },
      [
        'spec.volumes[0].storageOS: deprecated in v1.22, non-functional in v1.25+',
        fraction('spec.volumes[1].ephemeral.volumeClaimTemplate.spec.resources.limits[storage]', '1500m'),
        'spec.containers[1].ports[0]: duplicate port name "p" with spec.containers[0].ports[0], services and probes that select ports by name will use spec.containers[0].ports[0]',
        'spec.dnsConfig.nameservers[0]: IPv6 address "1:0::2" should be in RFC 5952 canonical format ("1::2")',
        'spec.hostAliases[0].ip: IPv6 address "1:0::3" should be in RFC 5952 canonical format ("1::3")',
      ],
      [],
    ],
    ['validatingadmissionpolicybindings', { metadata: { name: 'a.static.k8s.io' } }, [reserved], [reserved]],
    ['mutatingwebhookconfigurations', { metadata: { name: 'a' } }, [], []],
  ])('%s %j', (resource, object, onCreate, onUpdate) => {
    expect(warningsOf(resource, object)).toEqual([onCreate, onUpdate]);
  });
});
