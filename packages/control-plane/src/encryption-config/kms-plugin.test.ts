import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@kapstan/api';
import { settle, VirtualClock } from '@kapstan/api/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeKmsPlugin } from '../testing/fake-kms-plugin.ts';
import { KmsPlugin, type KmsPluginOptions } from './kms-plugin.ts';

let folder: string;
let socket: string;
let fake: FakeKmsPlugin;
let plugins: KmsPlugin[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kapstan-kms-'));
  socket = `unix://${join(folder, 'kms.sock')}`;
  fake = new FakeKmsPlugin();
  plugins = [];
});
afterEach(async () => {
  for (const plugin of plugins) plugin.close();
  fake.close();
  await rm(folder, { recursive: true });
});

function open(options: Partial<KmsPluginOptions> = {}): KmsPlugin {
  const plugin = new KmsPlugin({ endpoint: socket, timeoutMs: 10_000, clock: systemClock, ...options });
  plugins.push(plugin);
  return plugin;
}

describe('KmsPlugin', () => {
  it('speaks v2.KeyManagementService over a Unix socket', async () => {
    await fake.listen(socket);
    const plugin = open();
    expect(await plugin.status()).toEqual({ version: 'v2', healthz: 'ok', keyId: 'key-1' });
    const seed = Buffer.from('a seed');
    const sealed = await plugin.encrypt(seed, 'uid-1');
    expect(sealed.keyId).toBe('key-1');
    expect([...sealed.annotations]).toEqual([['version.fake.example.com', Buffer.from('1')]]);
    expect(sealed.ciphertext).not.toEqual(seed);
    expect(await plugin.decrypt(sealed, 'uid-2')).toEqual(seed);
    expect(fake.calls.map(({ method, request }) => [method, request.uid])).toEqual([
      ['Status', undefined],
      ['Encrypt', 'uid-1'],
      ['Decrypt', 'uid-2'],
    ]);
    expect(fake.calls[2]?.request).toMatchObject({
      keyId: 'key-1',
      annotations: { 'version.fake.example.com': Buffer.from('1') },
    });
  });

  it('waits for a plug-in that comes up after the call, and for one that comes back', async () => {
    const plugin = open();
    const early = plugin.status();
    await fake.listen(socket);
    expect((await early).healthz).toBe('ok');
    fake.close();
    const between = plugin.status().catch((error: unknown) => error);
    fake = new FakeKmsPlugin();
    await fake.listen(socket);
    // The call may have been sent before the connection broke; the next call reaches the new server.
    await between;
    expect((await plugin.status()).healthz).toBe('ok');
  });

  it('gives a call up after its time', async () => {
    await fake.listen(socket);
    fake.isSilent = true;
    const clock = new VirtualClock();
    const call = open({ clock, timeoutMs: 3_000 }).status();
    const failed = expect(call).rejects.toThrow('rpc error: code = DeadlineExceeded desc = context deadline exceeded');
    await settle();
    await clock.advance(3_000);
    await failed;
    expect(clock.pendingTimers).toBe(0);
  });

  it('passes an error of the plug-in on, as Go shows it', async () => {
    await fake.listen(socket);
    fake.failure = 'no such key';
    await expect(open().encrypt(Buffer.from('a'), 'uid')).rejects.toThrow(
      /^rpc error: code = Internal desc = no such key$/,
    );
  });

  it('serves calls side by side', async () => {
    await fake.listen(socket);
    const plugin = open();
    const seeds = Array.from({ length: 50 }, (_, i) => Buffer.from(`seed ${i}`));
    const opened = seeds.map(async (seed) => plugin.decrypt(await plugin.encrypt(seed, 'a'), 'b'));
    expect(await Promise.all(opened)).toEqual(seeds);
  });

  it('reaches a socket without a file', async (context) => {
    if (process.platform !== 'linux') return context.skip('abstract sockets are of Linux alone');
    const name = `kapstan-${process.pid}-${Math.random()}`;
    await fake.listen(`unix:\0${name}`);
    expect((await open({ endpoint: `unix:///@${name}` }).status()).keyId).toBe('key-1');
  });

  it('refuses an endpoint without a path', () => {
    expect(() => open({ endpoint: 'unix://' })).toThrow('failed to parse endpoint unix://: it names no socket');
  });
});
