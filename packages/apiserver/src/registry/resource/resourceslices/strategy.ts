// Resource slices: what drivers offer on a node; each kubelet and each driver selects its own. Source: pkg/registry/resource/resourceslice.
import type { ResourceSlice } from '@kapstan/kinds/resource.k8s.io/v1';
import type { BuiltinKind } from '../../builtin-kind.ts';

export const resourceSlices: BuiltinKind<ResourceSlice> = {
  id: 'resource.k8s.io/v1/resourceslices',
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
