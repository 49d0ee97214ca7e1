// Adds up what the containers of a pod need, for the defaults and rules of amounts for whole pods. Source:
// component-helpers resource AggregateContainerRequests, AggregateContainerLimits.
import type { DeepReadonly, Quantity } from '@kapstan/api';
import type { Container, PodSpec } from '@kapstan/kinds/core/v1';
import { amount, type ResourceList } from '../../validation/resource-rules.ts';

type Totals = Map<string, Quantity>;

/** Returns what all containers need together at the peak of the start. */
export function totalsOf(spec: DeepReadonly<PodSpec>, list: 'limits' | 'requests'): ReadonlyMap<string, Quantity> {
  const totals: Totals = new Map();
  for (const container of spec.containers ?? []) add(totals, listOf(container, list));
  const sidecars: Totals = new Map();
  const starting: Totals = new Map();
  for (const container of spec.initContainers ?? []) {
    const own = listOf(container, list);
    if (container.restartPolicy === 'Always') {
      add(totals, own);
      add(sidecars, own);
    }
    // Names that this container does not mention need no look: the sidecars' totals were compared when they last rose.
    const together = new Map<string, Quantity>();
    for (const [name, value] of own) {
      const beside = sidecars.get(name);
      const isSidecar = container.restartPolicy === 'Always';
      together.set(name, isSidecar ? (beside ?? value) : (beside?.add(value) ?? value));
    }
    raise(starting, together);
  }
  return raise(totals, starting);
}

const listOf = ({ resources }: DeepReadonly<Container>, list: 'limits' | 'requests'): Totals =>
  new Map(Object.entries((resources?.[list] ?? {}) as ResourceList).map(([name, text]) => [name, amount(text)]));

function add(totals: Totals, more: Totals): Totals {
  for (const [name, value] of more) totals.set(name, totals.get(name)?.add(value) ?? value);
  return totals;
}

function raise(totals: Totals, others: Totals): Totals {
  for (const [name, value] of others) {
    const total = totals.get(name);
    if (total === undefined || total.compare(value) < 0) totals.set(name, value);
  }
  return totals;
}
