// LimitRules: a LimitRange in the form in which requests are compared with it. Made once per stored state by
// limit-ranger.ts.

import type { DeepReadonly, Quantity } from '@kapstan/api';
import { eachInSlices, type SlicedWork } from '@kapstan/api/internal';
import type { LimitRange, LimitRangeItem } from '@kapstan/kinds/core/v1';
import { amount, type ResourceList } from '../../validation/resource-rules.ts';
import {
  type Asked,
  type Bound,
  type Constraint,
  maximum,
  maximumRatio,
  maximumRequest,
  minimum,
} from './limit-constraints.ts';

type Item = DeepReadonly<LimitRangeItem>;

/** Maximum number of faults that are searched for. An answer shows fewer. */
export const maxFaults = 1_000;
/** Number of bounds compared, or entries read, between two looks at the clock. */
const rulesPerSlice = 500;

interface Rule {
  readonly bound: Bound;
  readonly constraint: Constraint;
}

export interface LimitRules {
  /** Amounts that containers get if they name none, as written. */
  readonly defaults: { readonly limits: ReadonlyMap<string, string>; readonly requests: ReadonlyMap<string, string> };
  /** Rules by their subject: "Container", "Pod" or "PersistentVolumeClaim". */
  readonly rules: ReadonlyMap<string, readonly Rule[]>;
}

export function* limitRules({ spec }: DeepReadonly<LimitRange>): SlicedWork<LimitRules> {
  const limits = new Map<string, string>();
  const requests = new Map<string, string>();
  const rules = new Map<string, readonly Rule[]>();
  for (const item of spec?.limits ?? []) {
    rules.set(item.type, [...(rules.get(item.type) ?? []), ...(yield* rulesOf(item))]);
    if (item.type !== 'Container') continue;
    for (const [resource, text] of textsOf(item.default)) limits.set(resource, text);
    for (const [resource, text] of textsOf(item.defaultRequest)) requests.set(resource, text);
  }
  return { defaults: { limits, requests }, rules };
}

function* rulesOf({ type, min, max, maxLimitRequestRatio }: Item): SlicedWork<Rule[]> {
  const isClaim = type === 'PersistentVolumeClaim';
  return [
    ...(yield* withBounds(min, minimum)),
    ...(yield* withBounds(max, isClaim ? maximumRequest : maximum)),
    ...(isClaim ? [] : yield* withBounds(maxLimitRequestRatio, maximumRatio)),
  ];
}

function* withBounds(list: ResourceList | undefined, constraint: Constraint): SlicedWork<Rule[]> {
  const rules: Rule[] = [];
  const add = ([resource, text]: [string, ResourceList[string]]): void => {
    rules.push({ bound: { resource, amount: amount(text) }, constraint });
  };
  yield* eachInSlices(Object.entries(list ?? {}), add, rulesPerSlice);
  return rules;
}

export function amountsOf(list: ResourceList | undefined): Map<string, Quantity> {
  return new Map(Object.entries(list ?? {}).map(([resource, text]) => [resource, amount(text)]));
}

function textsOf(list: ResourceList | undefined): [string, string][] {
  return Object.entries(list ?? {}).map(([resource, text]) => [resource, String(text)]);
}

/**
 * Compares the amounts of the object with the rules and adds the violations to `faults`, up to {@link maxFaults}. A limit range may have as
 * many bounds as fit into a request, and a pod as many containers.
 */
export function* addFaults({ rules }: LimitRules, asked: Asked, faults: string[]): SlicedWork<void> {
  let looked = 0;
  for (const { bound, constraint } of rules.get(asked.type) ?? []) {
    if (faults.length >= maxFaults) return;
    const fault = constraint(asked, bound);
    if (fault !== undefined) faults.push(fault);
    looked += 1;
    if (looked % rulesPerSlice === 0) yield;
  }
}
