// Rules for the subresources of a definition: the paths from which scale takes its numbers. Source:
// ValidateCustomResourceDefinitionSubresources.
import type { DeepReadonly } from '@kapstan/api';
import type { Field } from '@kapstan/apiserver/internal';
import type { CustomResourceSubresources } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { validateSimplePath } from './column-validation.ts';

export function validateSubresources(
  at: Field,
  subresources: DeepReadonly<CustomResourceSubresources> | undefined,
): void {
  const scale = subresources?.scale;
  if (scale === undefined) return;
  const field = at.child('scale');
  const replicas = (name: string, path: string, root: string): void => {
    const place = field.child(name);
    if (!place.present(path) || !validateSimplePath(place, path)) return;
    if (!path.startsWith(`.${root}.`)) place.invalid(path, `should be a json path under .${root}`);
  };
  replicas('specReplicasPath', scale.specReplicasPath, 'spec');
  replicas('statusReplicasPath', scale.statusReplicasPath, 'status');
  const selector = scale.labelSelectorPath;
  const place = field.child('labelSelectorPath');
  if (!selector || !validateSimplePath(place, selector)) return;
  if (!/^\.(spec|status)\./.test(selector)) {
    place.invalid(selector, 'should be a json path under either .spec or .status');
  }
}
