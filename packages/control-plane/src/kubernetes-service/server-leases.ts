// ServerLeases lists the running servers. Each server renews its address every few seconds. Used by kubernetes-service.ts. Keys and objects
// are those of pkg/controlplane/reconcilers/lease.go, so that servers of both kinds see each other on one etcd.
import { type DeepReadonly, parseFieldSelector, parseLabelSelector, type UnstructuredObject } from '@kapstan/api';
import { type ResourceCodecOptions, type ResourceDefinition, storageCodecOf } from '@kapstan/apiserver';
import { defaultAttributes, type Engine, isStorageError, ObjectStore } from '@kapstan/storage';

export interface ServerLeases {
  /** Returns the addresses of all servers that renewed in time. */
  list(): Promise<readonly string[]>;
  renew(address: string): Promise<void>;
  /** Removes the address. Returns false when there was no lease. */
  release(address: string): Promise<boolean>;
  close(): Promise<void>;
}

/** Leases of a server that does not share its store. They stay in memory, because no other server reads them. */
export function ownLeases(): ServerLeases {
  const addresses = new Set<string>();
  return {
    list: async () => [...addresses],
    renew: async (address) => void addresses.add(address),
    release: async (address) => addresses.delete(address),
    close: async () => undefined,
  };
}

export interface SharedLeasesOptions {
  readonly engine: Engine;
  /** Default "/registry". */
  readonly keyPrefix?: string | undefined;
  /** Definition of endpoints; leases are stored as such objects. */
  readonly endpoints: ResourceDefinition;
  readonly storedAs: ResourceCodecOptions;
  readonly ttlSeconds: number;
}

const resourcePrefix = '/masterleases';

/** Leases in a store that several servers share. */
export function sharedLeases(options: SharedLeasesOptions): ServerLeases {
  const { engine, endpoints, storedAs, ttlSeconds, keyPrefix = '/registry' } = options;
  const store = new ObjectStore<UnstructuredObject>({
    engine,
    codec: storageCodecOf(endpoints, storedAs),
    resourcePrefix,
    groupResource: { group: '', resource: 'apiserveripinfo' },
    keyPrefix,
  });
  const everything = {
    labels: parseLabelSelector(''),
    fields: parseFieldSelector(''),
    getAttributes: defaultAttributes(false),
    limit: 0,
    continue: '',
    allowWatchBookmarks: false,
  };
  const { prefix } = store.keys;
  const keyOf = (address: string): string => `${prefix}${address}`;
  return {
    list: async () => {
      const { items } = await store.getList(prefix, { predicate: everything, recursive: true });
      return items.map(({ object }) => addressOf(object)).filter((address) => address !== undefined);
    },
    renew: async (address) => {
      const renewed = (existing: UnstructuredObject | undefined): UnstructuredObject => ({
        ...(existing ?? { apiVersion: 'v1', kind: 'Endpoints' }),
        // The generation changes at each renewal, because an update without a change would not be written, and the key's time to live would
        // not be extended.
        metadata: { ...existing?.metadata, generation: (existing?.metadata?.generation ?? 0) + 1 },
        subsets: [{ addresses: [{ ip: address }] }],
      });
      const update = (existing: UnstructuredObject | undefined) => ({ object: renewed(existing), ttlSeconds });
      await store.guaranteedUpdate(keyOf(address), update, { ignoreNotFound: true });
    },
    release: async (address) => {
      try {
        await store.delete(keyOf(address));
        return true;
      } catch (error) {
        if (isStorageError(error, 'KeyNotFound')) return false;
        throw error;
      }
    },
    close: () => store.close(),
  };
}

function addressOf(object: DeepReadonly<UnstructuredObject>): string | undefined {
  const { subsets } = object as {
    readonly subsets?: readonly { readonly addresses?: readonly { readonly ip?: string }[] }[];
  };
  return subsets?.[0]?.addresses?.[0]?.ip || undefined;
}
