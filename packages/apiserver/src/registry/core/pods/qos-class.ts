// The quality of service class of a pod. Source: pkg/apis/core/helper/qos ComputePodQOS.
import type { DeepReadonly } from '@kapstan/api';
import type { Container, PodSpec, PodStatus } from '@kapstan/kinds/core/v1';
import { amount, type ResourceList } from '../../validation/resource-rules.ts';

/** cpu and memory count, zero amounts do not. */
const counted = ['cpu', 'memory'] as const;

/** Guaranteed: limits for both resources in every container, equal to the requests. BestEffort: neither anywhere. */
export function qosClassOf(spec: DeepReadonly<PodSpec> | undefined): NonNullable<PodStatus['qosClass']> {
  const containers = [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])];
  if (containers.every((container) => isEmpty(container))) return 'BestEffort';
  return containers.every((container) => isGuaranteed(container)) ? 'Guaranteed' : 'Burstable';
}

function isEmpty(container: DeepReadonly<Container>): boolean {
  return counted.every(
    (name) =>
      positive(container.resources?.limits, name) === undefined &&
      positive(container.resources?.requests, name) === undefined,
  );
}

function isGuaranteed(container: DeepReadonly<Container>): boolean {
  return counted.every((name) => {
    const limit = positive(container.resources?.limits, name);
    const request = positive(container.resources?.requests, name);
    return limit !== undefined && (request === undefined || amount(request).compare(amount(limit)) === 0);
  });
}

function positive(list: ResourceList | undefined, name: string): string | undefined {
  const value = list !== undefined && Object.hasOwn(list, name) ? String(list[name]) : undefined;
  return value === undefined || amount(value).sign === 0 ? undefined : value;
}
