// The rule for groups of the Kubernetes community: a definition in them must name its approval. Source: apiextensions
// apihelpers.IsProtectedCommunityGroup, GetAPIApprovalState.
import type { DeepReadonly } from '@kapstan/api';
import { parseUrl } from '@kapstan/cel';
import type { CustomResourceDefinition } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import type { DefinitionCondition } from './definition-conditions.ts';

export const approvalAnnotation = 'api-approved.kubernetes.io';

/** True for "example.k8s.io", "x.kubernetes.io" and similar groups, which may be used only with the annotation. */
export function isProtectedGroup(group: string): boolean {
  return ['k8s.io', 'kubernetes.io'].some((domain) => group === domain || group.endsWith(`.${domain}`));
}

export interface ApprovalState {
  readonly type: 'missing' | 'bypassed' | 'approved' | 'invalid';
  readonly reason: string;
}

const see = 'see https://github.com/kubernetes/enhancements/pull/1111';

/** Reads the annotation. */
export function approvalState(annotations: DeepReadonly<Record<string, string>> | undefined): ApprovalState {
  const value = annotations?.[approvalAnnotation] ?? '';
  const needed = `protected groups must have approval annotation ${JSON.stringify(approvalAnnotation)}`;
  if (value === '') return { type: 'missing', reason: `${needed}, ${see}` };
  if (value.startsWith('unapproved')) return { type: 'bypassed', reason: `not approved: ${JSON.stringify(value)}` };
  if (isUrlWithHost(value)) return { type: 'approved', reason: `approved in ${value}` };
  return { type: 'invalid', reason: `${needed} with either a URL or a reason starting with "unapproved", ${see}` };
}

function isUrlWithHost(text: string): boolean {
  const url = parseUrl(text);
  return typeof url !== 'string' && url.scheme !== '' && url.host !== '';
}

const reasons = {
  missing: 'MissingAnnotation',
  bypassed: 'UnapprovedAnnotation',
  approved: 'ApprovedAnnotation',
  invalid: 'InvalidAnnotation',
} as const;

/** Returns the condition that shows the approval; undefined where none is needed. */
export function approvalCondition(definition: DeepReadonly<CustomResourceDefinition>): DefinitionCondition | undefined {
  if (!isProtectedGroup(definition.spec.group)) return undefined;
  const { type, reason } = approvalState(definition.metadata?.annotations);
  return {
    type: 'KubernetesAPIApprovalPolicyConformant',
    status: type === 'approved' ? 'True' : 'False',
    reason: reasons[type],
    message: reason,
  };
}
