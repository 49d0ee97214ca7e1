// ExtendedResourceToleration lets a pod that requests an extended resource tolerate the taint that reserves nodes for
// such pods. Source: plugin/pkg/admission/extendedresourcetoleration.

import type { AdmissionPlugin } from '@kapstan/apiserver';
import { isAbout } from '@kapstan/apiserver/internal';
import type { Pod, Toleration } from '@kapstan/kinds/core/v1';
import { isExtendedResourceName } from '../validation/extended-resource.ts';

export const extendedResourceToleration: AdmissionPlugin = {
  name: 'ExtendedResourceToleration',
  admit: (attributes) => {
    const { spec } = (attributes.object ?? {}) as Pod;
    if (!isAbout(attributes, '', 'pods') || attributes.operation === 'DELETE' || spec === undefined) return;
    const containers = [...(spec.containers ?? []), ...(spec.initContainers ?? [])];
    const names = new Set(containers.flatMap(({ resources }) => Object.keys(resources?.requests ?? {})));
    const present = spec.tolerations ?? [];
    const tolerated = new Set(present.filter(isPlainToleration).map(({ key }) => key));
    const added = [...names]
      .filter((key) => isExtendedResourceName(key) && !tolerated.has(key))
      .sort()
      .map((key): Toleration => ({ key, operator: 'Exists', effect: 'NoSchedule' }));
    if (added.length > 0) spec.tolerations = [...present, ...added];
  },
};

function isPlainToleration({ operator, effect, value = '' }: Toleration): boolean {
  return operator === 'Exists' && effect === 'NoSchedule' && value === '';
}
