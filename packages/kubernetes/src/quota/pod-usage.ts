// PodUsage measures pods: their number, and the amounts that they need as long as they run. Made by quota-evaluators.ts. Source:
// pkg/quota/v1/evaluator/core/pods.go.
import { type Clock, type DeepReadonly, type GroupResource, parseTime, type Quantity } from '@kapstan/api';
import { type SlicedWork, SlicePace } from '@kapstan/api/internal';
import { jsonEqual } from '@kapstan/apiserver/internal';
import type { Container, ContainerStatus, Pod, PodAffinity, PodAntiAffinity } from '@kapstan/kinds/core/v1';
import { qosClassOf } from '../core/pods/qos-class.ts';
import { isExtendedResourceName } from '../validation/extended-resource.ts';
import { isHugePages, isQuotaHugePages } from '../validation/resource-rules.ts';
import { type Amounts, one } from './amounts.ts';
import { hasPodAmounts, podAmounts } from './pod-amounts.ts';
import { type MeasuredObject, type MeasuredRequest, objectCountName, type QuotaEvaluator } from './quota-evaluator.ts';
import { acceptsNames, type ScopeTerm } from './quota-scope.ts';

const resource: GroupResource = { group: '', resource: 'pods' };
const countName = objectCountName(resource);
const computeResources = ['cpu', 'memory', 'ephemeral-storage'];
const names: ReadonlySet<string> = new Set([
  countName,
  'pods',
  ...computeResources.flatMap((name) => [name, `requests.${name}`, `limits.${name}`]),
]);
/** Amounts that each container must name where a quota limits them, with the list and the name of each. */
const requiredAmounts: ReadonlyMap<string, readonly ['limits' | 'requests', string]> = new Map([
  ['cpu', ['requests', 'cpu']],
  ['memory', ['requests', 'memory']],
  ['requests.cpu', ['requests', 'cpu']],
  ['requests.memory', ['requests', 'memory']],
  ['limits.cpu', ['limits', 'cpu']],
  ['limits.memory', ['limits', 'memory']],
]);
const deviceClassPrefix = 'deviceclass.resource.kubernetes.io/';
const containersPerSlice = 200;

type AnyPod = DeepReadonly<Pod>;

export class PodUsage implements QuotaEvaluator {
  readonly resource: GroupResource = resource;
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Amounts change only through `resize`; a pod that gets a deadline moves to other scopes. */
  handles({ operation, subresource, object, oldObject }: MeasuredRequest): boolean {
    if (subresource === 'resize') return operation === 'UPDATE';
    if (subresource !== '') return false;
    if (operation === 'CREATE') return true;
    return object !== undefined && oldObject !== undefined && isTerminating(object) !== isTerminating(oldObject);
  }

  measures(name: string): boolean {
    return names.has(name) || isQuotaHugePages(name) || isExtendedQuotaName(name);
  }

  matchesScope(term: ScopeTerm, object: MeasuredObject): boolean {
    const { spec } = object as AnyPod;
    switch (term.scopeName) {
      case 'Terminating':
        return isTerminating(object);
      case 'NotTerminating':
        return !isTerminating(object);
      case 'BestEffort':
        return qosClassOf(spec) === 'BestEffort';
      case 'NotBestEffort':
        return qosClassOf(spec) !== 'BestEffort';
      case 'PriorityClass':
        return acceptsNames(term, spec?.priorityClassName ? [spec.priorityClassName] : []);
      case 'CrossNamespacePodAffinity':
        return leavesNamespace(spec?.affinity?.podAffinity) || leavesNamespace(spec?.affinity?.podAntiAffinity);
      default:
        return false;
    }
  }

  *missingAmounts(limited: readonly string[], object: MeasuredObject): SlicedWork<string | undefined> {
    const pod = object as AnyPod;
    const required = limited.filter((name) => requiredAmounts.has(name)).sort();
    if (required.length === 0 || hasPodAmounts(pod)) return undefined;
    const missing = new Map<string, Set<string>>();
    const containers = [...(pod.spec?.containers ?? []), ...(pod.spec?.initContainers ?? [])];
    for (const [at, container] of containers.entries()) {
      for (const name of required)
        if (!namesAmount(container, name)) missing.set(name, (missing.get(name) ?? new Set()).add(container.name));
      if (at % containersPerSlice === containersPerSlice - 1) yield;
    }
    if (missing.size === 0) return undefined;
    const told = required.filter((name) => missing.has(name));
    return `must specify ${told.map((name) => `${name} for: ${[...(missing.get(name) ?? [])].sort().join(',')}`).join('; ')}`;
  }

  *usage(object: MeasuredObject): SlicedWork<Amounts> {
    const pod = object as AnyPod;
    const amounts = new Map([[countName, one]]);
    if (!needsCompute(pod, this.#clock.now())) return amounts;
    amounts.set('pods', one);
    const requests = yield* podAmounts(pod, 'requests');
    const limits = yield* podAmounts(pod, 'limits');
    for (const name of computeResources) {
      copyAmount(requests.get(name), amounts, [name, `requests.${name}`]);
      copyAmount(limits.get(name), amounts, [`limits.${name}`]);
    }
    const pace = new SlicePace();
    for (const [name, value] of requests) {
      if (pace.isDue()) yield;
      if (isHugePages(name)) copyAmount(value, amounts, [name]);
      if (isHugePages(name) || isExtendedResourceName(name) || name.startsWith(deviceClassPrefix))
        copyAmount(value, amounts, [`requests.${name}`]);
    }
    return amounts;
  }

  /** Source: pkg/quota/v1/install DefaultUpdateFilter. */
  mayRelease(old: MeasuredObject, next: MeasuredObject): boolean {
    const [before, after] = [old as AnyPod, next as AnyPod];
    if (hasOtherAmounts(before, after) || isTerminating(before) !== isTerminating(after)) return true;
    const nowMs = this.#clock.now();
    return needsCompute(before, nowMs) && !needsCompute(after, nowMs);
  }
}

function copyAmount(value: Quantity | undefined, amounts: Map<string, Quantity>, as: readonly string[]): void {
  if (value !== undefined) for (const name of as) amounts.set(name, value);
}

/** Source: isExtendedResourceNameForQuota. */
export function isExtendedQuotaName(name: string): boolean {
  if (!name.startsWith('requests.')) return false;
  const isNative = !name.includes('/') || name.includes('kubernetes.io/');
  return !isNative || name.startsWith(`requests.${deviceClassPrefix}`);
}

function isTerminating(object: MeasuredObject): boolean {
  const seconds = (object as AnyPod).spec?.activeDeadlineSeconds;
  return seconds !== undefined && seconds >= 0;
}

/** Returns false for a pod that has ended, or whose node did not stop it in time. Source: QuotaV1Pod. */
function needsCompute({ metadata, status }: AnyPod, nowMs: number): boolean {
  if (status?.phase === 'Failed' || status?.phase === 'Succeeded') return false;
  const { deletionTimestamp, deletionGracePeriodSeconds } = metadata ?? {};
  if (deletionTimestamp === undefined || deletionGracePeriodSeconds === undefined) return true;
  return nowMs <= parseTime(deletionTimestamp) + deletionGracePeriodSeconds * 1000;
}

function namesAmount({ resources }: DeepReadonly<Container>, limited: string): boolean {
  const [list, name] = requiredAmounts.get(limited) ?? ['requests', limited];
  return Object.hasOwn(resources?.[list] ?? {}, name);
}

type Affinity = DeepReadonly<PodAffinity | PodAntiAffinity>;

function leavesNamespace(affinity: Affinity | undefined): boolean {
  const { requiredDuringSchedulingIgnoredDuringExecution: required = [] } = affinity ?? {};
  const { preferredDuringSchedulingIgnoredDuringExecution: preferred = [] } = affinity ?? {};
  return [...required, ...preferred.map(({ podAffinityTerm }) => podAffinityTerm)].some(
    ({ namespaces = [], namespaceSelector }) => namespaces.length > 0 || namespaceSelector !== undefined,
  );
}

function hasOtherAmounts({ status: before }: AnyPod, { status: after }: AnyPod): boolean {
  const differ = (
    old: readonly DeepReadonly<ContainerStatus>[] = [],
    next: readonly DeepReadonly<ContainerStatus>[] = [],
  ): boolean => {
    const present = new Map(next.map((status) => [status.name, status]));
    return old.some(({ name, resources }) => {
      const other = present.get(name);
      return other !== undefined && !jsonEqual(resources, other.resources);
    });
  };
  return (
    differ(before?.containerStatuses, after?.containerStatuses) ||
    differ(before?.initContainerStatuses, after?.initContainerStatuses)
  );
}
