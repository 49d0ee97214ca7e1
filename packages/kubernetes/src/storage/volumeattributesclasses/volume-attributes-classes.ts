// Volume attributes classes: the changeable attributes of a driver's volumes. Source: pkg/apis/storage/validation
// ValidateVolumeAttributesClass.

import { jsonEqual } from '@kapstan/apiserver/internal';
import type { VolumeAttributesClass } from '@kapstan/kinds/storage.k8s.io/v1';
import type { BuiltinKind } from '../../builtin/builtin-kind.ts';
import { validateParameters, validateProvisioner } from '../class-parameters.ts';

export const volumeAttributesClasses: BuiltinKind<VolumeAttributesClass> = {
  id: 'storage.k8s.io/v1/volumeattributesclasses',
  returnsDeletedObject: true,
  strategy: { updateMetadata: 'both' },
  validate: (root, { driverName, parameters = {} }) => {
    validateProvisioner(root.child('driverName'), driverName);
    const at = root.child('parameters');
    if (validateParameters(at, parameters) && Object.keys(parameters).length === 0)
      at.required('must contain at least one key/value pair');
  },
  validateChange: (root, next, old) => {
    for (const name of ['driverName', 'parameters'] as const)
      if (!jsonEqual(next[name], old[name])) root.child(name).forbidden(`updates to ${name} are forbidden.`);
  },
};
