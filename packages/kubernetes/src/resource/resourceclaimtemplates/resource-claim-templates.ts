// Templates of resource claims. Their spec never changes. Source: pkg/apis/resource/validation ValidateResourceClaimTemplate.

import { jsonEqual } from '@kapstan/apiserver/internal';
import type { ResourceClaimTemplate } from '@kapstan/kinds/resource.k8s.io/v1';
import type { BuiltinKind } from '../../builtin/builtin-kind.ts';
import { validateAnnotationKeys } from '../../validation/annotation-rules.ts';
import { internalForm } from '../../validation/internal-form.ts';
import { validateLabels } from '../../validation/label-rules.ts';
import { setResourceClaimDefaults } from '../resourceclaims/claim-defaults.ts';
import { validateDeviceClaim } from '../resourceclaims/claim-validation.ts';

export const resourceClaimTemplates: BuiltinKind<ResourceClaimTemplate> = {
  id: 'resource.k8s.io/v1/resourceclaimtemplates',
  returnsDeletedObject: true,
  strategy: { updateMetadata: 'both' },
  setDefaults: ({ spec }) => setResourceClaimDefaults(spec?.spec),
  validatesInSlices: true,
  validate: (root, { spec }, old) => {
    // A spec that an older version accepted must not keep its object from losing a finalizer.
    if (old !== undefined && jsonEqual(spec, old.spec)) return;
    const { annotations, labels, ...others } = spec.metadata ?? {};
    const at = root.child('spec', 'metadata');
    validateAnnotationKeys(at.child('annotations'), annotations);
    validateLabels(at.child('labels'), labels);
    for (const [name, value] of Object.entries(others))
      if (value !== undefined && value !== null) at.child(name).forbidden('cannot be set');
    validateDeviceClaim(root.child('spec', 'spec', 'devices'), spec.spec.devices ?? {});
  },
  validateChange: (root, next, old) =>
    root
      .child('spec')
      .immutable(internalForm('resource.ResourceClaimTemplateSpec', next.spec), jsonEqual(next.spec, old.spec)),
};
