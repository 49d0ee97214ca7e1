// LevelVersion: the strictness of a pod security policy, and the release of Kubernetes whose rules it follows. Read
// from labels of namespaces by namespace-policy.ts. Source: pod-security-admission/api/helpers.go.

import { parseInt64 } from '@kapstan/api/internal';

const levels = ['privileged', 'baseline', 'restricted'] as const;

export type Level = (typeof levels)[number];

export interface LevelVersion {
  readonly level: Level;
  /** Minor version of Kubernetes 1.x, or the rules of this release. */
  readonly version: number | 'latest';
}

/** Returns the fault of a level; undefined for a valid one. */
export function levelFault(text: string): string | undefined {
  return levels.some((level) => level === text) ? undefined : `must be one of ${levels.join(', ')}`;
}

/** Returns a valid level; undefined for any other text. */
export function parseLevel(text: string): Level | undefined {
  return levels.find((level) => level === text);
}

/** Returns the version of "latest" or "v1.x"; undefined for any other text. */
export function parseVersion(text: string): LevelVersion['version'] | undefined {
  if (text === 'latest') return 'latest';
  const [, minor] = /^v1\.(0|[1-9][0-9]*)$/.exec(text) ?? [];
  // Go's Atoi refuses numbers that do not fit an int64.
  if (minor === undefined || parseInt64(minor) === undefined) return undefined;
  return Number(minor);
}

/** Returns the fault of a version; undefined for a valid one. */
export function versionFault(text: string): string | undefined {
  return parseVersion(text) === undefined ? 'must be "latest" or "v1.x"' : undefined;
}

/** Returns "baseline:latest" or "restricted:v1.30". */
export function formatLevelVersion({ level, version }: LevelVersion): string {
  return `${level}:${version === 'latest' ? version : `v1.${version}`}`;
}

/** Returns a positive number when the first level is stricter than the second. */
export function compareLevels(one: Level, other: Level): number {
  return levels.indexOf(one) - levels.indexOf(other);
}

/** True when both allow the same pods by the same rules. */
export function isEquivalent(one: LevelVersion, other: LevelVersion): boolean {
  if (one.level === 'privileged' && other.level === 'privileged') return true;
  return one.level === other.level && one.version === other.version;
}
