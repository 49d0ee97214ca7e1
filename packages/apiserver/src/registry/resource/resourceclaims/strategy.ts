// Resource claims. Source: pkg/apis/resource/v1/defaults.go, pkg/apis/resource/validation ValidateResourceClaim.
import { dnsLabelErrors, dnsSubdomainErrors } from '@kapstan/api';
import type { ResourceClaim } from '@kapstan/kinds/resource.k8s.io/v1';
import type { BuiltinKind } from '../../builtin-kind.ts';
import { jsonEqual } from '../../json-equality.ts';

export const resourceClaims: BuiltinKind<ResourceClaim> = {
  id: 'resource.k8s.io/v1/resourceclaims',
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
  validate: (root, { spec }) => {
    root.child('spec', 'devices', 'requests').each(spec.devices?.requests, (request, place) => {
      place.child('name').invalidAll(request.name, dnsLabelErrors(request.name));
      const { exactly } = request;
      if (exactly === undefined) return;
      const exactlyPlace = place.child('exactly');
      if (exactly.deviceClassName === '') exactlyPlace.child('deviceClassName').required();
      else
        exactlyPlace
          .child('deviceClassName')
          .invalidAll(exactly.deviceClassName, dnsSubdomainErrors(exactly.deviceClassName));
      exactlyPlace.child('allocationMode').oneOf(exactly.allocationMode, ['All', 'ExactCount']);
    });
  },
  validateChange: (root, next, old) => {
    if (!jsonEqual(next.spec, old.spec)) root.child('spec').invalid(next.spec, 'field is immutable');
  },
};
