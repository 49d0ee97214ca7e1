// strictPolicyWarnings checks the pods of a namespace whose policy becomes stricter, and returns warnings that name those that would now be refused.
// Used by pod-security.ts. Source: pod-security-admission EvaluatePodsInNamespace.

import type { Clock, DeepReadonly, UnstructuredObject } from '@kapstan/api';
import { goQuote, type SlicedWork } from '@kapstan/api/internal';
import type { Pod } from '@kapstan/kinds/core/v1';
import { formatLevelVersion, type LevelVersion } from './level-version.ts';
import { podViolations } from './pod-checks.ts';
import { checkedPod } from './pod-template.ts';

/** Maximum number of pods that are checked. */
const maxPods = 3_000;

/** A stored pod. */
export interface PodView {
  view<R>(look: (object: DeepReadonly<UnstructuredObject>) => R): R;
}

export interface NamespacePods {
  readonly namespace: string;
  readonly pods: readonly PodView[];
  readonly enforce: LevelVersion;
  /** Returns whether pods of a runtime class are exempt from the rules. */
  readonly isExempt: (runtimeClass: string) => boolean;
  readonly clock: Clock;
  /** The time when the client has waited long enough, on the monotonic clock. */
  readonly untilMs: number;
}

/** Pods with one set of reasons. */
interface Offenders {
  firstName: string;
  count: number;
}

export function* strictPolicyWarnings({
  namespace,
  pods,
  enforce,
  isExempt,
  clock,
  untilMs,
}: NamespacePods): SlicedWork<string[]> {
  const order = yield* inOrder(pods, isExempt);
  const offenders = new Map<string, Offenders>();
  let checked = 0;
  for (const pod of order.slice(0, maxPods)) {
    pod.view((object) => noteOffender(offenders, object as DeepReadonly<Pod>, enforce));
    checked += 1;
    if (clock.monotonicNow() >= untilMs) break;
    yield;
  }
  const warnings: string[] = [];
  if (checked < order.length) {
    const scope = `the first ${checked} of ${order.length} existing pods`;
    warnings.push(`new PodSecurity enforce level only checked against ${scope}`);
  }
  if (offenders.size > 0) {
    const level = goQuote(formatLevelVersion(enforce));
    warnings.push(
      `existing pods in namespace ${goQuote(namespace)} violate the new PodSecurity enforce level ${level}`,
    );
  }
  return [
    ...warnings,
    ...[...offenders].map(([reasons, { firstName, count }]) => told(reasons, firstName, count)).sort(),
  ];
}

/** Puts one pod of each controller before the others of that controller, which are probably alike. */
function* inOrder(pods: readonly PodView[], isExempt: NamespacePods['isExempt']): SlicedWork<PodView[]> {
  const first: PodView[] = [];
  const others: PodView[] = [];
  const controllers = new Set<string>();
  for (const pod of pods) {
    const { runtimeClassName = '', controller } = pod.view(placeOf);
    if (runtimeClassName === '' || !isExempt(runtimeClassName)) {
      const isRepeated = controller !== undefined && controllers.has(controller);
      (isRepeated ? others : first).push(pod);
      if (controller !== undefined) controllers.add(controller);
    }
    yield;
  }
  return [...first, ...others];
}

function placeOf(object: DeepReadonly<UnstructuredObject>): {
  readonly runtimeClassName: string | undefined;
  readonly controller: string | undefined;
} {
  const { metadata, spec } = object as DeepReadonly<Pod>;
  const owner = metadata?.ownerReferences?.find(({ controller }) => controller === true);
  return { runtimeClassName: spec?.runtimeClassName, controller: owner?.uid };
}

function noteOffender(offenders: Map<string, Offenders>, pod: DeepReadonly<Pod>, enforce: LevelVersion): void {
  const violations = podViolations(checkedPod(pod), enforce);
  if (violations.length === 0) return;
  const reasons = violations.map(({ reason }) => reason).join(', ');
  const name = pod.metadata?.name ?? '';
  const known = offenders.get(reasons);
  if (known === undefined) {
    offenders.set(reasons, { firstName: name, count: 1 });
    return;
  }
  known.count += 1;
  if (name < known.firstName) known.firstName = name;
}

function told(reasons: string, name: string, count: number): string {
  if (count === 1) return `${name}: ${reasons}`;
  const others = count - 1;
  return `${name} (and ${others} other ${others === 1 ? 'pod' : 'pods'}): ${reasons}`;
}
