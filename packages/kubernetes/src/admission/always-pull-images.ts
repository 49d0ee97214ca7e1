// AlwaysPullImages makes every container pull its image, so that credentials are checked even on nodes that have the
// image. Source: plugin/pkg/admission/alwayspullimages.
import type { DeepReadonly } from '@kapstan/api';
import type { AdmissionAttributes, AdmissionPlugin } from '@kapstan/apiserver';
import { isAbout } from '@kapstan/apiserver/internal';
import type { Pod } from '@kapstan/kinds/core/v1';

const always = 'Always';

export const alwaysPullImages: AdmissionPlugin = {
  name: 'AlwaysPullImages',
  admit: (attributes) => {
    const pod = attributes.object as Pod | undefined;
    if (!isAbout(attributes, '', 'pods') || pod === undefined || bringsNoImage(attributes, pod)) return;
    for (const container of containersOf(pod)) (container as { imagePullPolicy?: string }).imagePullPolicy = always;
    for (const { image } of pod.spec?.volumes ?? []) if (image !== undefined) image.pullPolicy = always;
  },
};

/** An update without a new image is left alone, because the pull policy of a pod cannot be changed. */
function bringsNoImage({ operation, oldObject }: AdmissionAttributes, pod: Pod): boolean {
  if (operation !== 'UPDATE' || oldObject === undefined) return false;
  const known = new Set(containersOf(oldObject as DeepReadonly<Pod>).map(({ image }) => image));
  return containersOf(pod).every(({ image }) => known.has(image));
}

function containersOf({ spec }: DeepReadonly<Pod>): readonly { readonly image?: string }[] {
  return [...(spec?.initContainers ?? []), ...(spec?.containers ?? []), ...(spec?.ephemeralContainers ?? [])];
}
