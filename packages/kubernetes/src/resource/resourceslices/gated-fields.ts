// Removes fields of devices whose feature gates are off in Kubernetes 1.36, unless the slice had them before. Used by
// resource-slices.ts. Source: pkg/registry/resource/resourceslice dropDisabledFields.
import type { DeepReadonly } from '@kapstan/api';
import type { Device, ResourceSlice } from '@kapstan/kinds/resource.k8s.io/v1';

type Slice = DeepReadonly<ResourceSlice>;

const lists = ['bools', 'ints', 'strings', 'versions'] as const;

export function dropGatedFields(next: ResourceSlice, old: Slice | undefined): void {
  const before = old?.spec?.devices ?? [];
  const keepsMappings = before.some(({ nodeAllocatableResourceMappings = {} }) =>
    hasMembers(nodeAllocatableResourceMappings),
  );
  const keepsLists = before.some(hasLists);
  for (const device of next.spec?.devices ?? []) {
    if (!keepsMappings) delete device.nodeAllocatableResourceMappings;
    if (!keepsLists) dropLists(device);
  }
}

/** Removing a member that is absent would cost as much as removing one that is there. */
function dropLists({ attributes = {} }: Device): void {
  for (const attribute of Object.values(attributes))
    for (const name of lists) if (attribute[name] !== undefined) delete attribute[name];
}

const hasMembers = (map: object): boolean => Object.keys(map).length > 0;

/** True when the device uses DRAListTypeAttributes. */
export function hasLists({ attributes = {} }: DeepReadonly<Device>): boolean {
  return Object.values(attributes).some((attribute) => lists.some((name) => attribute[name] !== undefined));
}
