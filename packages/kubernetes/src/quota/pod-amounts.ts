// Adds up the needs of a pod including its status: a container that is being resized counts with the larger amount. Used by pod-usage.ts.
// Source: component-helpers resource PodRequests, PodLimits.
import type { DeepReadonly, Quantity } from '@kapstan/api';
import { namesInSlices, type SlicedWork, SlicePace } from '@kapstan/api/internal';
import type { ContainerStatus, Pod } from '@kapstan/kinds/core/v1';
import { amount, isHugePages, type ResourceList } from '../validation/resource-rules.ts';
import { type Amounts, addAmounts } from './amounts.ts';

type AnyPod = DeepReadonly<Pod>;
type Totals = Map<string, Quantity>;
export type AmountList = 'limits' | 'requests';

/** Number of containers that are added up between two looks at the clock. */
const containersPerSlice = 50;
/** Number of amounts of a container that are read between two looks at the clock. */
const amountsPerSlice = 500;

export function* podAmounts(pod: AnyPod, list: AmountList): SlicedWork<Totals> {
  const totals = yield* containerTotals(pod, list);
  takePodLevel(totals, pod, list);
  for (const [name, text] of Object.entries((pod.spec?.overhead ?? {}) as ResourceList)) {
    const present = totals.get(name);
    // A limit that is not set stays unlimited.
    if (list === 'limits' && (present === undefined || present.sign === 0)) continue;
    totals.set(name, present?.add(amount(text)) ?? amount(text));
  }
  return totals;
}

/** Limits of the pod as a whole count as soon as it names any amount, requests only when it names requests. */
function takePodLevel(totals: Totals, { spec }: AnyPod, list: AmountList): void {
  const { requests, limits } = spec?.resources ?? {};
  const named = list === 'requests' ? [requests] : [requests, limits];
  if (!named.some((own) => Object.keys(own ?? {}).some(isPodLevel))) return;
  for (const [name, text] of Object.entries((spec?.resources?.[list] ?? {}) as ResourceList))
    if (isPodLevel(name)) totals.set(name, amount(text));
}

/** Returns true when the pod names amounts for itself as a whole. Source: IsPodLevelResourcesSet. */
export function hasPodAmounts({ spec }: AnyPod): boolean {
  const { requests = {}, limits = {} } = spec?.resources ?? {};
  return [...Object.keys(requests), ...Object.keys(limits)].some(isPodLevel);
}

function isPodLevel(name: string): boolean {
  return name === 'cpu' || name === 'memory' || isHugePages(name);
}

/** Returns the amounts that all containers need together at the peak of the start. */
function* containerTotals(pod: AnyPod, list: AmountList): SlicedWork<Totals> {
  const effective = effectiveAmounts(pod, list);
  const totals: Totals = new Map();
  for (const [at, container] of (pod.spec?.containers ?? []).entries()) {
    yield* addAmounts(totals, yield* effective(container, true));
    if (at % containersPerSlice === containersPerSlice - 1) yield;
  }
  const sidecars: Totals = new Map();
  const starting: Totals = new Map();
  for (const [at, container] of (pod.spec?.initContainers ?? []).entries()) {
    const isSidecar = container.restartPolicy === 'Always';
    const own = yield* effective(container, isSidecar);
    if (isSidecar) {
      yield* addAmounts(totals, own);
      yield* addAmounts(sidecars, own);
    }
    // The sidecars' totals rose only for names of this container, and were compared when they last rose.
    yield* raiseAll(starting, own, (name, value) => besides(sidecars, { name, value, isSidecar }));
    if (at % containersPerSlice === containersPerSlice - 1) yield;
  }
  yield* raiseAll(totals, starting, (_name, value) => value);
  return totals;
}

function besides(
  sidecars: Amounts,
  { name, value, isSidecar }: { readonly name: string; readonly value: Quantity; readonly isSidecar: boolean },
): Quantity {
  const beside = sidecars.get(name);
  return isSidecar ? (beside ?? value) : (beside?.add(value) ?? value);
}

function* raiseAll(
  totals: Totals,
  amounts: Amounts,
  to: (name: string, value: Quantity) => Quantity,
): SlicedWork<void> {
  const pace = new SlicePace();
  for (const [name, value] of amounts) {
    if (pace.isDue()) yield;
    raise(totals, name, to(name, value));
  }
}

function raise(totals: Totals, name: string, value: Quantity): void {
  const present = totals.get(name);
  if (present === undefined || present.compare(value) < 0) totals.set(name, value);
}

interface Sized {
  readonly name: string;
  readonly resources?: { readonly limits?: ResourceList; readonly requests?: ResourceList };
}

/** Returns a function that reads the needs of a container; `counts` is false if its status does not matter. */
function effectiveAmounts(pod: AnyPod, list: AmountList): (container: Sized, counts: boolean) => SlicedWork<Totals> {
  const { containerStatuses = [], initContainerStatuses = [], conditions = [] } = pod.status ?? {};
  const statuses = new Map([...containerStatuses, ...initContainerStatuses].map((status) => [status.name, status]));
  // The spec of a resize that the node refused is a wish.
  const isInfeasible = conditions.find(({ type }) => type === 'PodResizePending')?.reason === 'Infeasible';
  return function* (container, counts): SlicedWork<Totals> {
    const spec = container.resources?.[list];
    const status = counts ? statuses.get(container.name) : undefined;
    if (status?.resources === undefined) return yield* amountsOf([spec]);
    return yield* amountsOf([isInfeasible ? undefined : spec, ...actualLists(status, list)]);
  };
}

function actualLists(
  { resources, allocatedResources }: DeepReadonly<ContainerStatus>,
  list: AmountList,
): readonly (ResourceList | undefined)[] {
  return list === 'requests' ? [resources?.requests, allocatedResources] : [resources?.limits];
}

/** Returns the largest amount of each name. */
function* amountsOf(lists: readonly (ResourceList | undefined)[]): SlicedWork<Totals> {
  const amounts: Totals = new Map();
  let read = 0;
  for (const list of lists) {
    if (list === undefined) continue;
    for (const name of yield* namesInSlices(list)) {
      raise(amounts, name, amount(list[name] ?? 0));
      read++;
      if (read % amountsPerSlice === 0) yield;
    }
  }
  return amounts;
}
