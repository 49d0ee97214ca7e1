// Rules that the workload kinds share: selector, template, counts in the status. Source: pkg/apis/apps/validation.
import type { DeepReadonly } from '@kapstan/api';
import type { Field } from '@kapstan/apiserver/internal';
import { jsonEqual } from '@kapstan/apiserver/internal';
import type { LabelSelector } from '@kapstan/kinds';
import type { PodTemplateSpec } from '@kapstan/kinds/core/v1';
import { validatePodTemplate, validateTemplateMetadata } from '../core/pods/pod-spec-validation.ts';
import { goLabelSelector, goStringMap, selectsLabels, validateLabelSelector } from '../validation/label-rules.ts';

interface SelectedTemplate {
  readonly selector?: DeepReadonly<LabelSelector>;
  readonly template?: DeepReadonly<PodTemplateSpec>;
}

/**
 * The selector must be present, valid, not empty, and select the template's labels. `at` is the spec; `kind` as in the
 * texts.
 */
export function validateSelectorAndTemplate(
  at: Field,
  spec: SelectedTemplate,
  kind: 'deployment' | 'replicaset' | 'statefulset',
): void {
  const place = at.child('selector');
  const { selector } = spec;
  if (selector === undefined || selector === null) place.required();
  else {
    validateLabelSelector(place, selector);
    // Kubernetes says "deployment" for replica sets, too.
    const shown = kind === 'replicaset' ? 'deployment' : kind;
    if (isEmptySelector(selector)) place.invalid(goLabelSelector(selector), `empty selector is invalid for ${shown}`);
  }
  const isMatch = selectsLabels(selector, spec.template?.metadata?.labels);
  if (isMatch === undefined)
    return place.invalid(goLabelSelector(selector), kind === 'statefulset' ? '' : 'invalid label selector');
  const owner = { deployment: 'ReplicaSet', replicaset: 'ReplicaSet', statefulset: 'StatefulSet' }[kind];
  validateTemplate(at.child('template'), spec.template, { isMatch, owner });
  if (kind === 'statefulset') validateTemplateMetadata(at.child('template'), spec.template);
}

export function isEmptySelector(selector: DeepReadonly<LabelSelector>): boolean {
  return Object.keys(selector.matchLabels ?? {}).length + (selector.matchExpressions?.length ?? 0) === 0;
}

/** Checks a template whose pods run forever. */
export function validateTemplate(
  at: Field,
  template: DeepReadonly<PodTemplateSpec> | undefined,
  { isMatch, owner }: { readonly isMatch: boolean; readonly owner: string },
): void {
  if (!isMatch) {
    at.child('metadata', 'labels').invalid(
      goStringMap(template?.metadata?.labels),
      '`selector` does not match template `labels`',
    );
  }
  validatePodTemplate(at, template);
  validateRunsForever(at.child('spec'), template, owner);
}

function validateRunsForever(at: Field, template: DeepReadonly<PodTemplateSpec> | undefined, owner: string): void {
  const policy = template?.spec?.restartPolicy ?? '';
  // An unknown policy has been reported already.
  if (policy === 'OnFailure' || policy === 'Never') at.child('restartPolicy').notSupported(policy, ['Always']);
  if (template?.spec?.activeDeadlineSeconds !== undefined) {
    at.child('activeDeadlineSeconds').forbidden(`activeDeadlineSeconds in ${owner} is not Supported`);
  }
}

/** `spec.selector` must never change. Source: ValidateImmutableField. */
export function validateSelectorUnchanged(
  at: Field,
  next: DeepReadonly<LabelSelector> | undefined,
  old: DeepReadonly<LabelSelector> | undefined,
): void {
  at.child('selector').immutable(goLabelSelector(next), jsonEqual(next, old));
}

interface ReplicaCounts {
  readonly replicas?: number;
  readonly readyReplicas?: number;
  readonly availableReplicas?: number;
  readonly unavailableReplicas?: number;
  readonly terminatingReplicas?: number;
  readonly updatedReplicas?: number;
  readonly fullyLabeledReplicas?: number;
  readonly currentReplicas?: number;
  readonly observedGeneration?: number;
  readonly collisionCount?: number;
}

/** The counts that are parts of `replicas`; a kind may have further ones. */
const partsOf = {
  deployment: ['updatedReplicas', 'readyReplicas', 'availableReplicas'],
  replicaset: ['fullyLabeledReplicas', 'readyReplicas', 'availableReplicas'],
  statefulset: ['readyReplicas', 'currentReplicas', 'updatedReplicas', 'availableReplicas'],
} as const;
const otherCounts = [
  'observedGeneration',
  'replicas',
  'unavailableReplicas',
  'terminatingReplicas',
  'collisionCount',
] as const;

/** Counts must not be negative, and no part greater than the whole. Source: ValidateDeploymentStatus and its like. */
export function validateReplicaCounts(at: Field, kind: keyof typeof partsOf, status: ReplicaCounts | undefined): void {
  const parts = partsOf[kind];
  for (const name of [...otherCounts, ...parts]) at.child(name).nonNegative(status?.[name]);
  for (const name of parts) {
    const count = status?.[name] ?? 0;
    if (count > (status?.replicas ?? 0)) at.child(name).invalid(count, 'cannot be greater than status.replicas');
  }
  const available = status?.availableReplicas ?? 0;
  if (available > (status?.readyReplicas ?? 0)) {
    const ready = kind === 'statefulset' ? 'status.readyReplicas' : 'readyReplicas';
    at.child('availableReplicas').invalid(available, `cannot be greater than ${ready}`);
  }
}

/** Names of revisions contain this count, so it must never decrease. Source: IsDecremented. */
export function validateCollisions(at: Field, next: ReplicaCounts | undefined, old: ReplicaCounts | undefined): void {
  const count = next?.collisionCount;
  const before = old?.collisionCount;
  if (before !== undefined && (count === undefined || count < before))
    at.child('collisionCount').invalid(count ?? 0, 'cannot be decremented');
}
