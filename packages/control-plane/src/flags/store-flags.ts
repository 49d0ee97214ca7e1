// The flags of `kapstan serve` that say where objects are kept, under kube-apiserver's names. Part of serve-flags.ts; serve.ts
// makes the options of the etcd engine of them.
import { readFile } from 'node:fs/promises';
import { isStorageMediaType, type StorageMediaType, storageMediaTypes } from '@kapstan/apiserver';
import type { EtcdEngineOptions } from '@kapstan/storage-etcd';
import { startingWith } from '../start-error.ts';
import type { EtcdOverride } from '../store/store-engines.ts';
import { durationFlag, type Flag, FlagRefusal, intFlag, listFlag, stringFlag } from './flag-set.ts';

export interface StoreFlags {
  /** 'default' = etcd3 when --etcd-servers names some, else lmdb. */
  readonly 'storage-backend': 'lmdb' | 'etcd3' | 'default';
  readonly 'etcd-servers': readonly string[];
  readonly 'etcd-servers-overrides': readonly EtcdOverride[];
  readonly 'etcd-cafile': string;
  readonly 'etcd-certfile': string;
  readonly 'etcd-keyfile': string;
  readonly 'etcd-prefix': string;
  /** 0 = the default of the embedded store. */
  readonly 'quota-backend-bytes': number;
  readonly 'etcd-compaction-interval': number;
  readonly 'etcd-count-metric-poll-period': number;
  readonly 'etcd-db-metric-poll-interval': number;
  readonly 'etcd-healthcheck-timeout': number;
  readonly 'etcd-readycheck-timeout': number;
  /** Seconds, as in kube-apiserver. */
  readonly 'lease-reuse-duration-seconds': number;
  /** 'default' = by backend: protobuf on etcd3, JSON on lmdb. */
  readonly 'storage-media-type': StorageMediaType | 'default';
}

export const storeFlags: { readonly [K in keyof StoreFlags]: Flag<StoreFlags[K]> } = {
  'storage-backend': storageBackendFlag(
    'Where objects are kept: lmdb (embedded) or etcd3. Without it etcd3 if --etcd-servers is given, else lmdb.',
  ),
  'etcd-servers': listFlag('Members of the etcd cluster, as scheme://host:port, separated by commas.'),
  'etcd-servers-overrides': serversOverridesFlag(
    'Built-in resources that are kept in etcd clusters of their own: group/resource#server;server, separated by commas.',
  ),
  'etcd-cafile': stringFlag("Certificates that the etcd members' must chain to."),
  'etcd-certfile': stringFlag('Certificate to show to etcd. Needs --etcd-keyfile.'),
  'etcd-keyfile': stringFlag('Key of --etcd-certfile.'),
  'etcd-prefix': stringFlag('What all keys begin with, in etcd or in the embedded store.', '/registry'),
  'quota-backend-bytes': quotaFlag(
    'Bytes that the embedded store may hold, history included, before it refuses what makes it larger; 0 = 8589934592.',
  ),
  'etcd-compaction-interval': durationFlag(
    'Time between two compactions of the store, embedded or etcd; history is kept for one to two of these; 0 = no compaction.',
    300_000,
  ),
  'etcd-count-metric-poll-period': durationFlag(
    'Time between two counts of the stored objects for /metrics; 0 = none.',
    60_000,
  ),
  'etcd-db-metric-poll-interval': durationFlag(
    'Time between two looks at the size of the store for /metrics; 0 = none.',
    30_000,
  ),
  'etcd-healthcheck-timeout': timeoutFlag('Time for etcd to answer the health check.', 2_000),
  'etcd-readycheck-timeout': timeoutFlag('Time for etcd to answer the readiness check.', 2_000),
  'lease-reuse-duration-seconds': intFlag(
    'Most seconds by which a lease may outlive its object, so that others share it; 0 = none is shared.',
    { default: 60, min: 0, max: 2_147_483_647 },
  ),
  'storage-media-type': storageMediaTypeFlag(
    `How objects of the built-in kinds are written to the store: ${storageMediaTypes.join(', ')}. Without it protobuf on etcd3, JSON on lmdb.`,
  ),
};

/** Flags that say nothing without an etcd. */
const etcdFlags = ['etcd-cafile', 'etcd-certfile', 'etcd-healthcheck-timeout', 'etcd-readycheck-timeout'] as const;

/** What is wrong with flags that contradict each other. */
export function storeFlagErrors(flags: StoreFlags): readonly string[] {
  const errors: string[] = [];
  const hasServers = flags['etcd-servers'].length > 0;
  if (flags['storage-backend'] === 'etcd3' && !hasServers) errors.push('--etcd-servers must be specified');
  if (flags['storage-backend'] === 'lmdb' && hasServers) {
    errors.push('--etcd-servers does not go with --storage-backend=lmdb');
  }
  if ((flags['etcd-certfile'] === '') !== (flags['etcd-keyfile'] === '')) {
    errors.push('--etcd-certfile and --etcd-keyfile must be given together');
  }
  if (hasServers && flags['quota-backend-bytes'] > 0) {
    errors.push('--quota-backend-bytes does not go with --etcd-servers: etcd has a flag of that name itself');
  }
  if (hasServers) return errors;
  if (flags['etcd-servers-overrides'].length > 0) errors.push('--etcd-servers-overrides needs --etcd-servers');
  const idle = etcdFlags.filter((name) => flags[name] !== storeFlags[name].default);
  return [...errors, ...idle.map((name) => `--${name} needs --etcd-servers`)];
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
    healthTimeoutMs: flags['etcd-healthcheck-timeout'],
    readinessTimeoutMs: flags['etcd-readycheck-timeout'],
    ...(Object.keys(tls).length > 0 && { tls }),
  };
}

async function readIfNamed(file: string): Promise<Buffer | undefined> {
  return file === '' ? undefined : await readFile(file);
}

/** Source: etcd's flag. Less than a start writes would be refused at once; more than the upper bound is no address space. */
function quotaFlag(help: string): Flag<number> {
  const any = intFlag(help, { default: 0, min: 0, max: 2 ** 44 });
  const parse = (text: string): number => {
    const bytes = any.parse(text);
    if (bytes > 0 && bytes < minQuotaBytes) throw new FlagRefusal(`must be 0 or at least ${minQuotaBytes}`);
    return bytes;
  };
  return { ...any, parse };
}

const minQuotaBytes = 16_777_216;

function storageBackendFlag(help: string): Flag<StoreFlags['storage-backend']> {
  const parse = (text: string): 'lmdb' | 'etcd3' => {
    if (text === 'lmdb' || text === 'etcd3') return text;
    const why = text === 'etcd2' ? 'etcd2 is no longer a supported storage backend' : `unknown storage type: ${text}`;
    throw new FlagRefusal(
      `invalid, allowed values: lmdb, etcd3. If not specified, it will default to 'etcd3' with --etcd-servers, else to 'lmdb': ${why}`,
    );
  };
  return { parse, default: 'default', help, shown: '' };
}

function storageMediaTypeFlag(help: string): Flag<StoreFlags['storage-media-type']> {
  const parse = (text: string): StorageMediaType => {
    if (isStorageMediaType(text)) return text;
    throw new FlagRefusal(`${JSON.stringify(text)} invalid, allowed values: ${storageMediaTypes.join(', ')}`);
  };
  return { parse, default: 'default', help, shown: '' };
}

/** A duration of at least one millisecond: in no time nothing can be answered. */
function timeoutFlag(help: string, defaultMs: number): Flag<number> {
  const duration = durationFlag(help, defaultMs);
  const parse = (text: string): number => {
    const ms = Math.round(duration.parse(text));
    if (ms < 1) throw new TypeError('must be at least 1ms');
    return ms;
  };
  return { ...duration, parse };
}

/** "group/resource#server;server". Source: EtcdOptions.Validate, kubeapiserver DefaultStorageFactory. */
function serversOverridesFlag(help: string): Flag<readonly EtcdOverride[]> {
  const parse = (text: string): readonly EtcdOverride[] =>
    (text === '' ? [] : text.split(',')).map((item) => {
      const [, group = '', resource = '', servers] = /^([^#/]*)\/([^#/]+)#([^#]+)$/.exec(item.trim()) ?? [];
      if (servers !== undefined) return { group, resource, endpoints: servers.split(';') };
      throw new FlagRefusal(
        'invalid, must be of format: group/resource#servers, where servers are URLs, semicolon separated',
      );
    });
  return { parse, default: [], help, shown: '', separator: ',' };
}
