// Validates references of autoscalers to the object that they scale and to the object of a metric. Source:
// pkg/apis/autoscaling/validation ValidateCrossVersionObjectReference.
import type { DeepReadonly } from '@kapstan/api';
import type { Field } from '@kapstan/apiserver/internal';
import { pathSegmentErrors } from '@kapstan/apiserver/internal';
import type { CrossVersionObjectReference } from '@kapstan/kinds/autoscaling/v2';

/** Versions that a reference may name: any text, a valid one, or a valid one with a group. */
export type AllowedVersions = 'any' | 'valid' | 'ofGroup';

export function validateTarget(
  at: Field,
  target: Partial<DeepReadonly<CrossVersionObjectReference>>,
  versions: AllowedVersions,
): void {
  for (const name of ['kind', 'name'] as const) {
    const text = target[name] ?? '';
    if (at.child(name).present(text)) at.child(name).invalidAll(text, pathSegmentErrors(text));
  }
  const version = target.apiVersion ?? '';
  const error = versions === 'any' ? undefined : versionError(version, versions);
  if (error !== undefined) at.child('apiVersion').invalid(version, error);
}

export function versionError(version: string, versions: Exclude<AllowedVersions, 'any'>): string | undefined {
  const parts = version.split('/');
  if (parts.length > 2) return `unexpected GroupVersion string: ${version}`;
  const group = parts.length === 2 ? parts[0] : '';
  return group === '' && versions === 'ofGroup' ? 'apiVersion must specify API group' : undefined;
}
