// Adds up the needs of a pod's containers, for the defaults and rules of amounts for whole pods. Source:
// component-helpers resource AggregateContainerRequests, AggregateContainerLimits.
import type { DeepReadonly, Quantity } from '@kapstan/api';
import { runWhole, type SlicedWork, SlicePace } from '@kapstan/api/internal';
import type { Container, PodSpec } from '@kapstan/kinds/core/v1';
import { amount, type ResourceList } from '../../validation/resource-rules.ts';

type Totals = Map<string, Quantity>;

/** Steps of a walk that reading and adding one amount takes. */
const stepsPerAmount = 8;

/** Returns the amounts that all containers need together at the peak of the start. */
export function totalsOf(spec: DeepReadonly<PodSpec>, list: 'limits' | 'requests'): ReadonlyMap<string, Quantity> {
  return runWhole(totalsInSlices(spec, list));
}

/** Does what {@link totalsOf} does, for a pod of any size. */
export function* totalsInSlices(
  spec: DeepReadonly<PodSpec>,
  list: 'limits' | 'requests',
): SlicedWork<ReadonlyMap<string, Quantity>> {
  const pace = new SlicePace();
  const totals: Totals = new Map();
  for (const container of spec.containers ?? []) {
    const own = listOf(container, list);
    if (pace.isDue(1 + own.size * stepsPerAmount)) yield;
    add(totals, own);
  }
  const sidecars: Totals = new Map();
  const starting: Totals = new Map();
  for (const container of spec.initContainers ?? []) {
    const own = listOf(container, list);
    if (pace.isDue(1 + own.size * stepsPerAmount)) yield;
    const isSidecar = container.restartPolicy === 'Always';
    if (isSidecar) {
      add(totals, own);
      add(sidecars, own);
    }
    raise(starting, together(own, sidecars, isSidecar));
  }
  return raise(totals, starting);
}

/**
 * Returns the needs of a container together with the sidecars. Names that it does not mention can be skipped, because
 * the sidecars' totals were compared when they last rose.
 */
function together(own: Totals, sidecars: Totals, isSidecar: boolean): Totals {
  const needed: Totals = new Map();
  for (const [name, value] of own) {
    const beside = sidecars.get(name);
    needed.set(name, isSidecar ? (beside ?? value) : (beside?.add(value) ?? value));
  }
  return needed;
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
