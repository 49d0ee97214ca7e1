// The quality of service class of a pod. Source: pkg/apis/core/helper/qos ComputePodQOS.
import type { DeepReadonly } from '@kapstan/api';
import type { Container, PodSpec, PodStatus } from '@kapstan/kinds/core/v1';
import { amount, type ResourceList } from '../../validation/resource-rules.ts';

/** Only cpu and memory count, and only non-zero amounts. */
const counted = ['cpu', 'memory'] as const;

/**
 * Returns the class. Guaranteed: every container has limits for both resources, equal to the requests. BestEffort: none
 * has any.
 */
export function qosClassOf(spec: DeepReadonly<PodSpec> | undefined): NonNullable<PodStatus['qosClass']> {
  // Amounts of the whole pod replace the amounts of its containers.
  const parts = spec?.resources ? [spec] : [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])];
  if (parts.every((part) => isEmpty(part))) return 'BestEffort';
  return parts.every((part) => isGuaranteed(part)) ? 'Guaranteed' : 'Burstable';
}

type Part = DeepReadonly<Pick<Container, 'resources'>>;

function isEmpty(part: Part): boolean {
  return counted.every(
    (name) =>
      positive(part.resources?.limits, name) === undefined && positive(part.resources?.requests, name) === undefined,
  );
}

function isGuaranteed(part: Part): boolean {
  return counted.every((name) => {
    const limit = positive(part.resources?.limits, name);
    const request = positive(part.resources?.requests, name);
    return limit !== undefined && (request === undefined || amount(request).compare(amount(limit)) === 0);
  });
}

function positive(list: ResourceList | undefined, name: string): string | undefined {
  const value = list !== undefined && Object.hasOwn(list, name) ? String(list[name]) : undefined;
  return value === undefined || amount(value).sign <= 0 ? undefined : value;
}
