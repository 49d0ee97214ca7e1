// Amounts: the usage of each resource that a quota may name. Evaluators make them, and admission and the control loop compare them with
// quotas. Source: apiserver pkg/quota/v1/resources.go.
import type { Quantity } from '@kapstan/api';
import { quantityOf, type SlicedWork, SlicePace } from '@kapstan/api/internal';
import { amount, type ResourceList } from '../validation/resource-rules.ts';

/** Amounts by the resource's name: "requests.cpu", "count/secrets". */
export type Amounts = ReadonlyMap<string, Quantity>;

export const zero: Quantity = quantityOf(0);
export const one: Quantity = quantityOf(1);

/** Adds `more` to `totals` in place. */
export function* addAmounts(totals: Map<string, Quantity>, more: Amounts): SlicedWork<void> {
  const pace = new SlicePace();
  for (const [name, value] of more) {
    if (pace.isDue()) yield;
    totals.set(name, totals.get(name)?.add(value) ?? value);
  }
}

/** Returns by how much each amount of `next` exceeds the one in `old`; amounts that do not exceed it are left out. */
export function* increases(next: Amounts, old: Amounts): SlicedWork<Map<string, Quantity>> {
  const result = new Map<string, Quantity>();
  const pace = new SlicePace();
  for (const [name, value] of next) {
    if (pace.isDue()) yield;
    const before = old.get(name);
    const more = before === undefined ? value : value.subtract(before);
    if (more.sign > 0) result.set(name, more);
  }
  return result;
}

/** Returns the amounts for which the function returns true. */
export function* amountsWhere(
  amounts: Amounts,
  isWanted: (name: string, value: Quantity) => boolean,
): SlicedWork<Map<string, Quantity>> {
  const wanted = new Map<string, Quantity>();
  const pace = new SlicePace();
  for (const [name, value] of amounts) {
    if (pace.isDue()) yield;
    if (isWanted(name, value)) wanted.set(name, value);
  }
  return wanted;
}

/** Returns the amounts in the form in which objects hold them. */
export function formatUsage(amounts: Amounts): Record<string, string> {
  return Object.fromEntries([...amounts].map(([name, value]) => [name, value.toString()]));
}

/** Returns true for lists with the same names and amounts, however they are written. */
export function isSameUsage(a: ResourceList = {}, b: ResourceList = {}): boolean {
  const names = Object.keys(a);
  if (names.length !== Object.keys(b).length) return false;
  return names.every((name) => {
    const [one, other] = [a[name], Object.hasOwn(b, name) ? b[name] : undefined];
    return one === other || (one !== undefined && other !== undefined && amount(one).compare(amount(other)) === 0);
  });
}

/** Returns "count/secrets=1,pods=2", in the order of the names. */
export function formatAmounts(amounts: Amounts): string {
  return [...amounts.keys()]
    .sort()
    .map((name) => `${name}=${amounts.get(name)}`)
    .join(',');
}
