// Cluster roles. Source: pkg/registry/rbac/clusterrole, pkg/apis/rbac/validation ValidateClusterRole.

import { nameIsWholePathSegment } from '@kapstan/apiserver/internal';
import type { ClusterRole } from '@kapstan/kinds/rbac.authorization.k8s.io/v1';
import type { BuiltinKind } from '../../builtin/builtin-kind.ts';
import { selectsLabels, validateLabelSelector } from '../../validation/label-rules.ts';
import { validateRules } from '../policy-rule.ts';

export const clusterRoles: BuiltinKind<ClusterRole> = {
  id: 'rbac.authorization.k8s.io/v1/clusterroles',
  strategy: { updateMetadata: 'both' },
  validateName: nameIsWholePathSegment,
  validate: (root, object) => {
    validateRules(root.child('rules'), object.rules, 'Cluster');
    if (object.aggregationRule === undefined) return;
    const at = root.child('aggregationRule', 'clusterRoleSelectors');
    const selectors = object.aggregationRule.clusterRoleSelectors ?? [];
    if (selectors.length === 0) at.required('at least one clusterRoleSelector required if aggregationRule is non-nil');
    at.each(selectors, (selector, place) => {
      validateLabelSelector(place, selector);
      if (selectsLabels(selector, {}) === undefined) place.invalid(null, 'invalid label selector.');
    });
  },
};
