import { readFileSync } from 'node:fs';
import { deepCopy } from '@kapstan/api';
import { factTypes } from '@kapstan/apiserver/testing';
import { describe, expect, it } from 'vitest';

interface DefaultsCase {
  readonly request: { readonly apiVersion: string; readonly kind: string };
  readonly stored: Record<string, unknown>;
  readonly withoutAdmission?: Record<string, unknown>;
}

const fixtures = new URL('../../fixtures/', import.meta.url);
const { cases } = JSON.parse(readFileSync(new URL('defaults.json', fixtures), 'utf8')) as {
  cases: Record<string, DefaultsCase>;
};

const hasProtobufForm = (name: string): boolean => name !== 'APIService' && name !== 'CustomResourceDefinition';

describe('the Go form', () => {
  const answers = Object.entries(cases).filter(([name]) => hasProtobufForm(name));
  it.each(answers)('leaves what Kubernetes answered as it is: %s', (_name, { request, stored, withoutAdmission }) => {
    const definition = factTypes.nameOf(request.apiVersion, request.kind) ?? '';
    for (const answer of [stored, withoutAdmission ?? stored]) {
      const object = deepCopy(answer);
      factTypes.normalize(definition, object);
      expect(object).toEqual(answer);
    }
  });

  it.each([
    ['apps.v1.DeploymentStatus', {}],
    ['apps.v1.ReplicaSetStatus', { replicas: 0 }],
    ['core.v1.ServiceStatus', { loadBalancer: {} }],
    ['autoscaling.v2.HorizontalPodAutoscalerStatus', { desiredReplicas: 0, currentMetrics: null }],
  ])('the zero value of %s is what Kubernetes prints', (definition, zero) => {
    expect(factTypes.zero(definition)).toEqual(zero);
  });

  it('drops nulls, unknown fields and empty optional values, and keeps pointers to zero', () => {
    const pod = {
      spec: {
        containers: [{ name: 'c', command: [], stdin: false, unknown: 1 }],
        hostNetwork: false,
        nodeName: '',
        enableServiceLinks: false,
        securityContext: null,
        nodeSelector: {},
      },
    };
    factTypes.normalize('core.v1.Pod', pod);
    expect(pod).toEqual({
      metadata: {},
      spec: { containers: [{ name: 'c', resources: {} }], enableServiceLinks: false },
      status: {},
    });
  });

  it('rounds amounts of resources up to thousandths, other quantities not', () => {
    const quota = { spec: { hard: { cpu: '1500u', memory: '1.5', pods: 2, 'requests.cpu': '-1500u' } } };
    factTypes.normalize('core.v1.ResourceQuota', quota);
    expect(quota.spec.hard).toEqual({ cpu: '2m', memory: '1500m', pods: '2', 'requests.cpu': '-2m' });
    const metric = { averageValue: '1500u' };
    factTypes.normalize('autoscaling.v2.MetricTarget', metric);
    expect(metric.averageValue).toBe('1500u');
  });

  it('distinguishes an empty list that is always written from an absent one as little as protobuf does', () => {
    const role = { metadata: { name: 'x' }, rules: [] };
    factTypes.normalize('rbac.v1.Role', role);
    expect(role).toEqual({ metadata: { name: 'x' }, rules: null });
  });

  it('writes times in UTC, with seconds or with microseconds', () => {
    const lease = {
      metadata: { creationTimestamp: '2025-01-02T03:04:05.9+01:00' },
      spec: { renewTime: '2025-01-02T03:04:05.678901+01:00' },
    };
    factTypes.normalize('coordination.v1.Lease', lease);
    expect(lease).toEqual({
      metadata: { creationTimestamp: '2025-01-02T02:04:05Z' },
      spec: { renewTime: '2025-01-02T02:04:05.678901Z' },
    });
  });

  it('keeps a key named __proto__ in a map', () => {
    const configMap = JSON.parse('{"data":{"__proto__":"v"}}') as Record<string, unknown>;
    factTypes.normalize('core.v1.ConfigMap', configMap);
    expect(JSON.stringify(configMap)).toContain('"__proto__":"v"');
  });
});
