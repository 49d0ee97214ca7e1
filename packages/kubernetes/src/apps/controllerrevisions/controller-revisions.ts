// Controller revisions. Source: pkg/apis/apps/validation ValidateControllerRevision.

import { isJsonObject } from '@kapstan/api/internal';
import { jsonEqual } from '@kapstan/apiserver/internal';
import type { ControllerRevision } from '@kapstan/kinds/apps/v1';
import type { BuiltinKind } from '../../builtin/builtin-kind.ts';

export const controllerRevisions: BuiltinKind<ControllerRevision> = {
  id: 'apps/v1/controllerrevisions',
  strategy: { updateMetadata: 'both' },
  validate: (root, { revision }) => root.child('revision').nonNegative(revision),
  validateCreate: (root, { data }) => {
    if (data === undefined || data === null) root.child('data').required('data is mandatory');
    else if (!isJsonObject(data)) root.child('data').required('data must be a valid JSON object');
  },
  validateChange: (root, next, old) => root.child('data').immutable(next.data, jsonEqual(next.data, old.data)),
};
