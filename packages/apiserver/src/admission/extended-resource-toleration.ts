// ExtendedResourceToleration: a pod that asks for an extended resource tolerates the taint that keeps its nodes for such pods.
// Source: plugin/pkg/admission/extendedresourcetoleration.
import type { Pod, Toleration } from '@kapstan/kinds/core/v1';
import { isExtendedResourceName } from '../registry/validation/extended-resource.ts';
import { type AdmissionPlugin, isAbout } from './admission-plugin.ts';

export const extendedResourceToleration: AdmissionPlugin = {
  name: 'ExtendedResourceToleration',
  admit: (attributes) => {
    const { spec } = (attributes.object ?? {}) as Pod;
    if (!isAbout(attributes, '', 'pods') || attributes.operation === 'DELETE' || spec === undefined) return;
    const containers = [...(spec.containers ?? []), ...(spec.initContainers ?? [])];
    const names = new Set(containers.flatMap(({ resources }) => Object.keys(resources?.requests ?? {})));
    for (const key of [...names].filter(isExtendedResourceName).sort()) {
      const present = spec.tolerations ?? [];
      if (!present.some((toleration) => tolerates(toleration, key)))
        spec.tolerations = [...present, { key, operator: 'Exists', effect: 'NoSchedule' }];
    }
  },
};

function tolerates({ key, operator, effect, value = '' }: Toleration, wanted: string): boolean {
  return key === wanted && operator === 'Exists' && effect === 'NoSchedule' && value === '';
}
