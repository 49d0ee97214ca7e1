// The form in which this server's options have objects stored. Used by control-plane.ts and announcement.ts.
import type { ResourceCodecOptions } from '@kapstan/apiserver';
import type { ControlPlaneOptions } from './control-plane-options.ts';

/** In etcd, the form that a kube-apiserver on the same cluster writes; in the embedded store, the form that can be sent as it is. */
export function storedAs({ etcd, storageMediaType }: ControlPlaneOptions): ResourceCodecOptions {
  const isShared = etcd !== undefined;
  return {
    mediaType: storageMediaType ?? (isShared ? 'application/vnd.kubernetes.protobuf' : 'application/json'),
    isShared,
  };
}
