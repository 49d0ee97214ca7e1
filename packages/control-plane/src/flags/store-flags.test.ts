import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { toOptions } from '../serve.ts';
import { parseServeFlags } from './serve-flags.ts';
import { etcdOptions } from './store-flags.ts';

const overridesFormat =
  '--etcd-servers-overrides invalid, must be of format: group/resource#servers, where servers are URLs, semicolon separated';

describe('the flags of the store', () => {
  it.each([
    [['--storage-backend=etcd3'], '--etcd-servers must be specified'],
    [
      ['--storage-backend=lmdb', '--etcd-servers=http://a:2379'],
      '--etcd-servers cannot be combined with --storage-backend=lmdb',
    ],
    [
      ['--etcd-servers=https://a:2379', '--etcd-certfile=c'],
      '--etcd-certfile and --etcd-keyfile must be specified together',
    ],
    [['--etcd-cafile=ca'], '--etcd-cafile requires --etcd-servers'],
    [['--etcd-healthcheck-timeout=3s'], '--etcd-healthcheck-timeout requires --etcd-servers'],
    [['--etcd-readycheck-timeout=3s'], '--etcd-readycheck-timeout requires --etcd-servers'],
    [['--etcd-healthcheck-timeout=0'], 'invalid value "0" for --etcd-healthcheck-timeout: must be at least 1ms'],
    [['--etcd-readycheck-timeout=-1s'], '--etcd-readycheck-timeout can not be negative value'],
    [
      ['--etcd-compaction-interval=often'],
      'invalid value "often" for --etcd-compaction-interval: must be a duration such as 90s or 1h30m',
    ],
    [['--etcd-compaction-interval=-1s'], '--etcd-compaction-interval can not be negative value'],
    [['--etcd-count-metric-poll-period=-1s'], '--etcd-count-metric-poll-period can not be negative value'],
    [['--etcd-db-metric-poll-interval=-1s'], '--etcd-db-metric-poll-interval can not be negative value'],
    [['--lease-reuse-duration-seconds=-1'], '--lease-reuse-duration-seconds can not be negative value'],
    [
      ['--lease-reuse-duration-seconds=1.5'],
      'invalid value "1.5" for --lease-reuse-duration-seconds: must be a whole number from 0 to 2147483647',
    ],
    [['--quota-backend-bytes=-1'], '--quota-backend-bytes can not be negative value'],
    [['--quota-backend-bytes=16777215'], '--quota-backend-bytes must be 0 or at least 16777216'],
    [['--quota-backend-bytes=8GiB'], 'invalid value "8GiB" for --quota-backend-bytes: must be a whole number'],
    [
      ['--quota-backend-bytes=16777216', '--etcd-servers=http://a:2379'],
      '--quota-backend-bytes cannot be combined with --etcd-servers',
    ],
    [['--etcd-servers-overrides=/events'], overridesFormat],
    [['--etcd-servers-overrides=events#http://a:2379'], overridesFormat],
    [['--etcd-servers-overrides=/events#http://a:2379#x'], overridesFormat],
    [['--etcd-servers-overrides=/events#http://a:2379', '--storage-backend=lmdb'], 'overrides requires --etcd-servers'],
    [['--etcd-servers-overrides=/#http://a:2379'], overridesFormat],
    [['--etcd-servers-overrides=/events#'], overridesFormat],
    [
      ['--storage-media-type=application/cbor'],
      '--storage-media-type "application/cbor" invalid, allowed values: application/json, application/vnd.kubernetes.protobuf, application/yaml',
    ],
    [['--storage-media-type='], '--storage-media-type "" invalid, allowed values: '],
  ])('refuses %j', (args, message) => {
    expect(() => parseServeFlags(args)).toThrow(message);
  });

  it.each(['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf'])('takes %s', (mediaType) => {
    expect(parseServeFlags([`--storage-media-type=${mediaType}`])['storage-media-type']).toBe(mediaType);
  });

  it('keeps the resources that are named in etcd clusters of their own', async () => {
    const text = '/events#http://a:2379;http://b:2379,apps/deployments#https://c:2379';
    const flags = parseServeFlags(['--etcd-servers=http://m:2379', `--etcd-servers-overrides=${text}`]);
    expect((await toOptions(flags)).etcdOverrides).toEqual([
      { group: '', resource: 'events', endpoints: ['http://a:2379', 'http://b:2379'] },
      { group: 'apps', resource: 'deployments', endpoints: ['https://c:2379'] },
    ]);
    expect((await toOptions(parseServeFlags(['--etcd-servers-overrides=']))).etcdOverrides).toBeUndefined();
  });

  it('keeps objects in the embedded store unless etcd is named', async () => {
    for (const args of [[], ['--storage-backend=lmdb']]) {
      expect(await etcdOptions(parseServeFlags(args))).toBeUndefined();
    }
  });

  it('connects to the etcd servers that are named, with the certificates of the files', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'kapstan-flags-'));
    for (const name of ['ca', 'cert', 'key']) await writeFile(join(folder, name), `the ${name}`);
    const flags = parseServeFlags([
      '--etcd-servers=https://a:2379, https://b:2379',
      `--etcd-cafile=${folder}/ca`,
      `--etcd-certfile=${folder}/cert`,
      `--etcd-keyfile=${folder}/key`,
      '--etcd-compaction-interval=0',
      '--etcd-healthcheck-timeout=3s',
      '--etcd-readycheck-timeout=1500ms',
    ]);
    expect(await etcdOptions(flags)).toEqual({
      endpoints: ['https://a:2379', 'https://b:2379'],
      compactionIntervalMs: 0,
      healthTimeoutMs: 3_000,
      readinessTimeoutMs: 1_500,
      tls: { ca: Buffer.from('the ca'), cert: Buffer.from('the cert'), key: Buffer.from('the key') },
    });
    await rm(folder, { recursive: true });
    await expect(etcdOptions(flags)).rejects.toThrow('ENOENT');
  });
});
