// RoleBindings: subjects and the role that they are given. Source: pkg/registry/rbac/rolebinding.

import { nameIsWholePathSegment } from '@kapstan/apiserver/internal';
import type { RoleBinding } from '@kapstan/kinds/rbac.authorization.k8s.io/v1';
import type { BuiltinKind } from '../../builtin/builtin-kind.ts';
import { setBindingDefaults, validateRoleBinding, validateRoleRefUnchanged } from '../policy-rule.ts';

export const roleBindings: BuiltinKind<RoleBinding> = {
  id: 'rbac.authorization.k8s.io/v1/rolebindings',
  strategy: { updateMetadata: 'both' },
  validateName: nameIsWholePathSegment,
  setDefaults: setBindingDefaults,
  validate: (root, object, old) => {
    validateRoleBinding(root, object, ['Role', 'ClusterRole']);
    if (old !== undefined) validateRoleRefUnchanged(root, object.roleRef, old.roleRef);
  },
};
