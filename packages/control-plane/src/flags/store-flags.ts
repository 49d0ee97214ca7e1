// The storage flags of `kapstan serve`, under kube-apiserver's names. Part of serve-flags.ts; serve.ts turns them into options
// of the etcd engine.
import { readFile } from 'node:fs/promises';
import { isStorageMediaType, type StorageMediaType, storageMediaTypes } from '@kapstan/apiserver';
import type { EtcdEngineOptions } from '@kapstan/storage-etcd';
import { startingWith } from '../lifetime/start-error.ts';
import type { EtcdOverride } from '../store/store-engines.ts';
import { durationFlag, type Flag, FlagRefusal, intFlag, listFlag, stringFlag } from './flag-set.ts';

export interface StoreFlags {
  /** 'default' = etcd3 when --etcd-servers is set, otherwise lmdb. */
  readonly 'storage-backend': 'lmdb' | 'etcd3' | 'default';
  readonly 'etcd-servers': readonly string[];
  readonly 'etcd-servers-overrides': readonly EtcdOverride[];
  readonly 'etcd-cafile': string;
  readonly 'etcd-certfile': string;
  readonly 'etcd-keyfile': string;
  readonly 'etcd-prefix': string;
  /** 0 = the embedded store's default. */
  readonly 'quota-backend-bytes': number;
  readonly 'etcd-compaction-interval': number;
  readonly 'etcd-count-metric-poll-period': number;
  readonly 'etcd-db-metric-poll-interval': number;
  readonly 'etcd-healthcheck-timeout': number;
  readonly 'etcd-readycheck-timeout': number;
  /** Seconds, as in kube-apiserver. */
  readonly 'lease-reuse-duration-seconds': number;
  /** 'default' = depends on the backend: protobuf on etcd3, JSON on lmdb. */
  readonly 'storage-media-type': StorageMediaType | 'default';
}

export const storeFlags: { readonly [K in keyof StoreFlags]: Flag<StoreFlags[K]> } = {
  'storage-backend': storageBackendFlag(
    'The storage backend: lmdb (embedded) or etcd3. Defaults to etcd3 when --etcd-servers is set, and to lmdb otherwise.',
  ),
  'etcd-servers': listFlag('Comma-separated list of etcd servers to connect to, each as scheme://host:port.'),
  'etcd-servers-overrides': serversOverridesFlag(
    'Comma-separated list of etcd servers for individual built-in resources, each as group/resource#servers, where servers are URLs separated by semicolons.',
  ),
  'etcd-cafile': stringFlag('Certificate authority file used to verify the etcd servers.'),
  'etcd-certfile': stringFlag('Path to the client certificate to present to etcd. Requires --etcd-keyfile.'),
  'etcd-keyfile': stringFlag('Path to the private key that matches --etcd-certfile.'),
  'etcd-prefix': stringFlag('Prefix of all keys, in etcd or in the embedded store.', '/registry'),
  'quota-backend-bytes': quotaFlag(
    'Maximum size of the embedded store in bytes, including history. Beyond it, writes that make the store larger are refused. 0 means 8589934592 (8 GiB).',
  ),
  'etcd-compaction-interval': durationFlag(
    'Interval between compactions of the store, embedded or etcd. History is kept for one to two intervals. 0 disables compaction.',
    300_000,
  ),
  'etcd-count-metric-poll-period': durationFlag(
    'Interval at which stored objects are counted for /metrics. 0 disables the count.',
    60_000,
  ),
  'etcd-db-metric-poll-interval': durationFlag(
    'Interval at which the size of the store is read for /metrics. 0 disables it.',
    30_000,
  ),
  'etcd-healthcheck-timeout': timeoutFlag('Timeout for checking etcd health.', 2_000),
  'etcd-readycheck-timeout': timeoutFlag('Timeout for checking etcd readiness.', 2_000),
  'lease-reuse-duration-seconds': intFlag(
    'Maximum number of seconds by which a lease may outlive its object, so that objects can share leases. 0 disables sharing.',
    { default: 60, min: 0, max: 2_147_483_647 },
  ),
  'storage-media-type': storageMediaTypeFlag(
    `Media type in which objects of built-in kinds are stored: ${storageMediaTypes.join(', ')}. Defaults to protobuf on etcd3 and JSON on lmdb.`,
  ),
};

/** Flags that have no effect without an etcd cluster. */
const etcdFlags = ['etcd-cafile', 'etcd-certfile', 'etcd-healthcheck-timeout', 'etcd-readycheck-timeout'] as const;

/** Returns errors for flags that contradict each other. */
export function storeFlagErrors(flags: StoreFlags): readonly string[] {
  const errors: string[] = [];
  const hasServers = flags['etcd-servers'].length > 0;
  if (flags['storage-backend'] === 'etcd3' && !hasServers) errors.push('--etcd-servers must be specified');
  if (flags['storage-backend'] === 'lmdb' && hasServers) {
    errors.push('--etcd-servers cannot be combined with --storage-backend=lmdb');
  }
  if ((flags['etcd-certfile'] === '') !== (flags['etcd-keyfile'] === '')) {
    errors.push('--etcd-certfile and --etcd-keyfile must be specified together');
  }
  if (hasServers && flags['quota-backend-bytes'] > 0) {
    errors.push(
      '--quota-backend-bytes cannot be combined with --etcd-servers: set the quota with the flag of that name on etcd',
    );
  }
  if (hasServers) return errors;
  if (flags['etcd-servers-overrides'].length > 0) errors.push('--etcd-servers-overrides requires --etcd-servers');
  const idle = etcdFlags.filter((name) => flags[name] !== storeFlags[name].default);
  return [...errors, ...idle.map((name) => `--${name} requires --etcd-servers`)];
}

/** Returns the options of the etcd cluster that the flags name, or undefined. Reads the files; rejects when one cannot be read. */
export async function etcdOptions(flags: StoreFlags): Promise<EtcdEngineOptions | undefined> {
  if (flags['etcd-servers'].length === 0) return undefined;
  const [ca, cert, key] = await Promise.all(
    (['etcd-cafile', 'etcd-certfile', 'etcd-keyfile'] as const).map((name) =>
      startingWith(`--${name}`, () => readIfNamed(flags[name])),
    ),
  );
  return {
    endpoints: flags['etcd-servers'],
    compactionIntervalMs: flags['etcd-compaction-interval'],
    healthTimeoutMs: flags['etcd-healthcheck-timeout'],
    readinessTimeoutMs: flags['etcd-readycheck-timeout'],
    tls: ca || cert || key ? { ca, cert, key } : undefined,
  };
}

async function readIfNamed(file: string): Promise<Buffer | undefined> {
  return file === '' ? undefined : await readFile(file);
}

/**
 * The minimum is the size of the data that a start writes; with less, everything would be refused. The maximum is the size of the address
 * space. Source: etcd's flag.
 */
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
  return { parse, default: 'default', help, shown: '', format: shownUnlessDefault };
}

function storageMediaTypeFlag(help: string): Flag<StoreFlags['storage-media-type']> {
  const parse = (text: string): StorageMediaType => {
    if (isStorageMediaType(text)) return text;
    throw new FlagRefusal(`${JSON.stringify(text)} invalid, allowed values: ${storageMediaTypes.join(', ')}`);
  };
  return { parse, default: 'default', help, shown: '', format: shownUnlessDefault };
}

/** Accepts durations of at least one millisecond, because no answer takes no time at all. */
function timeoutFlag(help: string, defaultMs: number): Flag<number> {
  const duration = durationFlag(help, defaultMs);
  const parse = (text: string): number => {
    const ms = Math.round(duration.parse(text));
    if (ms < 1) throw new TypeError('must be at least 1ms');
    return ms;
  };
  return { ...duration, parse };
}

/** Parses "group/resource#server;server". Source: EtcdOptions.Validate, kubeapiserver DefaultStorageFactory. */
function serversOverridesFlag(help: string): Flag<readonly EtcdOverride[]> {
  const parse = (text: string): readonly EtcdOverride[] =>
    (text === '' ? [] : text.split(',')).map((item) => {
      const [, group = '', resource = '', servers] = /^([^#/]*)\/([^#/]+)#([^#]+)$/.exec(item.trim()) ?? [];
      if (servers !== undefined) return { group, resource, endpoints: servers.split(';') };
      throw new FlagRefusal(
        'invalid, must be of format: group/resource#servers, where servers are URLs, semicolon separated',
      );
    });
  const format = (overrides: readonly EtcdOverride[]): string =>
    `[${overrides.map(({ group, resource, endpoints }) => `${group}/${resource}#${endpoints.join(';')}`).join(',')}]`;
  return { parse, default: [], help, shown: '', separator: ',', format };
}

/** kube-apiserver shows the given value, and nothing for a default that depends on other flags. */
function shownUnlessDefault(value: string): string {
  return value === 'default' ? '' : value;
}
