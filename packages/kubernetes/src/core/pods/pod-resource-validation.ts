// Rules for the resource amounts of a whole pod, which must cover the amounts of its containers. Source:
// pkg/apis/core/validation validatePodResources, validatePodResourceConsistency.
import type { DeepReadonly } from '@kapstan/api';
import type { Field } from '@kapstan/apiserver/internal';
import type { PodSpec } from '@kapstan/kinds/core/v1';
import {
  amount,
  isHugePages,
  type ResourceList,
  validatePodResourceName,
  validateResourceRequirements,
} from '../../validation/resource-rules.ts';
import { totalsOf } from './container-totals.ts';

/** Checks the amounts of the whole pod. Source: validatePodResources. */
export function validatePodResources(at: Field, spec: DeepReadonly<PodSpec>): void {
  if (spec.resources === undefined) return;
  if (spec.os?.name === 'windows') return at.forbidden('may not be set for a windows pod');
  if (spec.resources.claims !== undefined)
    at.child('claims').forbidden('claims may not be set for Resources at pod-level');
  const claimNames = new Set((spec.resourceClaims ?? []).map(({ name }) => name));
  validateResourceRequirements(at, spec.resources, { claimNames, validateName: validatePodResourceName });
  validateShares(at, spec);
}

function validateShares(at: Field, spec: DeepReadonly<PodSpec>): void {
  for (const list of ['requests', 'limits'] as const) {
    const ofPod = new Map(Object.entries((spec.resources?.[list] ?? {}) as ResourceList));
    for (const [name, total] of totalsOf(spec, list)) {
      const own = ofPod.get(name);
      if (own === undefined || (list === 'limits' && !isHugePages(name)) || total.compare(amount(own)) <= 0) continue;
      const why = `must be greater than or equal to aggregate container ${list} of ${total}`;
      at.child(list).key(name).invalid(String(own), why);
    }
  }
  const limits = new Map(Object.entries((spec.resources?.limits ?? {}) as ResourceList));
  at.child('containers').each(spec.containers, ({ resources }, place) => {
    place.eachKey(resources?.limits as ResourceList | undefined, (name, limit, limitPlace) => {
      const most = limits.get(name);
      if (most !== undefined && amount(limit).compare(amount(most)) > 0)
        limitPlace.child('limits').invalid(String(limit), `must be less than or equal to pod limits of ${most}`);
    });
  });
}
