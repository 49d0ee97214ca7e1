// Rules for a pod itself in creates and all updates. Rules for its spec, which templates share, are in
// pod-spec-validation.ts.
import type { DeepReadonly } from '@kapstan/api';
import type { Field } from '@kapstan/apiserver/internal';
import type { Pod } from '@kapstan/kinds/core/v1';
import { validatePodAnnotations } from './annotation-validation.ts';
import { validatePodSpec } from './pod-spec-validation.ts';

/** Source: validatePodMetadataAndSpec. */
export function validatePod(root: Field, { metadata = {}, spec }: DeepReadonly<Pod>): void {
  validatePodAnnotations(root.child('metadata', 'annotations'), metadata.annotations, spec);
  validatePodSpec(root.child('spec'), spec, metadata);
  if (spec?.serviceAccountName) return;
  root.child('spec', 'volumes').each(spec?.volumes, ({ projected }, place) => {
    place.child('projected', 'sources').each(projected?.sources, ({ serviceAccountToken }, source) => {
      if (serviceAccountToken !== undefined)
        source.child('serviceAccountToken').forbidden('must not be specified when serviceAccountName is not set');
    });
  });
}
