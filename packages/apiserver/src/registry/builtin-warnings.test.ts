import type { UnstructuredObject } from '@kapstan/api';
import { describe, expect, it } from 'vitest';
import { testContext } from '../testing/store-fixture.ts';
import { builtinResources } from './builtin-resources.ts';

const definitions = builtinResources({ serviceClusterIpRange: '10.96.0.0/16' });
const strategyOf = (resource: string) => definitions.find((definition) => definition.resource === resource)!.strategy;

/** What a create and an update that changes nothing warn of. */
const warningsOf = (resource: string, object: UnstructuredObject): readonly (readonly string[])[] => [
  strategyOf(resource).warningsOnCreate?.(object, testContext()) ?? [],
  strategyOf(resource).warningsOnUpdate?.(object, object, testContext()) ?? [],
];

const reserved =
  'metadata.name: names ending with ".static.k8s.io" are reserved for static manifest-based configurations and cannot be managed via the API';

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
    ['validatingwebhookconfigurations', { metadata: { name: 'a.static.k8s.io' } }, [reserved], [reserved]],
    ['validatingadmissionpolicybindings', { metadata: { name: 'a.static.k8s.io' } }, [reserved], [reserved]],
    ['mutatingwebhookconfigurations', { metadata: { name: 'a' } }, [], []],
  ])('%s %j', (resource, object, onCreate, onUpdate) => {
    expect(warningsOf(resource, object)).toEqual([onCreate, onUpdate]);
  });
});
