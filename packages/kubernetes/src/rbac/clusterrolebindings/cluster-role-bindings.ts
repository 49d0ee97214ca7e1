// ClusterRoleBindings: subjects and the role that they are given. Source: pkg/registry/rbac/clusterrolebinding.

import { nameIsWholePathSegment } from '@kapstan/apiserver/internal';
import type { ClusterRoleBinding } from '@kapstan/kinds/rbac.authorization.k8s.io/v1';
import type { BuiltinKind } from '../../builtin/builtin-kind.ts';
import { setBindingDefaults, validateRoleBinding, validateRoleRefUnchanged } from '../policy-rule.ts';

export const clusterRoleBindings: BuiltinKind<ClusterRoleBinding> = {
  id: 'rbac.authorization.k8s.io/v1/clusterrolebindings',
  strategy: { updateMetadata: 'both' },
  validateName: nameIsWholePathSegment,
  setDefaults: setBindingDefaults,
  validate: (root, object, old) => {
    validateRoleBinding(root, object, ['ClusterRole']);
    if (old !== undefined) validateRoleRefUnchanged(root, object.roleRef, old.roleRef);
  },
};
