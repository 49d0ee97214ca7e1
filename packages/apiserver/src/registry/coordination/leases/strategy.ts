// Leases. Source: pkg/apis/coordination/validation ValidateLeaseSpec.
import type { Lease } from '@kapstan/kinds/coordination.k8s.io/v1';
import type { BuiltinKind } from '../../builtin-kind.ts';

export const leases: BuiltinKind<Lease> = {
  id: 'coordination.k8s.io/v1/leases',
  strategy: { finalizerNames: 'Qualified' },
  validate: (root, { spec }) => {
    const at = root.child('spec');
    const duration = spec?.leaseDurationSeconds;
    if (duration !== undefined && duration <= 0)
      at.child('leaseDurationSeconds').invalid(duration, 'must be greater than 0');
    at.child('leaseTransitions').nonNegative(spec?.leaseTransitions);
    if (spec?.strategy !== undefined && spec.strategy !== 'OldestEmulationVersion' && !spec.strategy.includes('/')) {
      at.child('strategy').notSupported(spec.strategy, ['OldestEmulationVersion']);
    }
  },
};
