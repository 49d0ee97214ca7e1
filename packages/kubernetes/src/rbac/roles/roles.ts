// Roles. Source: pkg/registry/rbac/role.

import { nameIsWholePathSegment } from '@kapstan/apiserver/internal';
import type { Role } from '@kapstan/kinds/rbac.authorization.k8s.io/v1';
import type { BuiltinKind } from '../../builtin/builtin-kind.ts';
import { validateRules } from '../policy-rule.ts';

export const roles: BuiltinKind<Role> = {
  id: 'rbac.authorization.k8s.io/v1/roles',
  strategy: { updateMetadata: 'both' },
  validateName: nameIsWholePathSegment,
  validate: (root, object) => validateRules(root.child('rules'), object.rules, 'Namespaced'),
};
