// LimitPodHardAntiAffinityTopology lets a pod keep others off its node, but not off a whole zone. Source:
// plugin/pkg/admission/antiaffinity.
import { forbidden } from '@kapstan/api/errors';
import type { AdmissionPlugin } from '@kapstan/apiserver';
import { isAbout } from '@kapstan/apiserver/internal';
import type { Pod } from '@kapstan/kinds/core/v1';

const allowed = 'kubernetes.io/hostname';

export const limitPodHardAntiAffinityTopology: AdmissionPlugin = {
  name: 'LimitPodHardAntiAffinityTopology',
  validatedResources: ['pods'],
  validate: (attributes) => {
    if (!isAbout(attributes, '', 'pods') || attributes.operation === 'DELETE') return;
    const { metadata, spec } = (attributes.object ?? {}) as Pod;
    const terms = spec?.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
    const other = terms.find(({ topologyKey }) => topologyKey !== allowed);
    if (other === undefined) return;
    const why = `affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey ${other.topologyKey} but only key ${allowed} is allowed`;
    throw forbidden(attributes.resource, metadata?.name ?? '', why);
  },
};
