// StorageObjectInUseProtection adds a finalizer to claims, volumes and volume attributes classes; controllers remove it
// when the object is no longer in use. Source: plugin/pkg/admission/storage/storageobjectinuseprotection.
import { formatGroupResource } from '@kapstan/api/internal';
import type { AdmissionPlugin } from '@kapstan/apiserver';

const finalizers: ReadonlyMap<string, string> = new Map([
  ['persistentvolumeclaims', 'kubernetes.io/pvc-protection'],
  ['persistentvolumes', 'kubernetes.io/pv-protection'],
  ['volumeattributesclasses.storage.k8s.io', 'kubernetes.io/vac-protection'],
]);

export const storageObjectInUseProtection: AdmissionPlugin = {
  name: 'StorageObjectInUseProtection',
  admit: ({ operation, resource, subresource, object }) => {
    const finalizer = finalizers.get(formatGroupResource(resource));
    if (finalizer === undefined || operation !== 'CREATE' || subresource !== '' || object === undefined) return;
    const present = object.metadata?.finalizers ?? [];
    if (!present.includes(finalizer)) object.metadata = { ...object.metadata, finalizers: [...present, finalizer] };
  },
};
