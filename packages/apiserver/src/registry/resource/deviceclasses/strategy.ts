// Device classes. Selectors are compiled by the scheduler of devices, which is not here. Source: pkg/registry/resource/deviceclass.
import type { DeviceClass } from '@kapstan/kinds/resource.k8s.io/v1';
import type { BuiltinKind } from '../../builtin-kind.ts';
import { nameIsLongName } from '../../validation/long-name.ts';

export const deviceClasses: BuiltinKind<DeviceClass> = {
  id: 'resource.k8s.io/v1/deviceclasses',
  strategy: { updateMetadata: 'both' },
  validateName: nameIsLongName,
};
