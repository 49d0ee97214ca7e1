// The node ports in use, in a store that several servers share: one object with kube-apiserver's key and encoding, because one of the
// servers may be a kube-apiserver. Used by resources.ts. Source: pkg/registry/core/service/allocator/storage.
import type { UnstructuredObject } from '@kapstan/api';
import { type ResourceCodecOptions, storageCodec } from '@kapstan/apiserver';
import { kubernetesTypes, type NodePortRegistry, type RangeAllocation } from '@kapstan/kubernetes';
import { type Engine, ObjectStore, type Transformer } from '@kapstan/storage';

/** The resource name that selects its encryption and its etcd cluster. */
export const nodePortsResource = { group: '', resource: 'servicenodeportallocations' } as const;

export interface SharedNodePortsOptions {
  readonly engine: Engine;
  /** Default "/registry". */
  readonly keyPrefix?: string | undefined;
  readonly storedAs: ResourceCodecOptions;
  readonly transformer?: Transformer | undefined;
}

export interface SharedNodePorts extends NodePortRegistry {
  /** Returns undefined when no port was ever allocated. */
  read(): Promise<RangeAllocation | undefined>;
  close(): Promise<void>;
}

export function sharedNodePorts(options: SharedNodePortsOptions): SharedNodePorts {
  const { engine, keyPrefix = '/registry', storedAs, transformer } = options;
  const store = new ObjectStore<UnstructuredObject>({
    engine,
    codec: storageCodec(
      storedAs.mediaType,
      { group: '', version: 'v1', kind: 'RangeAllocation' },
      { types: kubernetesTypes },
    ),
    resourcePrefix: '/ranges',
    groupResource: nodePortsResource,
    keyPrefix,
    transformer,
  });
  const key = `${store.keys.prefix}servicenodeports`;
  return {
    read: async () => (await store.get(key))?.object as unknown as RangeAllocation | undefined,
    update: async (change) => {
      const changed = (present: UnstructuredObject | undefined): { readonly object: UnstructuredObject } => ({
        object: change(present as RangeAllocation | undefined) as unknown as UnstructuredObject,
      });
      await store.guaranteedUpdate(key, changed, { ignoreNotFound: true });
    },
    close: () => store.close(),
  };
}
