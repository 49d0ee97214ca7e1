// Converts between autoscaling/v2, the stored form, and v1, which keeps members that have no fields there in
// annotations. Source: pkg/apis/autoscaling/v1/conversion.go.

import { type DeepReadonly, deepCopy, type UnstructuredObject } from '@kapstan/api';
import { isJsonObject } from '@kapstan/api/internal';
import type { HorizontalPodAutoscaler as HorizontalPodAutoscalerV1 } from '@kapstan/kinds/autoscaling/v1';
import type { HorizontalPodAutoscaler, MetricSpec, MetricStatus } from '@kapstan/kinds/autoscaling/v2';
import { kubernetesTypes } from '../../builtin/kubernetes-types.ts';
import {
  fromAnnotatedBehavior,
  fromAnnotatedMetric,
  toAnnotatedBehavior,
  toAnnotatedMetric,
} from './annotated-metrics.ts';

const annotations = {
  metrics: 'autoscaling.alpha.kubernetes.io/metrics',
  currentMetrics: 'autoscaling.alpha.kubernetes.io/current-metrics',
  conditions: 'autoscaling.alpha.kubernetes.io/conditions',
  behavior: 'autoscaling.alpha.kubernetes.io/behavior',
} as const;

/** Annotations of autoscaling/v1 that hold what only v2 has fields for. */
export const versionAnnotations: ReadonlySet<string> = new Set<string>(Object.values(annotations));

const isCpu = (metric: DeepReadonly<MetricSpec>): boolean =>
  metric.type === 'Resource' &&
  metric.resource?.name === 'cpu' &&
  metric.resource.target.averageUtilization !== undefined;

export function fromAutoscalerV2(stored: DeepReadonly<UnstructuredObject>): UnstructuredObject {
  const { metadata = {}, spec, status } = deepCopy(stored) as unknown as HorizontalPodAutoscaler;
  const cpu = spec?.metrics?.find(isCpu);
  const currentCpu = status?.currentMetrics?.find(
    (metric) => metric.type === 'Resource' && metric.resource?.name === 'cpu',
  );
  const others = spec?.metrics?.filter((metric) => !isCpu(metric));
  const kept = {
    [annotations.metrics]: textOf(others?.map((metric) => toAnnotatedMetric('target', { ...metric }))),
    // Includes the CPU metric, whose plain value has no separate field.
    [annotations.currentMetrics]: textOf(
      status?.currentMetrics?.map((metric) => toAnnotatedMetric('current', { ...metric })),
    ),
    [annotations.conditions]: textOf(status?.conditions),
    [annotations.behavior]:
      spec?.behavior === undefined ? undefined : JSON.stringify(toAnnotatedBehavior({ ...spec.behavior })),
  };
  const present = Object.entries(kept).filter(([, text]) => text !== undefined);
  const object = {
    kind: 'HorizontalPodAutoscaler',
    apiVersion: 'autoscaling/v1',
    metadata:
      present.length === 0
        ? metadata
        : { ...metadata, annotations: { ...metadata.annotations, ...Object.fromEntries(present) } },
    spec: {
      scaleTargetRef: spec?.scaleTargetRef,
      minReplicas: spec?.minReplicas,
      maxReplicas: spec?.maxReplicas,
      targetCPUUtilizationPercentage: cpu?.resource?.target.averageUtilization,
    },
    status: {
      observedGeneration: status?.observedGeneration,
      lastScaleTime: status?.lastScaleTime,
      currentReplicas: status?.currentReplicas,
      desiredReplicas: status?.desiredReplicas,
      currentCPUUtilizationPercentage: currentCpu?.resource?.current.averageUtilization,
    },
  };
  kubernetesTypes.normalize('autoscaling.v1.HorizontalPodAutoscaler', object);
  return object as unknown as UnstructuredObject;
}

export function toAutoscalerV2(served: UnstructuredObject): UnstructuredObject {
  const { metadata = {}, spec, status } = deepCopy(served) as unknown as HorizontalPodAutoscalerV1;
  const cpu = spec?.targetCPUUtilizationPercentage;
  const currentCpu = status?.currentCPUUtilizationPercentage;
  const read = (name: keyof typeof annotations): unknown => parsed(metadata.annotations?.[annotations[name]]);
  const metrics = listOf(read('metrics')).map(
    (metric) => fromAnnotatedMetric('target', metric) as unknown as MetricSpec,
  );
  if (cpu !== undefined)
    metrics.push({
      type: 'Resource',
      resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: cpu } },
    });
  const current = listOf(read('currentMetrics')).map(
    (metric) => fromAnnotatedMetric('current', metric) as unknown as MetricStatus,
  );
  if (currentCpu !== undefined && current.length === 0) {
    current.push({ type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: currentCpu } } });
  }
  const others = Object.entries(metadata.annotations ?? {}).filter(([key]) => !versionAnnotations.has(key));
  const object = {
    kind: 'HorizontalPodAutoscaler',
    apiVersion: 'autoscaling/v2',
    metadata: { ...metadata, annotations: Object.fromEntries(others) },
    spec: {
      scaleTargetRef: spec?.scaleTargetRef,
      minReplicas: spec?.minReplicas,
      maxReplicas: spec?.maxReplicas,
      metrics,
      behavior: fromAnnotatedBehavior(read('behavior')),
    },
    status: {
      observedGeneration: status?.observedGeneration,
      lastScaleTime: status?.lastScaleTime,
      currentReplicas: status?.currentReplicas,
      desiredReplicas: status?.desiredReplicas,
      ...(current.length === 0 ? {} : { currentMetrics: current }),
      conditions: read('conditions'),
    },
  };
  kubernetesTypes.normalize('autoscaling.v2.HorizontalPodAutoscaler', object);
  return object as unknown as UnstructuredObject;
}

function textOf(list: readonly unknown[] | undefined): string | undefined {
  return list === undefined || list.length === 0 ? undefined : JSON.stringify(list);
}

function listOf(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

/** A malformed annotation is ignored. */
function parsed(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
