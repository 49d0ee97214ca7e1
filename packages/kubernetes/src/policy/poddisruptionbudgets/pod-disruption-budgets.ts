// Pod disruption budgets. Source: pkg/registry/policy/poddisruptionbudget, pkg/apis/policy/validation.

import { nameIsPathSegment } from '@kapstan/apiserver/internal';
import type { PodDisruptionBudget } from '@kapstan/kinds/policy/v1';
import type { BuiltinKind } from '../../builtin/builtin-kind.ts';
import { validateConditions } from '../../validation/condition-validation.ts';
import { validateAtMost100Percent, validateIntOrPercent } from '../../validation/int-or-percent.ts';
import { goLabelSelector, validateLabelSelector } from '../../validation/label-rules.ts';

export const podDisruptionBudgets: BuiltinKind<PodDisruptionBudget> = {
  id: 'policy/v1/poddisruptionbudgets',
  strategy: { updateMetadata: 'none', finalizerNames: 'Qualified' },
  validateName: nameIsPathSegment,
  validate: (root, { spec }) => {
    const at = root.child('spec');
    if (spec?.minAvailable !== undefined && spec.maxUnavailable !== undefined) {
      const shown = {
        MinAvailable: spec.minAvailable,
        Selector: goLabelSelector(spec.selector),
        MaxUnavailable: spec.maxUnavailable,
        UnhealthyPodEvictionPolicy: spec.unhealthyPodEvictionPolicy ?? null,
      };
      at.invalid(shown, 'minAvailable and maxUnavailable cannot be both set');
    }
    for (const name of ['minAvailable', 'maxUnavailable'] as const) {
      validateIntOrPercent(at.child(name), spec?.[name]);
      validateAtMost100Percent(at.child(name), spec?.[name]);
    }
    const policy = spec?.unhealthyPodEvictionPolicy;
    if (policy !== undefined) at.child('unhealthyPodEvictionPolicy').oneOf(policy, ['AlwaysAllow', 'IfHealthyBudget']);
    validateLabelSelector(at.child('selector'), spec?.selector);
  },
  status: {
    updateMetadata: 'none',
    validate: (root, { status }) => {
      validateConditions(root.child('status', 'conditions'), status?.conditions);
      for (const name of ['disruptionsAllowed', 'currentHealthy', 'desiredHealthy', 'expectedPods'] as const) {
        root.child('status', name).nonNegative(status?.[name]);
      }
    },
  },
};
