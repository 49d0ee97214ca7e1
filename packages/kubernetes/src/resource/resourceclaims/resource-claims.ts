// Resource claims. Their spec never changes. Source: pkg/apis/resource/validation ValidateResourceClaim.

import { jsonEqual } from '@kapstan/apiserver/internal';
import type { ResourceClaim } from '@kapstan/kinds/resource.k8s.io/v1';
import type { BuiltinKind, BuiltinServer } from '../../builtin/builtin-kind.ts';
import { internalForm } from '../../validation/internal-form.ts';
import { setResourceClaimDefaults } from './claim-defaults.ts';
import { validateDeviceClaim } from './claim-validation.ts';
import { permitStatus } from './status-permission.ts';
import { dropDeallocated, validateClaimStatus } from './status-validation.ts';

export const resourceClaims = ({ authorizer }: BuiltinServer): BuiltinKind<ResourceClaim> => ({
  id: 'resource.k8s.io/v1/resourceclaims',
  returnsDeletedObject: true,
  strategy: { updateMetadata: 'both' },
  setDefaults: ({ spec }) => setResourceClaimDefaults(spec),
  validatesInSlices: true,
  validateCreate: (root, { spec }) => validateDeviceClaim(root.child('spec', 'devices'), spec.devices ?? {}),
  validateChange: (root, next, old) =>
    root.child('spec').immutable(internalForm('resource.ResourceClaimSpec', next.spec), jsonEqual(next.spec, old.spec)),
  status: {
    keepsMetadata: true,
    withoutTable: true,
    prepare: dropDeallocated,
    validate: validateClaimStatus,
    permit: permitStatus(authorizer),
  },
});
