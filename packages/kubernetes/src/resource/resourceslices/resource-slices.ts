// Resource slices: the devices that drivers offer on nodes. Kubelets and drivers select their own. Source:
// pkg/registry/resource/resourceslice.
import { formatTime } from '@kapstan/api';
import type { ResourceSlice } from '@kapstan/kinds/resource.k8s.io/v1';
import type { BuiltinKind, BuiltinServer } from '../../builtin/builtin-kind.ts';
import { dropGatedFields } from './gated-fields.ts';
import { validateSlice } from './slice-validation.ts';

export function resourceSlices({ clock }: Pick<BuiltinServer, 'clock'>): BuiltinKind<ResourceSlice> {
  return {
    id: 'resource.k8s.io/v1/resourceslices',
    raisesGeneration: true,
    setDefaults: ({ spec }) => {
      for (const { taints = [] } of spec?.devices ?? [])
        for (const taint of taints) taint.timeAdded ??= formatTime(clock.now());
    },
    prepareForCreate: (slice) => {
      slice.metadata = { ...slice.metadata, generation: 1 };
      dropGatedFields(slice, undefined);
    },
    prepareForUpdate: dropGatedFields,
    validate: (root, { spec }, old) => validateSlice(root.child('spec'), spec, old?.spec),
    returnsDeletedObject: true,
    fields: ({ spec }) => ({ 'spec.nodeName': spec?.nodeName ?? '', 'spec.driver': spec?.driver ?? '' }),
    indexedFields: ['spec.nodeName'],
    warnings: ({ spec }) => {
      const driver = spec?.driver ?? '';
      if (driver === driver.toLowerCase()) return [];
      const text = `driver names should be lowercase; ${JSON.stringify(driver)} contains uppercase characters`;
      return [`spec.driver: ${text}`];
    },
  };
}
