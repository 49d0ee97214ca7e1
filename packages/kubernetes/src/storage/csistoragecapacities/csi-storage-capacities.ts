// CSI storage capacities: the capacity that a driver can still provision for a class in part of the cluster. Source:
// pkg/registry/storage/csistoragecapacity, pkg/apis/storage/validation ValidateCSIStorageCapacity.
import { dnsSubdomainErrors } from '@kapstan/api/errors';
import { jsonEqual } from '@kapstan/apiserver/internal';
import type { CSIStorageCapacity } from '@kapstan/kinds/storage.k8s.io/v1';
import type { BuiltinKind } from '../../builtin/builtin-kind.ts';
import { goLabelSelector, validateLabelSelector } from '../../validation/label-rules.ts';
import { selectorWarnings } from '../../validation/node-label-warnings.ts';
import { validateNonNegativeAmount } from '../../validation/resource-rules.ts';

export const csiStorageCapacities: BuiltinKind<CSIStorageCapacity> = {
  id: 'storage.k8s.io/v1/csistoragecapacities',
  strategy: { updateMetadata: 'both' },
  warnings: ({ nodeTopology }) => selectorWarnings(nodeTopology, 'nodeTopology'),
  validate: (root, { nodeTopology, storageClassName, capacity }) => {
    validateLabelSelector(root.child('nodeTopology'), nodeTopology);
    root.child('storageClassName').invalidAll(storageClassName, dnsSubdomainErrors(storageClassName));
    if (capacity !== undefined) validateNonNegativeAmount(root.child('capacity'), capacity);
  },
  validateChange: (root, next, old) => {
    root
      .child('nodeTopology')
      .immutable(goLabelSelector(next.nodeTopology), jsonEqual(next.nodeTopology, old.nodeTopology));
    root.child('storageClassName').immutable(next.storageClassName, next.storageClassName === old.storageClassName);
  },
};
