// Device classes. Source: pkg/registry/resource/deviceclass, pkg/apis/resource/validation validateDeviceClassSpec.
import { jsonEqual } from '@kapstan/apiserver/internal';
import type { DeviceClass } from '@kapstan/kinds/resource.k8s.io/v1';
import type { BuiltinKind } from '../../builtin/builtin-kind.ts';
import { isExtendedResourceName } from '../../validation/extended-resource.ts';
import { nameIsLongName } from '../../validation/long-name.ts';
import { validateConfiguration, validateItems, validateSelectors } from '../device-validation.ts';

export const deviceClasses: BuiltinKind<DeviceClass> = {
  id: 'resource.k8s.io/v1/deviceclasses',
  returnsDeletedObject: true,
  strategy: { updateMetadata: 'both' },
  validateName: nameIsLongName,
  validatesInSlices: true,
  validate: (root, { spec }, old) => {
    const at = root.child('spec');
    validateSelectors(
      at.child('selectors'),
      spec.selectors,
      old !== undefined && jsonEqual(spec.selectors, old.spec.selectors),
    );
    validateItems(at.child('config'), spec.config, (config, place) => validateConfiguration(place, config));
    const name = spec.extendedResourceName;
    if (name !== undefined && !isExtendedResourceName(name))
      at.child('extendedResourceName').invalid(name, 'must be a valid extended resource name');
  },
};
