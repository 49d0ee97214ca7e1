// Fields that the /status endpoints of workloads and pods refuse, keep and drop, recorded from a kube-apiserver 1.36.
import type { UnstructuredObject } from '@kapstan/api';
import { testContext } from '@kapstan/apiserver/testing';
import { describe, expect, it } from 'vitest';
import {
  type Fields,
  preparedStatus,
  type Statuses,
  statusEndpoint,
  statusRefusals,
} from './testing/status-endpoint.ts';

type Case = readonly [about: string, statuses: Statuses, refused: readonly string[]];

const label = 'a lowercase RFC 1123 label must consist of lower case alphanumeric characters';
const subdomain = 'a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters';
const qualified = 'name part must consist of alphanumeric characters';
/** The first words of long texts suffice. */
const shortened = (texts: readonly string[]): string[] =>
  texts.map((text) => text.replace(new RegExp(`(${[label, subdomain, qualified].join('|')}).*$`), '$1'));

describe('the counts of a workload', () => {
  const less = 'cannot be greater than status.replicas';
  it.each<readonly [resource: string, ...Case]>([
    [
      'deployments',
      'has three parts of a deployment',
      { next: { replicas: -1, terminatingReplicas: -2, unavailableReplicas: -3 } },
      [
        'status.replicas: Invalid value: -1: must be greater than or equal to 0',
        'status.unavailableReplicas: Invalid value: -3: must be greater than or equal to 0',
        'status.terminatingReplicas: Invalid value: -2: must be greater than or equal to 0',
        `status.updatedReplicas: Invalid value: 0: ${less}`,
        `status.readyReplicas: Invalid value: 0: ${less}`,
        `status.availableReplicas: Invalid value: 0: ${less}`,
      ],
    ],
    [
      'deployments',
      'never goes back',
      { old: { collisionCount: 2 }, next: {} },
      ['status.collisionCount: Invalid value: 0: cannot be decremented'],
    ],
    ['deployments', 'may grow', { old: { collisionCount: 2 }, next: { collisionCount: 3 } }, []],
    [
      'replicasets',
      'has three parts of a replica set',
      {
        next: { replicas: 1, fullyLabeledReplicas: 2, readyReplicas: 1, availableReplicas: 1, terminatingReplicas: -1 },
      },
      [
        'status.terminatingReplicas: Invalid value: -1: must be greater than or equal to 0',
        `status.fullyLabeledReplicas: Invalid value: 2: ${less}`,
      ],
    ],
    [
      'statefulsets',
      'has four parts of a stateful set, in words of its own',
      { next: { replicas: 1, currentReplicas: 2, availableReplicas: 1 }, old: { collisionCount: 1 } },
      [
        `status.currentReplicas: Invalid value: 2: ${less}`,
        'status.availableReplicas: Invalid value: 1: cannot be greater than status.readyReplicas',
        'status.collisionCount: Invalid value: 0: cannot be decremented',
      ],
    ],
    [
      'daemonsets',
      'of a daemon set never goes back',
      { next: { numberReady: -1, collisionCount: 0 }, old: { collisionCount: 1 } },
      [
        'status.numberReady: Invalid value: -1: must be greater than or equal to 0',
        'status.collisionCount: Invalid value: 0: cannot be decremented',
      ],
    ],
  ])('%s %s', (resource, _about, statuses, refused) => {
    expect(statusRefusals(resource, { spec: { template: { spec: {} } } }, statuses)).toEqual(refused);
  });
});

describe('the status of a pod', () => {
  const spec = {
    restartPolicy: 'OnFailure',
    resourceClaims: [{ name: 'gpu' }],
    initContainers: [{ name: 'i', restartPolicy: 'Always' }],
    containers: [
      { name: 'c', resources: { requests: { cpu: '1' }, claims: [{ name: 'gpu', request: 'r' }] } },
      {
        name: 'ruled',
        restartPolicy: 'Never',
        restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [7] } }],
      },
    ],
  };
  const ended = (name: string, exitCode: number): Fields => ({ name, state: { terminated: { exitCode } } });
  const running = (name: string): Fields => ({ name, state: { running: {} } });
  const back = 'Forbidden: may not be transitioned to non-terminated state';
  it.each<Case>([
    [
      'names addresses of both families at most once',
      {
        next: {
          podIPs: [{ ip: '..' }, { ip: '010.1.1.1' }],
          hostIP: 'x',
          hostIPs: [{ ip: '1.1.1.1' }, { ip: '1.1.1.2' }],
        },
      },
      [
        'status.podIPs[0]: Invalid value: "..": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
        'status.podIPs[1]: Invalid value: "010.1.1.1": must not have leading 0s',
        'status.podIPs: Internal error: failed to check for dual stack with error:invalid IP[0]: ..',
        'status.podIPs: Invalid value: [{"IP":".."},{"IP":"010.1.1.1"}]: may specify no more than one IP for each IP family',
        'status.hostIPs[0].ip: Invalid value: "1.1.1.1": must be equal to `hostIP`',
        'status.hostIPs: Invalid value: [{"IP":"1.1.1.1"},{"IP":"1.1.1.2"}]: may specify no more than one IP for each IP family',
      ],
    ],
    [
      'keeps addresses that were there',
      { next: { podIPs: [{ ip: '01.1.1.1' }] }, old: { podIPs: [{ ip: '01.1.1.1' }] } },
      [],
    ],
    ['takes an address of each family', { next: { podIPs: [{ ip: '1.1.1.1' }, { ip: '::2' }] } }, []],
    [
      'has the quality of service that it was made with',
      { next: { qosClass: 'Burstable' }, old: { qosClass: 'BestEffort' } },
      ['status.qosClass: Invalid value: "Burstable": field is immutable'],
    ],
    [
      'counts no generation below zero, and has conditions of qualified names',
      { next: { observedGeneration: -1, conditions: [{ type: 'Ready', observedGeneration: -1 }, { type: 'a b' }] } },
      [
        'status.conditions[0].observedGeneration: Invalid value: -1: must be a non-negative integer',
        `status.conditions[1].Type: Invalid value: "a b": ${qualified}`,
        'status.observedGeneration: Invalid value: -1: must be a non-negative integer',
      ],
    ],
    [
      'speaks of claims that the pod has, once',
      {
        next: {
          resourceClaimStatuses: [{ name: 'gpu' }, { name: 'gpu', resourceClaimName: '_' }, { name: 'other' }],
        },
      },
      [
        'status.resourceClaimStatuses[1].name: Duplicate value: "gpu"',
        `status.resourceClaimStatuses[1].resourceClaimName: Invalid value: "_": ${subdomain}`,
        'status.resourceClaimStatuses[2].name: Invalid value: "other": must match the name of an entry in `spec.resourceClaims`',
      ],
    ],
    [
      'maps requests of its containers to a claim',
      {
        next: {
          extendedResourceClaimStatus: {
            requestMappings: [
              { containerName: 'c', resourceName: 'cpu', requestName: 'r' },
              { containerName: 'c', resourceName: 'cpu', requestName: 'r' },
              { containerName: 'none', resourceName: 'cpu', requestName: 'R' },
              { containerName: 'c', resourceName: 'x/y', requestName: 'r' },
            ],
          },
        },
      },
      [
        'status.extendedResourceClaimStatus.requestMappings[1].containerName: Duplicate value: "c"',
        'status.extendedResourceClaimStatus.requestMappings[1].resourceName: Duplicate value: "cpu"',
        'status.extendedResourceClaimStatus.requestMappings[1].requestName: Duplicate value: "r"',
        'status.extendedResourceClaimStatus.requestMappings[2].containerName: Invalid value: "none": must match the name of an entry in spec.initContainers.name or spec.containers.name',
        `status.extendedResourceClaimStatus.requestName: Invalid value: "R": ${label}`,
        'status.extendedResourceClaimStatus.requestMappings[3].resourceName: Invalid value: "x/y": must match the extended resource name of an entry in spec.initContainers.resources.requests or spec.containers.resources.requests',
        'status.extendedResourceClaimStatus.resourceClaimName: Required value',
      ],
    ],
    [
      'needs a mapping',
      { next: { extendedResourceClaimStatus: { requestMappings: [], resourceClaimName: 'a' } } },
      ['status.extendedResourceClaimStatus.requestMappings: Required value: at least one request mapping is required'],
    ],
    [
      'lets containers start again that failed, that a rule starts, or that always run',
      {
        old: { containerStatuses: [ended('c', 1), ended('ruled', 7)], initContainerStatuses: [ended('i', 0)] },
        next: { containerStatuses: [running('c'), running('ruled')], initContainerStatuses: [running('i')] },
      },
      [],
    ],
    [
      'lets none start again that ended for good',
      {
        old: {
          containerStatuses: [ended('c', 0), ended('ruled', 1), ended('unknown', 1)],
          ephemeralContainerStatuses: [ended('e', 1)],
        },
        next: {
          containerStatuses: [running('unknown'), running('ruled'), running('c')],
          ephemeralContainerStatuses: [running('e')],
        },
      },
      [
        `status.containerStatuses[0].state: ${back}`,
        `status.containerStatuses[1].state: ${back}`,
        `status.containerStatuses[2].state: ${back}`,
        `status.ephemeralContainerStatuses[0].state: ${back}`,
      ],
    ],
    [
      'says what containers were given, once each',
      {
        next: {
          containerStatuses: [
            {
              name: 'c',
              user: { linux: { uid: -1, gid: 1, supplementalGroups: [-2] } },
              allocatedResourcesStatus: [
                {
                  name: 'cpu',
                  resources: [
                    { resourceID: 'a', health: 'Fine' },
                    { resourceID: 'a', health: 'Healthy' },
                  ],
                },
                { name: 'claim:gpu/r' },
                { name: 'claim:gpu' },
                { name: 'memory' },
              ],
            },
          ],
          ephemeralContainerStatuses: [{ name: 'e', allocatedResourcesStatus: [{ name: 'cpu' }] }],
        },
      },
      [
        'status.containerStatuses[0].allocatedResourcesStatus[0].resources[0].health: Unsupported value: "Fine": supported values: "Healthy", "Unhealthy", "Unknown"',
        'status.containerStatuses[0].allocatedResourcesStatus[0].resources[1].resourceID: Duplicate value: "a"',
        `status.containerStatuses[0].allocatedResourcesStatus[2].name: Invalid value: "claim:gpu": must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty`,
        `status.containerStatuses[0].allocatedResourcesStatus[3].name: Invalid value: "memory": must match one of the container's resource requests`,
        'status.ephemeralContainerStatuses[0].allocatedResourcesStatus: Forbidden: must not be specified in container status',
        'status.containerStatuses[0].user.linux.uid: Invalid value: -1: must be between 0 and 2147483647, inclusive',
        'status.containerStatuses[0].user.linux.supplementalGroups[0]: Invalid value: -2: must be between 0 and 2147483647, inclusive',
      ],
    ],
  ])('%s', (_about, statuses, refused) => {
    expect(shortened(statusRefusals('pods', { spec }, statuses))).toEqual(refused);
  });

  it('nominates no node for a bound pod', () => {
    const bound = { spec: { ...spec, nodeName: 'n' } };
    expect(statusRefusals('pods', bound, { next: { nominatedNodeName: 'm' } })).toEqual([
      'status.nominatedNodeName: Forbidden: may not be set on pods that are already bound to a node',
    ]);
  });

  it('keeps observed generations that a writer does not know, and drops what no feature gate admits', () => {
    const [{ status }] = preparedStatus(
      'pods',
      { spec },
      {
        old: { observedGeneration: 3, conditions: [{ type: 'A', status: 'True', observedGeneration: 2 }] },
        next: {
          conditions: [{ type: 'A', status: 'False' }],
          nodeAllocatableResourceClaimStatuses: [{ resourceClaimName: 'a' }],
        },
      },
    );
    expect(status).toMatchObject({
      observedGeneration: 3,
      conditions: [{ type: 'A', status: 'False', observedGeneration: 2 }],
    });
    expect(status).not.toHaveProperty('nodeAllocatableResourceClaimStatuses');
  });

  it('warns of addresses in other than the usual form', () => {
    const pod = {
      status: { podIPs: [{ ip: '1:0::1' }], hostIPs: [{ ip: '1.1.1.1' }] },
    } as unknown as UnstructuredObject;
    expect(statusEndpoint('pods').strategy.warningsOnUpdate?.(pod, pod, testContext())).toEqual([
      'status.podIPs[0].ip: IPv6 address "1:0::1" should be in RFC 5952 canonical format ("1::1")',
    ]);
  });
});
