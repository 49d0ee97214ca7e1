// LimitRules: a LimitRange in the form in which requests are compared with it. Made once per stored state by
// limit-ranger.ts.

import type { DeepReadonly, Quantity } from '@kapstan/api';
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

interface Rule {
  readonly bound: Bound;
  readonly constraint: Constraint;
}

export interface LimitRules {
  /** Amounts that containers get where they name none, as written. */
  readonly defaults: { readonly limits: ReadonlyMap<string, string>; readonly requests: ReadonlyMap<string, string> };
  /** Rules by what they are about: "Container", "Pod" or "PersistentVolumeClaim". */
  readonly rules: ReadonlyMap<string, readonly Rule[]>;
}

export function limitRules({ spec }: DeepReadonly<LimitRange>): LimitRules {
  const limits = new Map<string, string>();
  const requests = new Map<string, string>();
  const rules = new Map<string, readonly Rule[]>();
  for (const item of spec?.limits ?? []) {
    rules.set(item.type, [...(rules.get(item.type) ?? []), ...rulesOf(item)]);
    if (item.type !== 'Container') continue;
    for (const [resource, text] of textsOf(item.default)) limits.set(resource, text);
    for (const [resource, text] of textsOf(item.defaultRequest)) requests.set(resource, text);
  }
  return { defaults: { limits, requests }, rules };
}

function rulesOf({ type, min, max, maxLimitRequestRatio }: Item): Rule[] {
  const isClaim = type === 'PersistentVolumeClaim';
  return [
    ...withBounds(min, minimum),
    ...withBounds(max, isClaim ? maximumRequest : maximum),
    ...(isClaim ? [] : withBounds(maxLimitRequestRatio, maximumRatio)),
  ];
}

function withBounds(list: ResourceList | undefined, constraint: Constraint): Rule[] {
  return [...amountsOf(list)].map(([resource, quantity]) => ({ bound: { resource, amount: quantity }, constraint }));
}

export function amountsOf(list: ResourceList | undefined): Map<string, Quantity> {
  return new Map(Object.entries(list ?? {}).map(([resource, text]) => [resource, amount(text)]));
}

function textsOf(list: ResourceList | undefined): [string, string][] {
  return Object.entries(list ?? {}).map(([resource, text]) => [resource, String(text)]);
}

/** Returns what the object asks for against the rules. */
export function violations({ rules }: LimitRules, asked: Asked): string[] {
  return (rules.get(asked.type) ?? []).flatMap(({ bound, constraint }) => constraint(asked, bound) ?? []);
}
