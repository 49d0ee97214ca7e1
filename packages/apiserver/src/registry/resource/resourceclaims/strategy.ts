// Resource claims. Their spec never changes. Source: pkg/apis/resource/v1/defaults.go, pkg/apis/resource/validation ValidateResourceClaim.
import type { ResourceClaim } from '@kapstan/kinds/resource.k8s.io/v1';
import type { BuiltinKind } from '../../builtin-kind.ts';
import { jsonEqual } from '../../json-equality.ts';
import { validateDeviceClaim } from './claim-validation.ts';
import { dropDeallocated, validateClaimStatus } from './status-validation.ts';

export const resourceClaims: BuiltinKind<ResourceClaim> = {
  id: 'resource.k8s.io/v1/resourceclaims',
  returnsDeletedObject: true,
  strategy: { updateMetadata: 'both' },
  setDefaults: ({ spec }) => {
    for (const request of spec.devices?.requests ?? []) {
      for (const exactly of [request.exactly, ...(request.firstAvailable ?? [])]) {
        if (exactly === undefined) continue;
        exactly.allocationMode ||= 'ExactCount';
        if (exactly.allocationMode === 'ExactCount') exactly.count ||= 1;
      }
    }
  },
  validateCreate: (root, { spec }) => validateDeviceClaim(root.child('spec', 'devices'), spec.devices ?? {}),
  validateChange: (root, next, old) => root.child('spec').immutable(next.spec, jsonEqual(next.spec, old.spec)),
  status: {
    keepsMetadata: true,
    resetFields: [['metadata']],
    prepare: dropDeallocated,
    validate: validateClaimStatus,
  },
};
