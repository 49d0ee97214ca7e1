// PodCheck: one rule of pod security, and the common parts of the rules: the containers that they check and the words of their messages.
// Implemented in the files *-checks.ts, run by pod-checks.ts. Source: pod-security-admission/policy.

import type { DeepReadonly } from '@kapstan/api';
import type {
  Container,
  EphemeralContainer,
  PodSecurityContext,
  PodSpec,
  SecurityContext,
} from '@kapstan/kinds/core/v1';

/** A pod, or the template of pods. */
export interface CheckedPod {
  readonly annotations: Readonly<Record<string, string>>;
  readonly spec: DeepReadonly<PodSpec>;
}

export interface Violation {
  /** Names the rule: "hostPort". */
  readonly reason: string;
  /** Names who breaks the rule, and how. */
  readonly detail: string;
}

export type CheckFunction = (pod: CheckedPod) => Violation | undefined;

/** A rule as it applies from one version on. */
interface CheckVersion {
  /** First minor version of Kubernetes 1.x. */
  readonly since: number;
  readonly check: CheckFunction;
}

export interface PodCheck {
  readonly id: string;
  /** Versions in rising order. Before the first one the rule does not exist. */
  readonly versions: readonly CheckVersion[];
  /** For rules of the restricted level: the weaker rule of the baseline level that this one replaces. */
  readonly replaces?: string;
}

export type AnyContainer = DeepReadonly<Container | EphemeralContainer>;
type PodContext = DeepReadonly<PodSecurityContext>;
type ContainerContext = DeepReadonly<SecurityContext>;

export function containersOf({ spec }: CheckedPod): AnyContainer[] {
  return [...(spec.initContainers ?? []), ...(spec.containers ?? []), ...(spec.ephemeralContainers ?? [])];
}

/** Returns the names of the containers for which the function returns true. */
export function namesWhere(pod: CheckedPod, isBad: (container: AnyContainer) => boolean): string[] {
  const names: string[] = [];
  for (const container of containersOf(pod)) if (isBad(container)) names.push(container.name);
  return names;
}

/** The pod, and the containers, whose security contexts violate a rule. */
export interface BadSettings {
  readonly isPodBad: boolean;
  readonly names: readonly string[];
}

export function badSettings(pod: CheckedPod, isBad: (context: PodContext | ContainerContext) => boolean): BadSettings {
  const { securityContext } = pod.spec;
  return {
    isPodBad: securityContext !== undefined && isBad(securityContext),
    names: namesWhere(pod, (container) => container.securityContext !== undefined && isBad(container.securityContext)),
  };
}

/** Returns `pod and containers "a", "b"`; "" when there are none. */
export function formatSetters({ isPodBad, names }: BadSettings): string {
  const setters = isPodBad ? ['pod'] : [];
  if (names.length > 0) setters.push(listed('container', names));
  return setters.join(' and ');
}

/** Returns `container "a"` or `containers "a", "b"`. */
export function listed(noun: string, names: readonly string[]): string {
  return `${plural(noun, names.length)} ${quoted(names)}`;
}

/** Returns the text of an own label or annotation of the object. */
export function ownText(texts: Readonly<Record<string, string>>, key: string): string | undefined {
  return Object.hasOwn(texts, key) ? texts[key] : undefined;
}

export function plural(noun: string, count: number): string {
  return count === 1 ? noun : `${noun}s`;
}

/** Quotes each item without escapes, as Kubernetes does here. */
export function quoted(items: readonly string[]): string {
  return items.length === 0 ? '' : `"${items.join('", "')}"`;
}

/** Returns different values in order. */
export function sorted(values: Iterable<string>): string[] {
  return [...new Set(values)].sort();
}

/**
 * True for pods that declare themselves to be for Windows; validation has prevented them from setting Linux-only
 * fields.
 */
export function isForWindows({ spec }: CheckedPod): boolean {
  return spec.os?.name === 'windows';
}

/** True for pods whose users are not users of the host. Source: KEP-127. */
export function hasOwnUsers({ spec }: CheckedPod): boolean {
  return spec.hostUsers === false;
}
