import type { UnstructuredObject } from '@kapstan/api';
import { describe, expect, it } from 'vitest';
import { fromAutoscalerV2, toAutoscalerV2 } from './conversion.ts';
import { autoscalersV1 } from './horizontal-pod-autoscalers.ts';

const prefix = 'autoscaling.alpha.kubernetes.io/';
const scaleTargetRef = { kind: 'Deployment', name: 'd', apiVersion: 'apps/v1' };
const metric = { name: 'm', selector: { matchLabels: { a: 'b' } } };
const describedObject = { kind: 'Service', name: 's', apiVersion: 'v1' };

const stored = {
  kind: 'HorizontalPodAutoscaler',
  apiVersion: 'autoscaling/v2',
  metadata: { name: 'h' },
  spec: {
    scaleTargetRef,
    maxReplicas: 3,
    metrics: [
      { type: 'Resource', resource: { name: 'memory', target: { type: 'AverageValue', averageValue: '100Mi' } } },
      { type: 'Pods', pods: { metric, target: { type: 'AverageValue', averageValue: '5' } } },
      { type: 'Object', object: { describedObject, metric, target: { type: 'Value', value: '7' } } },
      { type: 'Object', object: { describedObject, metric, target: { type: 'AverageValue', averageValue: '8' } } },
      { type: 'External', external: { metric, target: { type: 'Value', value: '9' } } },
      {
        type: 'ContainerResource',
        containerResource: { name: 'cpu', container: 'c', target: { type: 'Utilization', averageUtilization: 40 } },
      },
      { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } } },
    ],
    behavior: {
      scaleUp: { stabilizationWindowSeconds: 0, policies: [{ type: 'Pods', value: 4, periodSeconds: 15 }] },
    },
  },
  status: {
    desiredReplicas: 1,
    currentMetrics: [
      { type: 'Resource', resource: { name: 'cpu', current: { averageValue: '20m', averageUtilization: 20 } } },
      { type: 'External', external: { metric, current: { value: '3' } } },
    ],
    conditions: [{ type: 'AbleToScale', status: 'True', lastTransitionTime: null }],
  },
};

describe('an autoscaler of v2 as v1 shows it', () => {
  const served = fromAutoscalerV2(stored as unknown as UnstructuredObject) as unknown as {
    readonly metadata: { readonly annotations: Readonly<Record<string, string>> };
    readonly spec: object;
    readonly status: object;
  };

  it('has the CPU in its fields', () => {
    expect(served.spec).toEqual({ scaleTargetRef, maxReplicas: 3, targetCPUUtilizationPercentage: 50 });
    expect(served.status).toEqual({ currentReplicas: 0, desiredReplicas: 1, currentCPUUtilizationPercentage: 20 });
  });

  it.each([
    [
      'metrics',
      '[{"type":"Resource","resource":{"name":"memory","targetAverageValue":"100Mi"}},' +
        '{"type":"Pods","pods":{"metricName":"m","targetAverageValue":"5","selector":{"matchLabels":{"a":"b"}}}},' +
        '{"type":"Object","object":{"target":{"kind":"Service","name":"s","apiVersion":"v1"},"metricName":"m","targetValue":"7","selector":{"matchLabels":{"a":"b"}}}},' +
        '{"type":"Object","object":{"target":{"kind":"Service","name":"s","apiVersion":"v1"},"metricName":"m","targetValue":"0","selector":{"matchLabels":{"a":"b"}},"averageValue":"8"}},' +
        '{"type":"External","external":{"metricName":"m","metricSelector":{"matchLabels":{"a":"b"}},"targetValue":"9"}},' +
        '{"type":"ContainerResource","containerResource":{"name":"cpu","targetAverageUtilization":40,"container":"c"}}]',
    ],
    [
      'current-metrics',
      '[{"type":"Resource","resource":{"name":"cpu","currentAverageUtilization":20,"currentAverageValue":"20m"}},' +
        '{"type":"External","external":{"metricName":"m","metricSelector":{"matchLabels":{"a":"b"}},"currentValue":"3"}}]',
    ],
    [
      'behavior',
      '{"ScaleUp":{"StabilizationWindowSeconds":0,"SelectPolicy":null,"Policies":[{"Type":"Pods","Value":4,"PeriodSeconds":15}],"Tolerance":null},"ScaleDown":null}',
    ],
    ['conditions', '[{"type":"AbleToScale","status":"True","lastTransitionTime":null}]'],
  ])('has %s in an annotation, as Kubernetes writes it', (name, text) => {
    expect(served.metadata.annotations[prefix + name]).toBe(text);
  });

  it('is the same again when it comes back', () => {
    const again = toAutoscalerV2(served as unknown as UnstructuredObject);
    expect(again).toEqual(stored);
  });
});

describe('an autoscaler of v1 that comes in', () => {
  it('has lost annotations that somebody broke before anyone sees it, and keeps the others', () => {
    const behavior = JSON.stringify({ ScaleUp: { SelectPolicy: 'Max' } });
    const object = {
      metadata: { name: 'h', annotations: { [`${prefix}metrics`]: 'x', [`${prefix}behavior`]: behavior, a: 'b' } },
      spec: { scaleTargetRef, maxReplicas: 3 },
    };
    autoscalersV1.setDefaults?.(object);
    expect(object.metadata.annotations).toEqual({ a: 'b', [`${prefix}behavior`]: expect.stringContaining('"Max"') });
    expect(object.spec).toMatchObject({ maxReplicas: 3, minReplicas: 1, targetCPUUtilizationPercentage: 80 });
  });
});
