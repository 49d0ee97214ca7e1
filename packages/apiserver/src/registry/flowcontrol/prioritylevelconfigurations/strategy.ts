// Priority levels. Source: pkg/apis/flowcontrol/v1/defaults.go, pkg/apis/flowcontrol/validation ValidatePriorityLevelConfigurationSpec.
import type { DeepReadonly } from '@kapstan/api';
import type {
  LimitedPriorityLevelConfiguration,
  PriorityLevelConfiguration,
} from '@kapstan/kinds/flowcontrol.apiserver.k8s.io/v1';
import type { BuiltinKind } from '../../builtin-kind.ts';
import type { Field } from '../../validation/field.ts';

export const priorityLevelConfigurations: BuiltinKind<PriorityLevelConfiguration> = {
  id: 'flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations',
  strategy: { updateMetadata: 'whole' },
  setDefaults: ({ spec }) => {
    if (spec?.limited === undefined) {
      if (spec?.type === 'Exempt') {
        spec.exempt = { nominalConcurrencyShares: 0, lendablePercent: 0, ...spec.exempt };
      }
      return;
    }
    spec.limited.nominalConcurrencyShares ??= 30;
    spec.limited.lendablePercent ??= 0;
    const queuing = spec.limited.limitResponse?.queuing;
    if (queuing === undefined) return;
    queuing.queues ||= 64;
    queuing.handSize ||= 8;
    queuing.queueLengthLimit ||= 50;
  },
  validate: (root, { metadata, spec }) => {
    const at = root.child('spec');
    const isExemptName = metadata?.name === 'exempt';
    if ((spec?.type === 'Exempt') !== isExemptName && (spec?.type === 'Exempt' || isExemptName)) {
      at.child('type').invalid(spec?.type ?? '', "must be 'Exempt' if and only if `name` is 'exempt'");
    }
    switch (spec?.type as string | undefined) {
      case 'Exempt':
        if (spec?.limited !== undefined) at.child('limited').forbidden('must be nil if the type is not Limited');
        return;
      case 'Limited':
        if (spec?.exempt !== undefined) at.child('exempt').forbidden('must be nil if the type is Limited');
        if (spec?.limited === undefined) at.child('limited').required('must not be empty when type is Limited');
        else validateLimited(at.child('limited'), spec.limited);
        return;
      default:
        at.child('type').notSupported(spec?.type ?? '', ['Exempt', 'Limited']);
    }
  },
};

function validateLimited(at: Field, limited: DeepReadonly<LimitedPriorityLevelConfiguration>): void {
  const shares = limited.nominalConcurrencyShares;
  if (shares !== undefined && shares < 0)
    at.child('nominalConcurrencyShares').invalid(shares, 'must be a non-negative integer');
  const response = limited.limitResponse;
  const place = at.child('limitResponse');
  if (response?.type === 'Reject') {
    if (response.queuing !== undefined)
      place.child('queuing').forbidden('must be nil if limited.limitResponse.type is not Limited');
  } else if (response?.type === 'Queue') {
    if (response.queuing === undefined)
      place.child('queuing').required('must not be empty if limited.limitResponse.type is Limited');
  } else place.child('type').notSupported(response?.type ?? '', ['Queue', 'Reject']);
}
