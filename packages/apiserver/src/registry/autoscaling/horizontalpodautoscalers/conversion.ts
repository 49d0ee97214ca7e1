// Between autoscaling/v2, the stored form, and v1, which keeps what it has no fields for in annotations.
// Source: pkg/apis/autoscaling/v1/conversion.go.
import { type DeepReadonly, deepCopy, type UnstructuredObject } from '@kapstan/api';
import type { HorizontalPodAutoscaler as HorizontalPodAutoscalerV1 } from '@kapstan/kinds/autoscaling/v1';
import type { HorizontalPodAutoscaler, MetricSpec, MetricStatus } from '@kapstan/kinds/autoscaling/v2';
import { normalizeGoForm } from '../../../schema/go-form.ts';

const annotations = {
  metrics: 'autoscaling.alpha.kubernetes.io/metrics',
  currentMetrics: 'autoscaling.alpha.kubernetes.io/current-metrics',
  conditions: 'autoscaling.alpha.kubernetes.io/conditions',
  behavior: 'autoscaling.alpha.kubernetes.io/behavior',
} as const;

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
  const kept = {
    [annotations.metrics]: textOf(spec?.metrics?.filter((metric) => metric !== cpu)),
    [annotations.currentMetrics]: textOf(status?.currentMetrics?.filter((metric) => metric !== currentCpu)),
    [annotations.conditions]: textOf(status?.conditions),
    [annotations.behavior]: spec?.behavior === undefined ? undefined : JSON.stringify(spec.behavior),
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
  normalizeGoForm('autoscaling.v1.HorizontalPodAutoscaler', object);
  return object as unknown as UnstructuredObject;
}

export function toAutoscalerV2(served: UnstructuredObject): UnstructuredObject {
  const { metadata = {}, spec, status } = deepCopy(served) as unknown as HorizontalPodAutoscalerV1;
  const cpu = spec?.targetCPUUtilizationPercentage;
  const currentCpu = status?.currentCPUUtilizationPercentage;
  const read = (name: keyof typeof annotations): unknown => parsed(metadata.annotations?.[annotations[name]]);
  const metrics: MetricSpec[] = [...((read('metrics') as MetricSpec[] | undefined) ?? [])];
  if (cpu !== undefined)
    metrics.push({
      type: 'Resource',
      resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: cpu } },
    });
  const current: MetricStatus[] = [...((read('currentMetrics') as MetricStatus[] | undefined) ?? [])];
  if (currentCpu !== undefined) {
    current.push({ type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: currentCpu } } });
  }
  const own = new Set<string>(Object.values(annotations));
  const others = Object.entries(metadata.annotations ?? {}).filter(([key]) => !own.has(key));
  const object = {
    kind: 'HorizontalPodAutoscaler',
    apiVersion: 'autoscaling/v2',
    metadata: { ...metadata, annotations: Object.fromEntries(others) },
    spec: {
      scaleTargetRef: spec?.scaleTargetRef,
      minReplicas: spec?.minReplicas,
      maxReplicas: spec?.maxReplicas,
      metrics,
      behavior: read('behavior'),
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
  normalizeGoForm('autoscaling.v2.HorizontalPodAutoscaler', object);
  return object as unknown as UnstructuredObject;
}

function textOf(list: readonly unknown[] | undefined): string | undefined {
  return list === undefined || list.length === 0 ? undefined : JSON.stringify(list);
}

/** An annotation that somebody broke is left out. */
function parsed(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
