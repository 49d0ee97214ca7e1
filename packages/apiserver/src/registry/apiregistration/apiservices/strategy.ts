// API services. Nothing is aggregated here: they are kept and answered, not acted on. Source: kube-aggregator apiregistration/validation.

import { dnsSubdomainErrors } from '@kapstan/api';
import type { APIService } from '@kapstan/kinds/apiregistration.k8s.io/v1';
import type { BuiltinKind } from '../../builtin-kind.ts';
import { dns1035LabelErrors } from '../../names.ts';

export const apiServices: BuiltinKind<APIService> = {
  id: 'apiregistration.k8s.io/v1/apiservices',
  strategy: { finalizerNames: 'Qualified' },
  setDefaults: ({ spec }) => {
    if (spec?.service !== undefined) spec.service.port ??= 443;
  },
  validate: (root, { metadata, spec }) => {
    const at = root.child('spec');
    const { group = '', version = '' } = spec ?? {};
    const required = `${version}.${group}`;
    if (metadata?.name !== required) {
      root
        .child('metadata', 'name')
        .invalid(metadata?.name ?? '', `must be \`spec.version+"."+spec.group\`: ${JSON.stringify(required)}`);
    }
    if (group !== '') at.child('group').invalidAll(group, dnsSubdomainErrors(group));
    at.child('version').invalidAll(version, dns1035LabelErrors(version));
    const priorities = { groupPriorityMinimum: 20_000, versionPriority: 1000 } as const;
    for (const [name, max] of Object.entries(priorities)) {
      const value = spec?.[name as keyof typeof priorities] ?? 0;
      if (value <= 0 || value > max) at.child(name).invalid(value, `must be positive and less than ${max}`);
    }
    if (spec?.insecureSkipTLSVerify === true && spec.caBundle) {
      at.child('insecureSkipTLSVerify').invalid(true, 'may not be true if caBundle is present');
    }
    if (spec?.service === undefined) return;
    at.child('service', 'namespace').present(spec.service.namespace);
    at.child('service', 'name').present(spec.service.name);
  },
};
