// podViolations runs the rules of a level and version on one pod. Used by pod-security.ts.
// Source: pod-security-admission/policy/registry.go.

import { runWhole, type SlicedWork, SlicePace } from '@kapstan/api/internal';
import { hostNamespaces, hostPorts, hostProbes, windowsHostProcess } from './host-checks.ts';
import { formatLevelVersion, type LevelVersion } from './level-version.ts';
import type { CheckedPod, CheckFunction, PodCheck, Violation } from './pod-check.ts';
import {
  allowPrivilegeEscalation,
  capabilitiesBaseline,
  capabilitiesRestricted,
  privileged,
  procMountBaseline,
  procMountRestricted,
  runAsNonRoot,
  runAsUser,
  sysctls,
} from './privilege-checks.ts';
import { appArmorProfile, seccompBaseline, seccompRestricted, seLinuxOptions } from './profile-checks.ts';
import { hostPathVolumes, restrictedVolumes } from './volume-checks.ts';

// Rules in the order of their messages: by id, in Go's order of strings.
const baseline: readonly PodCheck[] = [
  appArmorProfile,
  capabilitiesBaseline,
  hostNamespaces,
  hostPathVolumes,
  hostPorts,
  hostProbes,
  privileged,
  procMountBaseline,
  seLinuxOptions,
  seccompBaseline,
  sysctls,
  windowsHostProcess,
];
const restricted: readonly PodCheck[] = [
  allowPrivilegeEscalation,
  capabilitiesRestricted,
  procMountRestricted,
  restrictedVolumes,
  runAsNonRoot,
  runAsUser,
  seccompRestricted,
];

/** Minor version of the newest rule. Later versions have the same rules. */
const newest = Math.max(...[...baseline, ...restricted].flatMap(({ versions }) => versions.map(({ since }) => since)));

/** Rules by level and version, filled on demand. There are two levels and about forty versions. */
const rules = new Map<string, readonly CheckFunction[]>();

function rulesOf({ level, version }: LevelVersion): readonly CheckFunction[] {
  if (level === 'privileged') return [];
  const minor = version === 'latest' ? newest : Math.min(version, newest);
  const key = formatLevelVersion({ level, version: minor });
  const present = rules.get(key);
  if (present !== undefined) return present;
  const own = level === 'restricted' ? restricted.filter((check) => functionAt(check, minor) !== undefined) : [];
  const replaced = new Set(own.map(({ replaces }) => replaces));
  const checks = [...baseline.filter(({ id }) => !replaced.has(id)), ...own];
  const made = checks.flatMap((check) => functionAt(check, minor) ?? []);
  rules.set(key, made);
  return made;
}

function functionAt({ versions }: PodCheck, minor: number): CheckFunction | undefined {
  return versions.findLast(({ since }) => since <= minor)?.check;
}

/** Returns the pod's violations of the level; empty when it may be created. */
export function podViolations(pod: CheckedPod, levelVersion: LevelVersion): readonly Violation[] {
  return runWhole(violationsInSlices(pod, levelVersion));
}

/** Does what {@link podViolations} does, for a pod of any size: each rule walks all containers or volumes. */
export function* violationsInSlices(pod: CheckedPod, levelVersion: LevelVersion): SlicedWork<readonly Violation[]> {
  const { containers = [], initContainers = [], ephemeralContainers = [], volumes = [] } = pod.spec;
  const steps = containers.length + initContainers.length + ephemeralContainers.length + volumes.length;
  const pace = new SlicePace();
  const violations: Violation[] = [];
  for (const check of rulesOf(levelVersion)) {
    const violation = check(pod);
    if (violation !== undefined) violations.push(violation);
    if (pace.isDue(steps)) yield;
  }
  return violations;
}

/** Returns `hostPort (container "a" uses hostPort 80), privileged (…)`. */
export function formatViolations(violations: readonly Violation[]): string {
  return violations.map(({ reason, detail }) => (detail === '' ? reason : `${reason} (${detail})`)).join(', ');
}
