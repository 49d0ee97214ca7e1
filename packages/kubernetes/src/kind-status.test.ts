// Fields that the /status endpoints of claims, nodes, volumes, services and others refuse and keep, recorded from a
// kube-apiserver 1.36. Workloads and pods: workload-status.test.ts.
import type { UnstructuredObject } from '@kapstan/api';
import { formatFieldError } from '@kapstan/api/errors';
import { testContext } from '@kapstan/apiserver/testing';
import { describe, expect, it } from 'vitest';
import {
  definitionOf,
  type Fields,
  preparedStatus,
  statusEndpoint,
  statusRefusals,
} from './testing/status-endpoint.ts';

const cut = (texts: readonly string[]): string[] =>
  texts.map((text) => text.replace(/(must consist of|must start with alphabetic).*$/, '$1'));

describe('the status of a resource claim', () => {
  const claim = { spec: { devices: { requests: [{ name: 'r', exactly: { deviceClassName: 'c' } }] } } };
  const uid = '5f0f6c1e-1111-2222-3333-444455556666';
  const device = { driver: 'a.b', pool: 'p', device: 'd' };
  const got = { request: 'r', ...device };
  const shown = (shareID: string): string => `{"Driver":"a.b","Pool":"p","Device":"d","ShareID":"${shareID}"}`;
  const own = 'must be an allocated device in the claim';
  it.each<readonly [about: string, statuses: { next: unknown; old?: unknown }, refused: readonly string[]]>([
    ['may be an allocation', { next: { allocation: { devices: { results: [got] } }, devices: [device] } }, []],
    [
      'names consumers, once each, of an allocation',
      {
        next: {
          reservedFor: [
            { resource: '', name: '', uid: '' },
            { resource: 'pods', name: 'a', uid: '' },
          ],
        },
      },
      [
        'status.reservedFor[0].resource: Required value',
        'status.reservedFor[0].name: Required value',
        'status.reservedFor[0].uid: Required value',
        'status.reservedFor[1].uid: Required value',
        'status.reservedFor[1]: Duplicate value: ""',
        'status.reservedFor: Forbidden: may not be specified when `allocated` is not set',
      ],
    ],
    [
      'speaks of allocated devices, once each',
      {
        next: {
          devices: [
            { ...device, pool: 'A_b/x', shareID: 'A' },
            { ...device, shareID: uid.toUpperCase() },
            { ...device, shareID: uid.toUpperCase() },
          ],
        },
      },
      [
        'status.devices[0].pool: Invalid value: "A_b": a lowercase RFC 1123 subdomain must consist of',
        'status.devices[0].shareID: Invalid value: "A": error validating uid: invalid UUID length: 1',
        `status.devices[0]: Invalid value: {"Driver":"a.b","Pool":"A_b/x","Device":"d","ShareID":"A"}: ${own}`,
        ...[1, 2].flatMap((index) => [
          `status.devices[${index}].shareID: Invalid value: "${uid.toUpperCase()}": uid must be in RFC 4122 normalized form, \`xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx\` with lowercase hexadecimal characters`,
          `status.devices[${index}]: Invalid value: ${shown(uid.toUpperCase())}: ${own}`,
        ]),
        `status.devices[2]: Duplicate value: ${shown(uid.toUpperCase())}`,
      ],
    ],
    [
      'has valid data, addresses and conditions of devices',
      {
        next: {
          allocation: { devices: { results: [got] } },
          devices: [
            {
              ...device,
              data: [],
              networkData: { ips: ['1', '1.2.3.4/33', '010.2.3.4/8', '1.2.3.4/8', '1.2.3.4/8'] },
              conditions: [
                { type: 'A b', status: 'x', lastTransitionTime: null },
                {
                  type: 'T',
                  status: 'True',
                  lastTransitionTime: '2020-01-01T00:00:00Z',
                  reason: 'a b',
                  observedGeneration: -1,
                },
                { type: 'T', status: 'True', lastTransitionTime: '2020-01-01T00:00:00Z', reason: 'A' },
              ],
            },
          ],
        },
      },
      [
        'status.devices[0].conditions[0].type: Invalid value: "A b": name part must consist of',
        'status.devices[0].conditions[0].status: Unsupported value: "x": supported values: "False", "True", "Unknown"',
        'status.devices[0].conditions[0].lastTransitionTime: Required value',
        'status.devices[0].conditions[0].reason: Required value',
        'status.devices[0].conditions[1].observedGeneration: Invalid value: -1: must be greater than or equal to zero',
        'status.devices[0].conditions[1].reason: Invalid value: "a b": a condition reason must start with alphabetic',
        'status.devices[0].conditions[2].type: Duplicate value: "T"',
        'status.devices[0].data: Invalid value: "<value omitted>": must be a valid JSON object',
        'status.devices[0].networkData.ips[0]: Invalid value: "1": must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)',
        'status.devices[0].networkData.ips[1]: Invalid value: "1.2.3.4/33": must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)',
        'status.devices[0].networkData.ips[2]: Invalid value: "010.2.3.4/8": must be in canonical form ("10.2.3.4/8")',
        'status.devices[0].networkData.ips[4]: Duplicate value: "1.2.3.4/8"',
      ],
    ],
    [
      'has an allocation of what was asked for',
      {
        next: {
          allocation: {
            devices: {
              results: [
                { ...got, request: 'r/x', bindingConditions: ['a', 'a', 'b'], bindingFailureConditions: ['a'] },
                { ...got, pool: '', bindingFailureConditions: ['a b'] },
                { ...got, bindingConditions: ['a', 'b', 'c', 'd', 'e'] },
              ],
              config: [
                { source: '', requests: ['a', 'r'] },
                { source: 'x', opaque: { driver: 'd', parameters: 1 } },
              ],
            },
            nodeSelector: { nodeSelectorTerms: [] },
          },
        },
      },
      [
        'status.allocation.devices.results[0].request: Invalid value: "r/x": must be the name of a request in the claim or the name of a request and a subrequest separated by \'/\'',
        'status.allocation.devices.results[0].bindingConditions[1]: Duplicate value: "a"',
        'status.allocation.devices.results[0].bindingFailureConditions[0]: Invalid value: "a": bindingFailureConditions must not overlap with bindingConditions',
        'status.allocation.devices.results[1].pool: Required value',
        'status.allocation.devices.results[1].bindingFailureConditions[0]: Invalid value: "a b": name part must consist of',
        'status.allocation.devices.results[1].bindingConditions: Invalid value: null: bindingConditions are required to use bindingFailureConditions',
        'status.allocation.devices.results[2].bindingConditions: Too many: 5: must have at most 4 items',
        'status.allocation.devices.results[2].bindingFailureConditions: Invalid value: null: bindingFailureConditions are required to use bindingConditions',
        'status.allocation.devices.config[0].source: Required value',
        'status.allocation.devices.config[0].requests[0]: Invalid value: "a": must be the name of a request in the claim or the name of a request and a subrequest separated by \'/\'',
        'status.allocation.devices.config[0].opaque: Required value',
        'status.allocation.devices.config[1].source: Unsupported value: "x": supported values: "FromClaim", "FromClass"',
        'status.allocation.devices.config[1].opaque.parameters: Invalid value: "<value omitted>": must be a valid JSON object',
        'status.allocation.nodeSelector.nodeSelectorTerms: Required value: must have at least one node selector term',
      ],
    ],
  ])('%s', (_about, statuses, refused) => {
    expect(cut(statusRefusals('resourceclaims', claim, statuses))).toEqual(refused);
  });

  it('keeps its allocation until that goes, and what drivers said goes with it', () => {
    const old = { allocation: { devices: { results: [got] } }, devices: [device] };
    const other = { allocation: { devices: { results: [{ ...got, device: 'e' }] } } };
    expect(statusRefusals('resourceclaims', claim, { old, next: other })[0]).toMatch(
      /^status\.allocation: Invalid value: .*: field is immutable$/,
    );
    const [{ status }] = preparedStatus('resourceclaims', claim, { old, next: { devices: [device] } });
    expect(status).not.toHaveProperty('devices');
  });

  it('takes no new consumers while the claim is going away', () => {
    const going = { ...claim, metadata: { name: 'x', deletionTimestamp: '2020-01-01T00:00:00Z' } };
    const allocation = { devices: { results: [got] } };
    const consumer = { resource: 'pods', name: 'a', uid: 'a' };
    const next = { allocation, reservedFor: [consumer] };
    expect(statusRefusals('resourceclaims', going, { old: next, next })).toEqual([]);
    expect(statusRefusals('resourceclaims', going, { old: { allocation }, next })).toEqual([
      'status.reservedFor: Forbidden: new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set',
    ]);
  });
});

describe('the status of', () => {
  it.each<readonly [resource: string, object: Fields, status: unknown, refused: readonly string[]]>([
    [
      'nodes',
      { spec: {} },
      {
        capacity: { cpu: '-1', pods: '1500m' },
        allocatable: { cpu: '-1' },
        addresses: [
          { type: 'A', address: 'x' },
          { type: 'A', address: 'x' },
        ],
        declaredFeatures: ['B', 'A', 'A', 'x'],
      },
      [
        'status.capacity.cpu: Invalid value: "-1": must be greater than or equal to 0',
        'status.capacity.pods: Invalid value: "1500m": must be an integer',
        'status.allocatable.cpu: Invalid value: "-1": must be greater than or equal to 0',
        'status.declaredFeatures[1]: Invalid value: "A": list must be sorted alphabetically',
        'status.declaredFeatures[2]: Duplicate value: "A"',
        `status.declaredFeatures[3]: Invalid value: "x": invalid feature name "x": must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes`,
        'status.addresses[1]: Duplicate value: {"Type":"A","Address":"x"}',
      ],
    ],
    [
      'poddisruptionbudgets',
      {},
      { currentHealthy: -1, conditions: [{ type: 'T', status: 'True', lastTransitionTime: null, reason: '' }] },
      [
        'status.conditions[0].lastTransitionTime: Required value',
        'status.conditions[0].reason: Required value',
        'status.currentHealthy: Invalid value: -1: must be greater than or equal to 0',
      ],
    ],
    [
      'validatingadmissionpolicies',
      { spec: {} },
      { typeChecking: { expressionWarnings: [{ fieldRef: '', warning: '' }] }, conditions: [] },
      [
        'status.typeChecking.expressionWarnings[0].warning: Required value',
        'status.typeChecking.expressionWarnings[0].fieldRef: Required value',
      ],
    ],
    ['namespaces', {}, undefined, []],
    ['services', { spec: { type: 'LoadBalancer' } }, { loadBalancer: { ingress: [{ ip: '1.1.1.1' }] } }, []],
  ])('%s is as its kind needs it', (resource, object, next, refused) => {
    expect(statusRefusals(resource, object, { next })).toEqual(refused);
  });

  it('nodes never has a configuration of the kubelet', () => {
    const [{ status }] = preparedStatus('nodes', { spec: {} }, { next: { config: { error: 'x' } } });
    expect(status).not.toHaveProperty('config');
  });

  it.each([
    ['a new phase has the time of the change', { phase: 'Bound' }, '2026-01-01T00:00:00Z'],
    [
      'a new phase with the time of the old one has its own',
      { phase: 'Bound', lastPhaseTransitionTime: '2020-01-01T00:00:00Z' },
      '2026-01-01T00:00:00Z',
    ],
    [
      'a new phase may come with its time',
      { phase: 'Bound', lastPhaseTransitionTime: '2021-01-01T00:00:00Z' },
      '2021-01-01T00:00:00Z',
    ],
    ['the same phase keeps its time', { phase: 'Pending' }, '2020-01-01T00:00:00Z'],
    [
      'the same phase may get another time',
      { phase: 'Pending', lastPhaseTransitionTime: '2021-01-01T00:00:00Z' },
      '2021-01-01T00:00:00Z',
    ],
  ])('a volume: %s', (_about, next, time) => {
    const old = { phase: 'Pending', lastPhaseTransitionTime: '2020-01-01T00:00:00Z' };
    const [{ status }] = preparedStatus('persistentvolumes', { spec: {} }, { old, next });
    expect(status).toMatchObject({ lastPhaseTransitionTime: time });
  });

  it('a service warns of addresses in other than the usual form', () => {
    const service = { status: { loadBalancer: { ingress: [{ ip: '1:0::1' }] } } } as unknown as UnstructuredObject;
    expect(statusEndpoint('services').strategy.warningsOnUpdate?.(service, service, testContext())).toEqual([
      'status.loadBalancer.ingress[0]: IPv6 address "1:0::1" should be in RFC 5952 canonical format ("1::1")',
    ]);
  });
});

describe('an empty list that is always written', () => {
  const pod = { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } };
  it.each<readonly [resource: string, object: Fields, refused: string]>([
    [
      'jobs',
      {
        spec: {
          template: pod,
          podFailurePolicy: { rules: [{ action: 'Ignore', onExitCodes: { operator: 'In', values: null } }] },
        },
      },
      'spec.podFailurePolicy.rules[0].onExitCodes.values: Invalid value: null: at least one value is required',
    ],
    [
      'storageclasses',
      { provisioner: 'a/b', allowedTopologies: [{ matchLabelExpressions: [{ key: 'a', values: null }] }] },
      'allowedTopologies[0].matchLabelExpressions[0].values: Required value',
    ],
    [
      'nodes',
      { spec: { podCIDRs: ['1.2.3.0/24', '1.2.4.0/24', 'x'] } },
      'spec.podCIDRs: Internal error: invalid PodCIDRs. failed to check with dual stack with error:invalid CIDR[2]: <nil> (invalid CIDR address: x)',
    ],
  ])('of %s is refused where one is needed', (resource, object, refused) => {
    const copy = { metadata: { name: 'x' }, ...structuredClone(object) } as UnstructuredObject;
    definitionOf(resource).applyDefaults(copy);
    definitionOf(resource).strategy.prepareForCreate(copy, testContext());
    const errors = definitionOf(resource).strategy.validateCreate(copy, testContext());
    expect(errors.map(formatFieldError)).toContain(refused);
  });

  it('of a storage class is no policy: "" is none', () => {
    const copy = { metadata: { name: 'x' }, provisioner: 'a/b', reclaimPolicy: '' } as unknown as UnstructuredObject;
    definitionOf('storageclasses').applyDefaults(copy);
    expect(definitionOf('storageclasses').strategy.validateCreate(copy, testContext())).toEqual([]);
  });
});
