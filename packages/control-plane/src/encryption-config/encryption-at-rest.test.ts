import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Logger, silentLogger } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { FakeKmsPlugin } from '../testing/fake-kms-plugin.ts';
import { EncryptionAtRest } from './encryption-at-rest.ts';

const secrets = { group: '', resource: 'secrets' };
const path = '/registry/secrets/default/a';
const plain = Buffer.from('{"kind":"Secret"}');
let folder: string;
let configFile: string;
let clock: VirtualClock;
let log: string[];
let closers: (() => void)[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kapstan-encryption-'));
  configFile = join(folder, 'config.yaml');
  clock = new VirtualClock();
  log = [];
  closers = [];
});
afterEach(async () => {
  for (const close of closers) close();
  expect(clock.pendingTimers, 'timers left behind (I9)').toBe(0);
  await rm(folder, { recursive: true });
});

const note = (message: string, data?: Readonly<Record<string, unknown>>): unknown =>
  log.push(data === undefined ? message : `${message}: ${data.error}`);
const logger: Logger = { ...silentLogger, error: note, warn: note, info: note } as Logger;

function configured(...providers: readonly string[]): Promise<void> {
  const list = providers.map((one) => `  - ${one}\n`).join('');
  return writeFile(
    configFile,
    `apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n- resources: [secrets, events]\n  providers:\n${list}`,
  );
}

const secretOf = (name: string): string => Buffer.alloc(32, name).toString('base64');
const aes = (...names: readonly string[]): string =>
  `aescbc: { keys: [${names.map((name) => `{ name: ${name}, secret: ${secretOf(name)} }`).join(', ')}] }`;

async function open(options: { readonly reloads?: boolean } = {}): Promise<EncryptionAtRest> {
  const encryption = await EncryptionAtRest.open({ configFile, ...options }, { serverId: 's', clock, logger });
  closers.push(() => encryption.close());
  return encryption;
}

const written = (encryption: EncryptionAtRest, resource = secrets): string =>
  Buffer.from(encryption.transformerFor(resource).toStorage(plain, path)).toString('latin1');

/** Advances to the next check of the file and waits for it; reading the file takes real time. */
async function reloaded(): Promise<void> {
  const before = log.length;
  await clock.advance(60_000);
  await vi.waitFor(() => expect(log.length).toBeGreaterThan(before));
}

describe('EncryptionAtRest', () => {
  it('encrypts what the file names and nothing else; events of both groups are one', async () => {
    await configured(aes('one'));
    const encryption = await open();
    expect(written(encryption)).toMatch(/^k8s:enc:aescbc:v1:one:/);
    expect(written(encryption, { group: 'events.k8s.io', resource: 'events' })).toMatch(/^k8s:enc:/);
    expect(written(encryption, { group: '', resource: 'configmaps' })).toBe(plain.toString());
    expect(encryption.healthChecks).toEqual([]);
  });

  it.each<[string, string | undefined, RegExp]>([
    [
      'is not there',
      undefined,
      /^error while parsing file: error while loading file: error reading encryption provider configuration file ".*config.yaml": ENOENT/,
    ],
    [
      'is empty',
      '',
      /^error while parsing file: error while loading file: encryption provider configuration file ".*" is empty$/,
    ],
    [
      'is no configuration',
      'a: b',
      /^error while parsing file: error decoding encryption provider configuration file ".*config.yaml": Object 'Kind' is missing$/,
    ],
    [
      'breaks a rule',
      '{ apiVersion: apiserver.config.k8s.io/v1, kind: EncryptionConfiguration }',
      /^error while parsing file: resources: Required value: at least one resources is required$/,
    ],
    [
      'names what another rule masks',
      '{ apiVersion: apiserver.config.k8s.io/v1, kind: EncryptionConfiguration, resources: [{ resources: ["*.*"], providers: [{ identity: {} }] }, { resources: [pods], providers: [{ identity: {} }] }] }',
      /^error while building transformers: resource "pods" is masked by earlier rule "\*\.\*"$/,
    ],
  ])('does not open when the file %s', async (_what, text, message) => {
    if (text !== undefined) await writeFile(configFile, text);
    await expect(open()).rejects.toThrow(message);
  });

  it('looks at the file once only, unless told otherwise', async () => {
    await configured(aes('one'));
    const encryption = await open();
    expect(clock.pendingTimers).toBe(0);
    expect(written(encryption)).toContain(':one:');
  });
});

describe('EncryptionAtRest that reloads', () => {
  it('takes over a new file within a minute, for the transformers that it gave out', async () => {
    await configured(aes('one'));
    const encryption = await open({ reloads: true });
    const transformer = encryption.transformerFor(secrets);
    const old = transformer.toStorage(plain, path);
    await configured(aes('two', 'one'));
    await reloaded();
    expect(log).toEqual(['reloaded the encryption configuration']);
    expect(Buffer.from(transformer.toStorage(plain, path)).toString('latin1')).toMatch(/^k8s:enc:aescbc:v1:two:/);
    expect(transformer.fromStorage(old, path)).toEqual({ bytes: plain, isStale: true });
  });

  it('keeps what it has while the new file is wrong or gone, tells so without its keys, and takes the next good one', async () => {
    await configured(aes('one'));
    const encryption = await open({ reloads: true });
    await configured(aes('two').replace('name: two', 'name: ""'));
    await reloaded();
    await rm(configFile);
    await reloaded();
    expect(written(encryption)).toContain(':one:');
    expect(log).toHaveLength(2);
    for (const line of log) {
      expect(line).toMatch(
        /^could not reload the encryption configuration; the old one stays in use: error while parsing/,
      );
      expect(line).not.toContain(secretOf('two').slice(0, 6));
    }
    await configured(aes('three'));
    await reloaded();
    expect(written(encryption)).toContain(':three:');
  });

  it('does nothing while the file stays as it is', async () => {
    await configured(aes('one'));
    const encryption = await open({ reloads: true });
    await configured(aes('one'));
    await clock.advance(60_000);
    await vi.waitFor(() => expect(clock.pendingTimers).toBe(1));
    expect(log).toEqual([]);
    expect(written(encryption)).toContain(':one:');
  });

  it('has the health check also without key services', async () => {
    await configured(aes('one'));
    const [check, ...rest] = (await open({ reloads: true })).healthChecks;
    expect(rest).toEqual([]);
    expect(check?.name).toBe('kms-providers');
    expect(await check?.check()).toBeUndefined();
  });
});

describe('EncryptionAtRest with a key service', () => {
  let fake: FakeKmsPlugin;
  const socket = (): string => `unix://${join(folder, 'kms.sock')}`;
  const kms = (fields = ''): string => `kms: { apiVersion: v2, name: fake, endpoint: "${socket()}"${fields} }`;

  beforeEach(async () => {
    fake = new FakeKmsPlugin();
    closers.push(() => fake.close());
    await fake.listen(socket());
  });

  it('writes envelopes, and reads those of the time before a restart', async () => {
    await configured(kms());
    const first = await open();
    const stored = first.transformerFor(secrets).toStorage(plain, path);
    expect(Buffer.from(stored).toString('latin1')).toMatch(/^k8s:enc:kms:v2:fake:/);
    const again = (await open()).transformerFor(secrets);
    await again.prepare?.(stored);
    expect(again.fromStorage(stored, path)).toEqual({ bytes: plain, isStale: false });
  });

  it('reads what was prepared before the file was read again', async () => {
    await configured(kms());
    const stored = (await open()).transformerFor(secrets).toStorage(plain, path);
    const encryption = await open({ reloads: true });
    const transformer = encryption.transformerFor(secrets);
    await transformer.prepare?.(stored);
    await configured(aes('one'), kms());
    await reloaded();
    expect(log.join()).toContain('reloaded the encryption configuration');
    expect(transformer.fromStorage(stored, path)).toEqual({ bytes: plain, isStale: true });
    const unprepared = Buffer.from(stored);
    expect(() => transformer.fromStorage(unprepared, path)).toThrow('the data key has not been opened');
    await transformer.prepare?.(unprepared);
    expect(transformer.fromStorage(unprepared, path)).toEqual({ bytes: plain, isStale: true });
  });

  it('says which key service is not healthy, and why', async () => {
    fake.healthz = 'on fire';
    await configured(kms());
    const [check] = (await open()).healthChecks;
    expect(check?.name).toBe('kms-providers');
    expect((await check?.check())?.message).toBe(
      'kms-provider-0: kmsv2 Provider fake is not healthy, error: got unexpected healthz status: on fire',
    );
    fake.healthz = 'ok';
    await clock.advance(3_000);
    expect(await check?.check()).toBeUndefined();
  });

  it('does not change over to a key service that is not healthy', async () => {
    await configured(aes('one'));
    const encryption = await open({ reloads: true });
    fake.failure = 'sealed';
    await configured(kms(), aes('one'));
    await reloaded();
    await vi.waitFor(
      () => expect(log.join()).toContain('the old one stays in use: kms-provider-0: ') /* the health check */,
    );
    expect(log.join()).toContain('rpc error: code = Internal desc = sealed');
    expect(written(encryption)).toContain(':one:');
    fake.failure = undefined;
    await vi.waitFor(() => expect(clock.pendingTimers).toBe(1));
    await reloaded();
    expect(written(encryption)).toMatch(/^k8s:enc:kms:v2:fake:/);
  });

  it('closes what it replaced after the calls that may be under way, twice their time', async () => {
    await configured(kms(', timeout: 5s'));
    await open({ reloads: true });
    await configured(aes('one'));
    const before = fake.calls.length;
    await reloaded();
    const after = fake.calls.length;
    expect(after, 'polled once more while the file was read').toBeLessThanOrEqual(before + 1);
    await clock.advance(10_000);
    expect(clock.pendingTimers, 'the next look at the file').toBe(1);
    await clock.advance(600_000 - 10_000);
    expect(fake.calls).toHaveLength(after);
  });
});
