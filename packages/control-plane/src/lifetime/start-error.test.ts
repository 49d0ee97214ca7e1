import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '@kapstan/api';
import { LeakCheck, VirtualClock } from '@kapstan/api/testing';
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { listenForStop } from '../command/stop-signal.ts';
import { main } from '../command.ts';
import { startControlPlane } from '../control-plane.ts';
import type { ControlPlaneOptions } from '../options/control-plane-options.ts';
import { catchOutput } from '../testing/caught-output.ts';

let work: string;
let dataDir: string;
let taken: Server;
let takenPort: number;

beforeAll(async () => {
  // One server starts and stops first, so that resources which a process opens only once, such as the random number source, are not counted
  // as a leak.
  const warm = await mkdtemp(join(tmpdir(), 'kapstan-start-'));
  await (await startControlPlane({ dataDir: warm })).close();
  await rm(warm, { recursive: true });
});
beforeEach(async () => {
  work = await mkdtemp(join(tmpdir(), 'kapstan-start-'));
  dataDir = join(work, 'data');
  taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  takenPort = (taken.address() as AddressInfo).port;
});
afterEach(async () => {
  taken.close();
  await rm(work, { recursive: true });
});

const place = async (path: string, text: string): Promise<void> => {
  await mkdir(join(dataDir, path, '..'), { recursive: true });
  await writeFile(join(dataDir, path), text);
};
const etcd = { endpoints: ['https://127.0.0.1:1'], dialTimeoutMs: 300 };
const junk = Buffer.from('junk');
const junkBlock = '-----BEGIN CERTIFICATE-----\nanVuaw==\n-----END CERTIFICATE-----\n';

type Setting = () => Partial<ControlPlaneOptions> | Promise<Partial<ControlPlaneOptions>>;

describe('a control plane that cannot start', () => {
  it.each<[string, Setting, RegExp]>([
    ['the port is in use', () => ({ port: takenPort }), /^port: listen EADDRINUSE/],
    ['the port is none', () => ({ port: 99_999 }), /^port: /],
    ['the address is not ours', () => ({ bindAddress: '192.0.2.1' }), /^bindAddress: listen EADDRNOTAVAIL/],
    ['the data directory is a file', () => place('../data', 'x').then(() => ({})), /^dataDir: ENOTDIR/],
    [
      'the store is no store',
      () => place('store/data.mdb', 'x'.repeat(9000)).then(() => ({})),
      /^dataDir: cannot open the store in .*: it is not an LMDB data file/,
    ],
    [
      'the authority is broken',
      () => Promise.all([place('pki/ca.crt', 'x'), place('pki/ca.key', 'x')]).then(() => ({})),
      /^.*\/pki\/ca.crt: /,
    ],
    ['the signing key is broken', () => place('pki/sa.key', 'x').then(() => ({})), /^.*\/pki\/sa.key: /],
    ['no etcd answers', () => ({ etcd }), /^etcd: no connection to etcd within 300 ms: .*ECONNREFUSED/],
    ['an etcd has no address', () => ({ etcd: { endpoints: ['ftp://x'] } }), /^etcd: an etcd server's scheme must be/],
    ["etcd's authority is none", () => ({ etcd: { ...etcd, tls: { ca: junk } } }), /^etcd.tls.ca: it contains no cert/],
    [
      'the certificate for etcd is none',
      () => ({ etcd: { ...etcd, tls: { cert: junk, key: junk } } }),
      /^etcd.tls.cert: /,
    ],
    ['the serving certificate is none', () => ({ serving: { cert: 'x', key: 'x' } }), /^serving.cert: /],
    ['the authority of clients is none', () => ({ clientCa: 'junk' }), /^clientCa: it contains no certificate/],
    ['an authority of clients is broken', () => ({ clientCa: junkBlock }), /^clientCa: /],
    ['a key of tokens is none', () => ({ serviceAccounts: { signingKey: 'x' } }), /^serviceAccounts.signingKey: /],
    [
      'there is no key among those of tokens',
      () => ({ serviceAccounts: { verificationKeys: ['x'] } }),
      /^serviceAccounts.verificationKeys: data does not contain any valid RSA or ECDSA public keys/,
    ],
    ['a token has no user', () => ({ tokens: { text: 'a', fileName: 'f' } }), /^tokens: token file 'f' must have/],
    ['the range of services is none', () => ({ serviceClusterIpRange: 'x' }), /^serviceClusterIpRange: not an IPv4/],
    [
      'there is no such plug-in',
      () => ({ admission: { enabled: ['x'], disabled: [] } }),
      /^enable-admission-plugins plugin "x" is unknown/,
    ],
    ['there is no such loop', () => ({ controlLoops: ['x'] }), /^"x" is not in the list of known controllers/],
  ])('says so and leaves nothing open when %s', async (_why, setting, message) => {
    const options = { dataDir, ...(await setting()) };
    const leaks = new LeakCheck();
    await expect(startControlPlane(options)).rejects.toThrow(message);
    await leaks.assertNone();
  });

  it('leaves the data directory free for the next one', async () => {
    await expect(startControlPlane({ dataDir, port: takenPort })).rejects.toThrow(/EADDRINUSE/);
    const next = await startControlPlane({ dataDir });
    await next.close();
  });

  it('does not take a key for another certificate', async () => {
    await (await startControlPlane({ dataDir })).close();
    const pem = (name: string): Promise<string> => readFile(join(dataDir, 'pki', name), 'utf8');
    const serving = { cert: await pem('apiserver.crt'), key: await pem('admin.key') };
    await expect(startControlPlane({ dataDir, serving })).rejects.toThrow(
      'serving.key: the private key does not match the certificate',
    );
  });
});

describe('kapstan serve', () => {
  const serve = async (...flags: string[]): Promise<{ code: number; stderr: string }> => {
    let stderr = '';
    const write = catchOutput(process.stderr, (text) => {
      stderr += text;
    });
    try {
      return { code: await main(['serve', '--secure-port=0', `--data-dir=${dataDir}`, ...flags]), stderr };
    } finally {
      write.mockRestore();
    }
  };

  it.each<[string, () => string[], RegExp]>([
    ['the port is in use', () => [`--secure-port=${takenPort}`], /^kapstan: --secure-port: listen EADDRINUSE.*\n$/],
    [
      'the address is not ours',
      () => ['--bind-address=192.0.2.1'],
      /^kapstan: --bind-address: listen EADDRNOTAVAIL.*\n$/,
    ],
    ['a file is not there', () => ['--client-ca-file=/nowhere'], /^kapstan: --client-ca-file: ENOENT: .*\n$/],
    [
      'a file for etcd is not there',
      () => ['--etcd-servers=https://127.0.0.1:1', '--etcd-cafile=/nowhere'],
      /^kapstan: --etcd-cafile: ENOENT: .*\n$/,
    ],
    ['the range of services is none', () => ['--service-cluster-ip-range=x'], /^kapstan: --service-cluster-ip-range: /],
    ['its ready file cannot be written', () => ['--ready-file=/nowhere/f'], /^kapstan: --ready-file: ENOENT: .*\n$/],
    ['the kubeconfig cannot be written', () => ['--kubeconfig-out=/nowhere/f'], /kapstan: --kubeconfig-out: ENOENT: /],
  ])('ends with status 1, the name of the flag and no stack when %s', async (_why, flags, stderr) => {
    const leaks = new LeakCheck();
    const outcome = await serve('--control-loops=none', ...flags());
    expect(outcome.stderr).toMatch(stderr);
    expect(outcome.stderr).not.toContain('\n    at ');
    expect(outcome.code).toBe(1);
    await leaks.assertNone();
    // This includes files that it began to write.
    expect((await readdir(work)).filter((name) => name !== 'data')).toEqual([]);
  });

  it('takes the ready file of an earlier server away before anything else', async () => {
    const file = join(work, 'ready.json');
    await writeFile(file, '{}');
    expect((await serve(`--ready-file=${file}`, `--secure-port=${takenPort}`)).code).toBe(1);
    expect(await readdir(work)).not.toContain('ready.json');
  });

  it.each<[string[], string]>([
    [['--enable-admission-plugins=Foo'], 'enable-admission-plugins plugin "Foo" is unknown'],
    [['--feature-gates=A=true'], '--feature-gates unrecognized feature gate: A'],
  ])('ends with status 2 and one line for %s', async (flags, message) => {
    expect(await serve(...flags)).toEqual({ code: 2, stderr: `kapstan: ${message}\n` });
  });

  it('that is stopped before it starts opens nothing', async () => {
    const stop = listenForStop();
    process.emit('SIGINT', 'SIGINT');
    const code = await main(['serve', '--secure-port=0', `--data-dir=${dataDir}`], stop);
    expect([code, await readdir(work)]).toEqual([0, []]);
  });

  it('that is stopped while it starts closes what it opened and ends with status 0', async () => {
    const leaks = new LeakCheck();
    const stop = listenForStop();
    const ended = main(['serve', '--secure-port=0', `--data-dir=${dataDir}`, `--ready-file=${work}/r`], stop);
    await vi.waitFor(() => expect(existsSync(dataDir)).toBe(true), { interval: 1 });
    process.emit('SIGTERM', 'SIGTERM');
    expect([await ended, await readdir(work)]).toEqual([0, ['data']]);
    expect(process.listenerCount('SIGTERM')).toBe(0);
    await leaks.assertNone();
  });
});

describe('a control plane whose etcd does not answer', () => {
  it('says after two seconds what it waits for', async () => {
    const clock = new VirtualClock();
    const warnings: unknown[] = [];
    const logger = {
      ...silentLogger,
      warn: (message: string, fields?: object) => void warnings.push([message, fields]),
    };
    const options = { dataDir, etcd: { endpoints: ['http://127.0.0.1:1'] }, clock, logger };
    const failed = startControlPlane(options).catch((error: Error) => error.message);
    await vi.waitFor(() => expect(clock.pendingTimers).toBeGreaterThan(0));
    await clock.advance(1_999);
    const waiting = ['waiting for etcd', { servers: 'http://127.0.0.1:1' }];
    expect(warnings).not.toContainEqual(waiting);
    await clock.advance(1);
    expect(warnings).toContainEqual(waiting);
    // The reason follows as soon as it is known.
    const reason = expect.stringContaining('ECONNREFUSED');
    const refused = ['etcd cannot be reached', { endpoint: 'http://127.0.0.1:1', reason }];
    await vi.waitFor(() => expect(warnings).toContainEqual(refused));
    await clock.advance(60_000);
    expect(await failed).toMatch(/^etcd: no connection to etcd within 20000 ms: /);
    expect(await failed).not.toContain('Resolution note');
    expect(clock.pendingTimers).toBe(0);
  });
});
