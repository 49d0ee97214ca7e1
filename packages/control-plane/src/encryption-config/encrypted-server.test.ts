import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isInternalError, type KubernetesObject, resource, type StatusError } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import { CustomResourceDefinition } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { ConfigMap, Secret } from '@kapstan/kinds/core/v1';
import type { Engine } from '@kapstan/storage';
import { openEtcdEngine } from '@kapstan/storage-etcd';
import { findEtcd, howToInstall, startEtcd } from '@kapstan/storage-etcd/testing';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { startControlPlane } from '../control-plane.ts';
import type { ControlPlane, ControlPlaneOptions } from '../options/control-plane-options.ts';
import { FakeKmsPlugin } from '../testing/fake-kms-plugin.ts';

const password = 'sesame-open-the-door';
let folder: string;
let configFile: string;
let closers: (() => unknown)[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kapstan-encrypted-'));
  configFile = join(folder, 'encryption.yaml');
  closers = [() => rm(folder, { recursive: true })];
});
afterEach(async () => {
  for (const close of closers.reverse()) await close();
});

/** Writes a configuration with one element for `resources` and these providers. */
function configured(resources: string, ...providers: readonly string[]): Promise<void> {
  const list = providers.map((one) => `  - ${one}\n`).join('');
  return writeFile(
    configFile,
    `apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n- resources: [${resources}]\n  providers:\n${list}`,
  );
}

function ring(provider: string, ...names: readonly string[]): string {
  const keys = names.map((name) => `{ name: ${name}, secret: ${Buffer.alloc(32, name).toString('base64')} }`);
  return `${provider}: { keys: [${keys.join(', ')}] }`;
}

interface Running {
  readonly plane: ControlPlane;
  /** Returns the stored value of a key. */
  stored(key: string): Promise<string>;
  close(): Promise<void>;
}

async function start(options: Partial<ControlPlaneOptions> = {}): Promise<Running> {
  const engine: Engine = options.etcd
    ? await openEtcdEngine(options.etcd)
    : await openLmdbEngine({ dataDir: join(folder, 'store') });
  const { etcd: _etcd, ...rest } = options;
  let closing: Promise<void> | undefined;
  const plane = await startControlPlane({ dataDir: folder, engine, encryption: { configFile }, http: 'off', ...rest });
  const close = (): Promise<void> => {
    closing ??= plane.close().then(() => engine.close());
    return closing;
  };
  closers.push(close);
  const stored = async (key: string): Promise<string> =>
    Buffer.from((await engine.get(key)).kv?.value ?? []).toString('latin1');
  return { plane, stored, close };
}

const at = { name: 'pass', namespace: 'default' };
const secret = { metadata: at, data: { password: Buffer.from(password).toString('base64') } };
const key = '/registry/secrets/default/pass';

describe.each(['aescbc', 'aesgcm', 'secretbox'])('a server that encrypts with %s', (provider) => {
  it('keeps Secrets unreadable on disk and gives them back, also after a restart', async () => {
    await configured('secrets', ring(provider, 'one'), 'identity: {}');
    const running = await start();
    const { client } = running.plane;
    await client.create(Secret, secret);
    await client.create(ConfigMap, { metadata: { ...at, name: 'open' }, data: { a: 'in-the-clear' } });
    expect(await running.stored(key)).toMatch(new RegExp(`^k8s:enc:${provider}:v1:one:`));
    await running.close();
    const data = await readFile(join(folder, 'store', 'data.mdb'));
    expect(data.includes('in-the-clear'), 'the file is the one').toBe(true);
    for (const text of [password, Buffer.from(password).toString('base64')]) expect(data.includes(text)).toBe(false);
    const again = await start();
    expect((await again.plane.client.get(Secret, at)).data).toEqual(secret.data);
    expect((await again.plane.client.listPage(Secret)).items).toHaveLength(1);
  });
});

describe('rotation of keys', () => {
  it('rewrites an object at its next update, though nothing changes in it, and once', async () => {
    await configured('secrets', 'identity: {}');
    const plain = await start();
    await plain.plane.client.create(Secret, secret);
    expect(await plain.stored(key)).toContain('"kind":"Secret"');
    await plain.close();

    await configured('secrets', ring('aescbc', 'one'), 'identity: {}');
    const encrypted = await start();
    expect(await encrypted.stored(key), 'a restart rewrites nothing').toContain('"kind":"Secret"');
    const read = await encrypted.plane.client.get(Secret, at);
    const first = await encrypted.plane.client.update(Secret, read);
    expect(first.metadata?.resourceVersion).not.toBe(read.metadata?.resourceVersion);
    expect(await encrypted.stored(key)).toMatch(/^k8s:enc:aescbc:v1:one:/);
    const second = await encrypted.plane.client.update(Secret, first);
    expect(second.metadata?.resourceVersion).toBe(first.metadata?.resourceVersion);
    await encrypted.close();

    await configured('secrets', ring('aesgcm', 'two'), ring('aescbc', 'one'));
    const rotated = await start();
    const cached = (await rotated.plane.client.listPage(Secret)).items[0];
    await rotated.plane.client.update(Secret, cached as Secret);
    expect(await rotated.stored(key)).toMatch(/^k8s:enc:aesgcm:v1:two:/);
    await rotated.close();

    await configured('secrets', ring('aesgcm', 'two'));
    const clean = await start();
    expect((await clean.plane.client.get(Secret, at)).data).toEqual(secret.data);
  });

  it('begins within a minute of a change of the file, in a server that goes on', async () => {
    const clock = new VirtualClock();
    await configured('secrets', ring('aescbc', 'one'));
    const running = await start({ clock, encryption: { configFile, reloads: true } });
    const created = await running.plane.client.create(Secret, secret);
    await configured('secrets', ring('aescbc', 'two', 'one'));
    await clock.advance(60_000);
    await vi.waitFor(async () => {
      await running.plane.client.update(Secret, created);
      expect(await running.stored(key)).toMatch(/^k8s:enc:aescbc:v1:two:/);
    });
  });
});

describe('a server that lacks a key', () => {
  interface Answer {
    readonly status: number;
    readonly text: string;
  }

  function call(plane: ControlPlane, method: string, path: string): Promise<Answer> {
    const headers = { Authorization: `Bearer ${plane.token}` };
    return new Promise((resolve, reject) => {
      request(new URL(path, plane.url), { method, ca: plane.caCert, headers, agent: false }, async (answer) => {
        const chunks: Buffer[] = [];
        for await (const chunk of answer) chunks.push(chunk as Buffer);
        resolve({ status: answer.statusCode ?? 0, text: Buffer.concat(chunks).toString() });
      })
        .on('error', reject)
        .end();
    });
  }

  it('starts, says what it cannot read without showing it, and lets that be deleted by force', async () => {
    await configured('secrets', ring('aesgcm', 'one'));
    const before = await start();
    await before.plane.client.create(Secret, secret);
    await before.plane.client.create(ConfigMap, { metadata: at, data: {} });
    await before.close();

    await configured('secrets', ring('aesgcm', 'two'));
    const log: unknown[] = [];
    const note = (message: string, data?: unknown): unknown => log.push(message, data);
    const logger = { debug: note, info: note, warn: note, error: note, child: () => logger } as never;
    const more = { storageInitializationTimeoutMs: 100, controlLoops: ['*'], allowsUnsafeDeletion: true };
    const { plane } = await start({ http: {}, ...more, logger });
    expect((await call(plane, 'GET', '/api/v1/namespaces/default/configmaps/pass')).status).toBe(200);
    const ready = await call(plane, 'GET', '/readyz?verbose');
    expect(ready.status).toBe(500);
    expect(ready.text).toContain('[-]informer-sync failed');
    expect(ready.text).toContain('[+]poststarthook/storage-readiness ok');

    const path = '/api/v1/namespaces/default/secrets/pass';
    const read = await call(plane, 'GET', path);
    expect(read.status).toBe(500);
    expect(JSON.parse(read.text)).toMatchObject({
      reason: 'InternalError',
      message: expect.stringMatching(
        /^Internal error occurred: StorageError: corrupt object, Code: 7, ResourceVersion: 0, AdditionalErrorMsg: data from the storage is not transformable revision=\d+: no matching key was found for the provided AES transformer$/,
      ),
    });
    expect((await call(plane, 'DELETE', path)).status).toBe(500);
    const force = '?ignoreStoreReadErrorWithClusterBreakingPotential=true';
    const readable = await call(plane, 'DELETE', `/api/v1/namespaces/default/configmaps/pass${force}`);
    expect(readable.status, readable.text).toBe(409);
    const { text: metrics } = await call(plane, 'GET', '/metrics');
    expect(metrics).toMatch(
      /apiserver_storage_transformation_operations_total\{transformation_type="from_storage",transformer_prefix="k8s:enc:aesgcm:v1:",resource="secrets",status="Unknown"\} [1-9]/,
    );
    const removed = await call(plane, 'DELETE', `${path}${force}`);
    expect(removed.status, removed.text).toBe(200);
    expect((await call(plane, 'GET', path)).status).toBe(404);
    await vi.waitFor(async () => expect((await call(plane, 'GET', '/readyz')).status).toBe(200), 30_000);
    expect(JSON.stringify(log)).not.toContain(Buffer.alloc(32, 'two').toString('base64').slice(0, 8));
    expect(JSON.stringify(log)).not.toContain(password);
    // The loops retry objects that could not be listed at growing intervals, hence the timeout.
  }, 45_000);

  it('says so when it lost the key while it ran, and heals what it still knows', async () => {
    await configured('secrets', ring('aesgcm', 'one'));
    const clock = new VirtualClock();
    const running = await start({ clock, encryption: { configFile, reloads: true } });
    const created = await running.plane.client.create(Secret, secret);
    await configured('secrets', ring('aesgcm', 'two'));
    await clock.advance(60_000);
    const refusal = await vi.waitFor(async () => {
      const error = await running.plane.client.get(Secret, at).catch((reason: unknown) => reason as StatusError);
      expect(isInternalError(error)).toBe(true);
      return error as StatusError;
    });
    expect(refusal.message).toContain('no matching key was found for the provided AES transformer');
    // The watch cache still holds the object. An update starts from it, is compared with the store, and heals the stored value.
    const healed = await running.plane.client.update(Secret, { ...created, type: 'Opaque', data: { a: '' } });
    expect(await running.plane.client.get(Secret, at)).toEqual(healed);
    expect(await running.stored(key)).toContain(':two:');
  });
});

describe('a server with a key service', () => {
  it('writes envelopes, follows its key, and shows its health under /healthz/kms-providers', async () => {
    const socket = `unix://${join(folder, 'kms.sock')}`;
    const fake = new FakeKmsPlugin();
    await fake.listen(socket);
    closers.push(() => fake.close());
    await configured('secrets', `kms: { apiVersion: v2, name: fake, endpoint: "${socket}" }`, 'identity: {}');
    const running = await start();
    await running.plane.client.create(Secret, secret);
    expect(await running.stored(key)).toMatch(/^k8s:enc:kms:v2:fake:/);
    await running.close();

    fake.keyId = 'key-2';
    const again = await start({ http: {} });
    const { plane } = again;
    const health = (path: string): Promise<number> =>
      new Promise((resolve, reject) => {
        const headers = { Authorization: `Bearer ${plane.token}` };
        request(new URL(path, plane.url), { ca: plane.caCert, headers, agent: false }, (answer) => {
          answer.resume();
          resolve(answer.statusCode ?? 0);
        })
          .on('error', reject)
          .end();
      });
    expect(await health('/healthz/kms-providers')).toBe(200);
    const read = await plane.client.get(Secret, at);
    const rewritten = await plane.client.update(Secret, read);
    expect(rewritten.metadata?.resourceVersion, 'sealed with another key').not.toBe(read.metadata?.resourceVersion);
    expect(await again.stored(key)).toContain('key-2');
    expect(fake.calls.filter(({ method }) => method === 'Decrypt')).toHaveLength(1);
  });
});

interface Foo extends KubernetesObject {
  readonly spec: string;
}
const foos = resource<Foo>({ group: 'example.com', version: 'v1', kind: 'Foo' });
const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
const definition: CustomResourceDefinition = {
  metadata: { name: 'foos.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'foos', kind: 'Foo' },
    versions: [{ name: 'v1', served: true, storage: true, schema }],
  },
};

async function encryptsEverything(options: Partial<ControlPlaneOptions>): Promise<void> {
  await configured("'*.*'", ring('aesgcm', 'one'));
  const running = await start(options);
  const { client } = running.plane;
  await client.create(Secret, secret);
  await client.create(CustomResourceDefinition, definition);
  await vi.waitFor(() => client.create(foos, { metadata: at, spec: password }), 10_000);
  for (const path of [key, '/registry/example.com/foos/default/pass', '/registry/namespaces/default']) {
    expect(await running.stored(path), path).toMatch(/^k8s:enc:aesgcm:v1:one:/);
    expect(await running.stored(path), path).not.toContain(password);
  }
  expect((await client.get(Secret, at)).data).toEqual(secret.data);
  expect((await client.get(foos, at)).spec).toBe(password);
}

it('encrypts built-in and custom resources in the embedded store', () => encryptsEverything({}));

const binary = findEtcd();

it('encrypts built-in and custom resources in etcd', { timeout: 60_000 }, async ({ skip }) => {
  if (binary === undefined) return skip(`no etcd: ${howToInstall}`);
  const [etcd] = await startEtcd({ binary });
  closers.push(() => etcd.remove());
  await encryptsEverything({ etcd: { endpoints: [etcd.endpoint] } });
});
