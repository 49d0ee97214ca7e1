import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger, systemClock } from '@kapstan/api';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { FakeKmsPlugin } from '../testing/fake-kms-plugin.ts';
import { EncryptionAtRest } from './encryption-at-rest.ts';

// Values written by k8s.io/apiserver v0.36.3, whose encryptionconfig.LoadEncryptionConfig read the configuration below and called the same
// plug-in: "a value" under the key /registry/x/a.
const recorded: readonly (readonly [resource: string, group: string, stored: string])[] = [
  [
    'secrets',
    '',
    '6b38733a656e633a61657367636d3a76313a613a26f8b688b20765ba5091cef983e0ce80fc13ae85d9a0f04f6dcb704a53c41e77c7b9c7',
  ],
  [
    'configmaps',
    '',
    '6b38733a656e633a6165736362633a76313a623a167670ef737eb8f0c1f357bb66ba09f68a27237da34afa4a04f7c714aee446c6',
  ],
  [
    'pods',
    '',
    '6b38733a656e633a736563726574626f783a76313a633a211ac9162bb3915a0d7acb43e832d61c4090a7152824899f7ce8b24897a0a16310b947cd9d6dab1cfda1623d7958fe',
  ],
  [
    'foos',
    'example.com',
    '6b38733a656e633a6b6d733a76323a66616b653a0a43584c13190ea094022a2fb773bc8d47f938cdebdf4b7a8c3ff614c863d021ccf6ea01e7241d24c7bf877cb4dcb5779863b9d53366fd83789317e94c55d3e24990ef09e012056b65792d311a20586e93cb82d670e478ad0fccbf66174e42a03de01207d4761cfab68cba6853cf221d0a1876657273696f6e2e66616b652e6578616d706c652e636f6d1201312801',
  ],
];

let folder: string;
let fake: FakeKmsPlugin;
let encryption: EncryptionAtRest;

const ring = (name: string, size: number): string =>
  `{ keys: [{ name: ${name}, secret: ${Buffer.alloc(size, name).toString('base64')} }] }`;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kapstan-recorded-'));
  const socket = `unix://${join(folder, 'kms.sock')}`;
  fake = new FakeKmsPlugin();
  await fake.listen(socket);
  const configFile = join(folder, 'config.yaml');
  await writeFile(
    configFile,
    `apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- { resources: [secrets], providers: [{ aesgcm: ${ring('a', 32)} }] }
- { resources: [configmaps], providers: [{ aescbc: ${ring('b', 16)} }] }
- { resources: [pods], providers: [{ secretbox: ${ring('c', 32)} }] }
- { resources: [foos.example.com], providers: [{ kms: { apiVersion: v2, name: fake, endpoint: "${socket}" } }] }
`,
  );
  encryption = await EncryptionAtRest.open({ configFile }, { serverId: 's', clock: systemClock, logger: silentLogger });
});
afterAll(async () => {
  await encryption.close();
  fake.close();
  await rm(folder, { recursive: true });
});

it.each(recorded)(
  'reads, as its own, the value of %s.%s that a kube-apiserver wrote',
  async (resource, group, stored) => {
    const transformer = encryption.transformerFor({ group, resource });
    const bytes = Buffer.from(stored, 'hex');
    await transformer.prepare?.(bytes);
    const read = transformer.fromStorage(bytes, '/registry/x/a');
    expect(Buffer.from(read.bytes).toString()).toBe('a value');
    expect(read.isStale).toBe(false);
  },
);
