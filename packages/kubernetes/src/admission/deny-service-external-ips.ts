// DenyServiceExternalIPs lets services keep or drop the external addresses that they have, but not add any. Source:
// plugin/pkg/admission/network/denyserviceexternalips.

import type { AdmissionPlugin } from '@kapstan/apiserver';
import { isAbout, refuse } from '@kapstan/apiserver/internal';
import type { Service } from '@kapstan/kinds/core/v1';

export const denyServiceExternalIPs: AdmissionPlugin = {
  name: 'DenyServiceExternalIPs',
  validatedResources: ['services'],
  validate: (attributes) => {
    const { operation, object, oldObject } = attributes;
    if (!isAbout(attributes, '', 'services') || operation === 'DELETE') return;
    const [wanted, had] = [object, oldObject].map(
      (service) => (service as Service | undefined)?.spec?.externalIPs ?? [],
    );
    const kept = new Set(had);
    if (wanted?.every((address) => kept.has(address)) === true) return;
    throw refuse(attributes, 'Use of external IPs is denied by admission control');
  },
};
