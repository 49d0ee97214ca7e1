// The form in which this server's options have objects stored. Used by control-plane.ts and announcement.ts.
import type { ResourceCodecOptions } from '@kapstan/apiserver';
import type { ControlPlaneOptions } from './control-plane-options.ts';

/**
 * Returns the form that a kube-apiserver on the same cluster writes when the store is etcd, and otherwise the form that can be sent unchanged.
 */
export function storedAs({ etcd, storageMediaType }: ControlPlaneOptions): ResourceCodecOptions {
  const isShared = etcd !== undefined;
  return {
    mediaType: storageMediaType ?? (isShared ? 'application/vnd.kubernetes.protobuf' : 'application/json'),
    isShared,
  };
}
