// Conditions of a CustomResourceDefinition, in which its controller reports results. Serving reads them, too.
import { type DeepReadonly, formatTime } from '@kapstan/api';
import type {
  CustomResourceDefinition,
  CustomResourceDefinitionCondition,
} from '@kapstan/kinds/apiextensions.k8s.io/v1';

export type DefinitionConditionType =
  | 'Established'
  | 'NamesAccepted'
  | 'Terminating'
  | 'KubernetesAPIApprovalPolicyConformant';

export interface DefinitionCondition {
  readonly type: DefinitionConditionType;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
}

export function findCondition(
  definition: DeepReadonly<CustomResourceDefinition>,
  type: DefinitionConditionType,
): DeepReadonly<CustomResourceDefinitionCondition> | undefined {
  return definition.status?.conditions?.find((condition) => condition.type === type);
}

export function isConditionTrue(
  definition: DeepReadonly<CustomResourceDefinition>,
  type: DefinitionConditionType,
): boolean {
  return findCondition(definition, type)?.status === 'True';
}

/**
 * Adds or changes one condition in place; its transition time changes with its status. Returns false when nothing
 * changed. Source: apihelpers.SetCRDCondition.
 */
export function setCondition(definition: CustomResourceDefinition, next: DefinitionCondition, nowMs: number): boolean {
  const conditions = definition.status?.conditions ?? [];
  definition.status = { ...definition.status, conditions };
  const present = conditions.find((condition) => condition.type === next.type);
  if (present === undefined) {
    const { type, status: value, reason, message } = next;
    conditions.push({ type, status: value, lastTransitionTime: formatTime(nowMs), reason, message });
    return true;
  }
  const isSame = present.status === next.status && present.reason === next.reason && present.message === next.message;
  if (isSame) return false;
  if (present.status !== next.status || !present.lastTransitionTime) present.lastTransitionTime = formatTime(nowMs);
  present.status = next.status;
  present.reason = next.reason;
  present.message = next.message;
  return true;
}

export function removeCondition(definition: CustomResourceDefinition, type: DefinitionConditionType): boolean {
  const conditions = definition.status?.conditions ?? [];
  const index = conditions.findIndex((condition) => condition.type === type);
  if (index >= 0) conditions.splice(index, 1);
  return index >= 0;
}
