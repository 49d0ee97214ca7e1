import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseServeFlags } from './serve-flags.ts';
import { etcdOptions } from './store-flags.ts';

describe('the flags of the store', () => {
  it.each([
    [['--storage-backend=etcd3'], '--etcd-servers must be specified'],
    [
      ['--storage-backend=lmdb', '--etcd-servers=http://a:2379'],
      '--etcd-servers does not go with --storage-backend=lmdb',
    ],
    [
      ['--etcd-servers=https://a:2379', '--etcd-certfile=c'],
      '--etcd-certfile and --etcd-keyfile must be given together',
    ],
    [['--etcd-cafile=ca'], '--etcd-cafile needs --etcd-servers'],
    [
      ['--storage-media-type=application/cbor'],
      'invalid value "application/cbor" for --storage-media-type: allowed values: application/json, application/vnd.kubernetes.protobuf, application/yaml',
    ],
    [['--storage-media-type='], 'invalid value "" for --storage-media-type: allowed values: '],
  ])('refuses %j', (args, message) => {
    expect(() => parseServeFlags(args)).toThrow(message);
  });

  it.each(['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf'])('takes %s', (mediaType) => {
    expect(parseServeFlags([`--storage-media-type=${mediaType}`])['storage-media-type']).toBe(mediaType);
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
    ]);
    expect(await etcdOptions(flags)).toEqual({
      endpoints: ['https://a:2379', 'https://b:2379'],
      compactionIntervalMs: 0,
      tls: { ca: Buffer.from('the ca'), cert: Buffer.from('the cert'), key: Buffer.from('the key') },
    });
    await rm(folder, { recursive: true });
    await expect(etcdOptions(flags)).rejects.toThrow('ENOENT');
  });
});
