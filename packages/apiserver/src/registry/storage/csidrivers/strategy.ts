// CSI drivers. Source: pkg/apis/storage/v1/defaults.go, pkg/apis/storage/validation ValidateCSIDriver.
import type { CSIDriver } from '@kapstan/kinds/storage.k8s.io/v1';
import type { BuiltinKind } from '../../builtin-kind.ts';

export const csiDrivers: BuiltinKind<CSIDriver> = {
  id: 'storage.k8s.io/v1/csidrivers',
  setDefaults: ({ spec }) => {
    spec.attachRequired ??= true;
    spec.podInfoOnMount ??= false;
    spec.storageCapacity ??= false;
    spec.fsGroupPolicy ??= 'ReadWriteOnceWithFSType';
    if ((spec.volumeLifecycleModes?.length ?? 0) === 0) spec.volumeLifecycleModes = ['Persistent'];
    spec.requiresRepublish ??= false;
    spec.seLinuxMount ??= false;
  },
  validate: (root, { spec }) => {
    const at = root.child('spec');
    if (spec.fsGroupPolicy !== undefined)
      at.child('fsGroupPolicy').oneOf(spec.fsGroupPolicy, ['File', 'None', 'ReadWriteOnceWithFSType']);
    for (const mode of spec.volumeLifecycleModes ?? [])
      at.child('volumeLifecycleModes').oneOf(mode, ['Persistent', 'Ephemeral']);
  },
};
