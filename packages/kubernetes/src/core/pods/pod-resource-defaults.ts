// Derives amounts for a whole pod from its containers. Source: pkg/apis/core/v1/defaults.go defaultHugePagePodLimits
// and defaultPodRequests.
import { getOwn, type SlicedWork } from '@kapstan/api/internal';
import type { PodSpec } from '@kapstan/kinds/core/v1';
import { isHugePages, type ResourceList } from '../../validation/resource-rules.ts';
import { totalsInSlices } from './container-totals.ts';

/** Sets defaults in place, only for a pod that already has its own amounts. */
export function* setPodResourceDefaults(spec: PodSpec): SlicedWork<void> {
  const resources = spec.resources;
  if (resources === undefined) return;
  const limits: Record<string, ResourceList[string]> = { ...resources.limits };
  const requests: Record<string, ResourceList[string]> = { ...resources.requests };
  if (Object.keys(limits).length + Object.keys(requests).length === 0) return;
  for (const [name, total] of yield* totalsInSlices(spec, 'limits')) {
    if (isHugePages(name) && getOwn(requests, name) === undefined) limits[name] ??= total.toString();
  }
  if (Object.keys(limits).length === 0) return;
  resources.limits = limits;
  for (const [name, total] of yield* totalsInSlices(spec, 'requests'))
    if (isOfPod(name)) requests[name] ??= total.toString();
  for (const [name, limit] of Object.entries(limits)) if (isOfPod(name) || isHugePages(name)) requests[name] ??= limit;
  if (Object.keys(requests).length > 0) resources.requests = requests;
}

const isOfPod = (name: string): boolean => name === 'cpu' || name === 'memory';
