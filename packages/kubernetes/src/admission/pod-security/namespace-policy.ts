// NamespacePolicy: the requirements of a namespace's labels on its pods in the three modes of pod security. Used by pod-security.ts.
// Source: pod-security-admission/api/helpers.go PolicyToEvaluate.

import { type FieldError, invalidField } from '@kapstan/api/errors';
import {
  compareLevels,
  isEquivalent,
  type LevelVersion,
  levelFault,
  parseLevel,
  parseVersion,
  versionFault,
} from './level-version.ts';
import { ownText } from './pod-check.ts';

export const labelPrefix = 'pod-security.kubernetes.io/';

export const modes = ['enforce', 'audit', 'warn'] as const;

/** enforce: pods are refused; audit: the audit log records it; warn: the client is warned. */
export type Mode = (typeof modes)[number];

export type NamespacePolicy = Readonly<Record<Mode, LevelVersion>>;

type Labels = Readonly<Record<string, string>>;

export interface ReadPolicy {
  readonly policy: NamespacePolicy;
  /** Errors of the labels that cannot be read. Unreadable labels that would enforce a policy count as restricted. */
  readonly errors: readonly FieldError[];
}

/** Reads the labels of a namespace; `defaults` holds for each mode and version that has no label. */
export function readPolicy(labels: Labels | undefined, defaults: NamespacePolicy): ReadPolicy {
  const policy: Record<Mode, LevelVersion> = { ...defaults };
  const errors: FieldError[] = [];
  for (const mode of modes) policy[mode] = readMode(mode, labels, { fallback: defaults[mode], errors });
  const own = (key: string): string | undefined => ownText(labels ?? {}, labelPrefix + key);
  const enforced = own('enforce');
  const isWarnSet = own('warn') !== undefined;
  const { enforce, warn } = policy;
  const isEnforceSet = enforced !== undefined && levelFault(enforced) === undefined;
  if (!isWarnSet && isEnforceSet && compareLevels(enforce.level, warn.level) > 0) {
    const version = own('warn-version') === undefined ? enforce.version : warn.version;
    policy.warn = { level: enforce.level, version };
  }
  return { policy, errors };
}

function readMode(
  mode: Mode,
  labels: Labels | undefined = {},
  { fallback, errors }: { readonly fallback: LevelVersion; readonly errors: FieldError[] },
): LevelVersion {
  let { level, version } = fallback;
  const levelText = ownText(labels, labelPrefix + mode);
  if (levelText !== undefined) {
    noteFault(errors, { label: mode, value: levelText, fault: levelFault(levelText) });
    // A level that cannot be read must neither open the namespace nor flood the log and the clients.
    level = parseLevel(levelText) ?? (mode === 'enforce' ? 'restricted' : 'privileged');
  }
  const versionText = ownText(labels, `${labelPrefix}${mode}-version`);
  if (versionText !== undefined) {
    noteFault(errors, { label: `${mode}-version`, value: versionText, fault: versionFault(versionText) });
    version = parseVersion(versionText) ?? 'latest';
  }
  return { level, version };
}

function noteFault(
  errors: FieldError[],
  { label, value, fault }: { readonly label: string; readonly value: string; readonly fault: string | undefined },
): void {
  if (fault !== undefined) errors.push(invalidField(`metadata.labels[${labelPrefix}${label}]`, value, fault));
}

/** True when no mode forbids anything. */
export function isPrivileged(policy: NamespacePolicy): boolean {
  return modes.every((mode) => policy[mode].level === 'privileged');
}

/** True when two policies allow the same pods in each mode. */
export function isSamePolicy(one: NamespacePolicy, other: NamespacePolicy): boolean {
  return modes.every((mode) => isEquivalent(one[mode], other[mode]));
}
