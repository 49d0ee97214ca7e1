// Conditions of flow schemas and priority levels: each must have a name, and no name may repeat. Source:
// pkg/apis/flowcontrol/validation ValidateFlowSchemaStatus, ValidatePriorityLevelConfigurationStatus.
import type { Field } from '@kapstan/apiserver/internal';

export function validateConditionTypes(at: Field, conditions: readonly { readonly type?: string }[] | undefined): void {
  const types = new Set<string>();
  at.each(conditions, ({ type = '' }, place) => {
    if (types.has(type)) place.child('type').duplicate(type);
    types.add(type);
    place.child('type').present(type);
  });
}
