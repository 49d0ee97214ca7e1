// Controller revisions. Source: pkg/apis/apps/validation ValidateControllerRevision.

import { jsonEqual } from '@kapstan/apiserver/internal';
import type { ControllerRevision } from '@kapstan/kinds/apps/v1';
import type { BuiltinKind } from '../../builtin/builtin-kind.ts';

export const controllerRevisions: BuiltinKind<ControllerRevision> = {
  id: 'apps/v1/controllerrevisions',
  strategy: { updateMetadata: 'both' },
  validate: (root, { data, revision }) => {
    if (data === undefined || data === null) root.child('data').required('data is mandatory');
    root.child('revision').nonNegative(revision);
  },
  validateChange: (root, next, old) => root.child('data').immutable(next.data, jsonEqual(next.data, old.data)),
};
