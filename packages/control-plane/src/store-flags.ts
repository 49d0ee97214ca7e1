// The flags of `kapstan serve` that say where objects are kept, under kube-apiserver's names. Part of serve-flags.ts; serve.ts
// makes the options of the etcd engine of them.
import { readFile } from 'node:fs/promises';
import { isStorageMediaType, type StorageMediaType, storageMediaTypes } from '@kapstan/apiserver';
import type { EtcdEngineOptions } from '@kapstan/storage-etcd';
import { durationFlag, type Flag, listFlag, stringFlag, UsageError } from './flag-set.ts';
import { startingWith } from './start-error.ts';

export interface StoreFlags {
  /** 'default' = etcd3 when --etcd-servers names some, else lmdb. */
  readonly 'storage-backend': 'lmdb' | 'etcd3' | 'default';
  readonly 'etcd-servers': readonly string[];
  readonly 'etcd-cafile': string;
  readonly 'etcd-certfile': string;
  readonly 'etcd-keyfile': string;
  readonly 'etcd-prefix': string;
  readonly 'etcd-compaction-interval': number;
  /** 'default' = by backend: protobuf on etcd3, JSON on lmdb. */
  readonly 'storage-media-type': StorageMediaType | 'default';
}

export const storeFlags: { readonly [K in keyof StoreFlags]: Flag<StoreFlags[K]> } = {
  'storage-backend': storageBackendFlag(
    'Where objects are kept: lmdb (embedded) or etcd3. Without it etcd3 if --etcd-servers is given, else lmdb.',
  ),
  'etcd-servers': listFlag('Members of the etcd cluster, as scheme://host:port, separated by commas.'),
  'etcd-cafile': stringFlag("Certificates that the etcd members' must chain to."),
  'etcd-certfile': stringFlag('Certificate to show to etcd. Needs --etcd-keyfile.'),
  'etcd-keyfile': stringFlag('Key of --etcd-certfile.'),
  'etcd-prefix': stringFlag('What all keys begin with, in etcd or in the embedded store.', '/registry'),
  'etcd-compaction-interval': durationFlag(
    'Time between two compactions of the store, embedded or etcd; history is kept for one to two of these; 0 = no compaction.',
    300_000,
  ),
  'storage-media-type': storageMediaTypeFlag(
    `How objects of the built-in kinds are written to the store: ${storageMediaTypes.join(', ')}. Without it protobuf on etcd3, JSON on lmdb.`,
  ),
};

/** Throws UsageError for flags that contradict each other. */
export function checkStoreFlags(flags: StoreFlags): void {
  const hasServers = flags['etcd-servers'].length > 0;
  if (flags['storage-backend'] === 'etcd3' && !hasServers) throw new UsageError('--etcd-servers must be specified');
  if (flags['storage-backend'] === 'lmdb' && hasServers) {
    throw new UsageError('--etcd-servers does not go with --storage-backend=lmdb');
  }
  if ((flags['etcd-certfile'] === '') !== (flags['etcd-keyfile'] === '')) {
    throw new UsageError('--etcd-certfile and --etcd-keyfile must be given together');
  }
  const tlsFlag = (['etcd-cafile', 'etcd-certfile'] as const).find((name) => flags[name] !== '');
  if (tlsFlag !== undefined && !hasServers) throw new UsageError(`--${tlsFlag} needs --etcd-servers`);
}

/** The etcd that the flags name, if they do. Reads the files; rejects when one cannot be read. */
export async function etcdOptions(flags: StoreFlags): Promise<EtcdEngineOptions | undefined> {
  if (flags['etcd-servers'].length === 0) return undefined;
  const [ca, cert, key] = await Promise.all(
    (['etcd-cafile', 'etcd-certfile', 'etcd-keyfile'] as const).map((name) =>
      startingWith(`--${name}`, () => readIfNamed(flags[name])),
    ),
  );
  const tls = { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) };
  return {
    endpoints: flags['etcd-servers'],
    compactionIntervalMs: flags['etcd-compaction-interval'],
    ...(Object.keys(tls).length > 0 && { tls }),
  };
}

async function readIfNamed(file: string): Promise<Buffer | undefined> {
  return file === '' ? undefined : await readFile(file);
}

function storageBackendFlag(help: string): Flag<StoreFlags['storage-backend']> {
  const parse = (text: string): 'lmdb' | 'etcd3' => {
    if (text === 'lmdb' || text === 'etcd3') return text;
    if (text === 'etcd2') throw new TypeError('etcd2 is no longer a supported storage backend');
    throw new TypeError(`unknown storage type: ${text}`);
  };
  return { parse, default: 'default', help };
}

function storageMediaTypeFlag(help: string): Flag<StoreFlags['storage-media-type']> {
  const parse = (text: string): StorageMediaType => {
    if (isStorageMediaType(text)) return text;
    throw new TypeError(`allowed values: ${storageMediaTypes.join(', ')}`);
  };
  return { parse, default: 'default', help };
}
