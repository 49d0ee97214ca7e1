// Leases. Source: pkg/apis/coordination/validation ValidateLeaseSpec.
import type { Lease, LeaseSpec } from '@kapstan/kinds/coordination.k8s.io/v1';
import type { BuiltinKind } from '../../builtin/builtin-kind.ts';

/** The feature gate of coordinated leader election is off, so leases do not get its fields. */
function dropCoordination(spec: LeaseSpec | undefined): void {
  delete spec?.strategy;
  delete spec?.preferredHolder;
}

export const leases: BuiltinKind<Lease> = {
  id: 'coordination.k8s.io/v1/leases',
  strategy: { finalizerNames: 'Qualified' },
  validate: (root, { spec }) => {
    const at = root.child('spec');
    const duration = spec?.leaseDurationSeconds;
    if (duration !== undefined && duration <= 0)
      at.child('leaseDurationSeconds').invalid(duration, 'must be greater than 0');
    at.child('leaseTransitions').nonNegative(spec?.leaseTransitions);
  },
  prepareForCreate: ({ spec }) => dropCoordination(spec),
  prepareForUpdate: ({ spec }) => dropCoordination(spec),
};
