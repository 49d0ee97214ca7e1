import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { pipeline } from 'node:stream';
import { delay, type Revision, silentLogger, systemClock } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import { isStorageError } from '@kapstan/storage';
import { WatchRecorder } from '@kapstan/storage/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Compactor } from './compactor.ts';
import { type EtcdEngine, type EtcdEngineOptions, openEtcdEngine } from './index.ts';
import {
  type EtcdProcess,
  type EtcdProcessOptions,
  findEtcd,
  howToInstall,
  startEtcd,
} from './testing/etcd-process.ts';

vi.setConfig({ testTimeout: 30_000, hookTimeout: 30_000 });

const binary = findEtcd();
beforeEach(({ skip }) => skip(binary === undefined, `no etcd: ${howToInstall}`));

const opened: { readonly engines: EtcdEngine[]; readonly members: EtcdProcess[] } = { engines: [], members: [] };

afterEach(async () => {
  await Promise.all(opened.engines.splice(0).map((engine) => engine.close()));
  await Promise.all(opened.members.splice(0).map((member) => member.remove()));
});

async function start(options: Partial<EtcdProcessOptions> = {}): Promise<readonly [EtcdProcess, ...EtcdProcess[]]> {
  const members = await startEtcd({ binary: binary ?? '', ...options });
  opened.members.push(...members);
  return members;
}

async function open(members: readonly EtcdProcess[], options: Partial<EtcdEngineOptions> = {}): Promise<EtcdEngine> {
  const endpoints = members.map((member) => member.endpoint);
  const engine = await openEtcdEngine({ endpoints, compactionIntervalMs: 0, ...options });
  opened.engines.push(engine);
  return engine;
}

const none = 0 as Revision;
const everything = { start: '/', end: '0' };
const put = (value: string | Uint8Array = 'v', lease = 0) =>
  ({ type: 'put', value: Buffer.from(value as string), lease }) as const;
/** Polls, at most a hundred times a second, until etcd or the engine is there. The test's timeout ends it. */
async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await delay(systemClock, 10);
}
/** The certificate that a member with the scheme https made for itself. It may be seen while it is being written. */
async function ownCertificate({ dataDir }: EtcdProcess): Promise<Buffer> {
  const file = join(dataDir, 'fixtures/client/cert.pem');
  const read = (): string => (existsSync(file) ? readFileSync(file, 'utf8') : '');
  await until(() => read().includes('END CERTIFICATE'));
  return Buffer.from(read());
}

const create = async (engine: EtcdEngine, key: string, value?: string | Uint8Array): Promise<Revision> => {
  const result = await engine.commit({ key, expectedRevision: none, change: put(value) });
  expect(result.succeeded).toBe(true);
  return result.revision;
};
const refusal = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'no error',
    (error: unknown) => error,
  );

describe('EtcdEngine when etcd fails', () => {
  it('goes on with its watches after a restart, without a gap and without a double', async () => {
    const [etcd] = await start();
    const engine = await open([etcd]);
    const first = await create(engine, '/a');
    const recorder = WatchRecorder.start(engine, everything, { after: (first - 1) as Revision });
    await recorder.received(1);
    await etcd.kill();
    etcd.start();
    // A commit on the broken connection may fail; a read waits for the new one.
    await engine.get('/a');
    const later = [await create(engine, '/b'), await create(engine, '/c')];
    await recorder.received(3);
    expect(recorder.revisions).toEqual([first, ...later]);
    recorder.verify();
    recorder.close();
  });

  it('reports a commit that was never sent as not applied', async () => {
    const [etcd] = await start();
    const engine = await open([etcd], { callTimeoutMs: 300 });
    await etcd.kill();
    await refusal(engine.get('/a'));
    const error = await refusal(engine.commit({ key: '/a', expectedRevision: none, change: put() }));
    expect(isStorageError(error, 'Unreachable') && error.maybeApplied).toBe(false);
    expect(String(error)).toContain('no connection to etcd within 300 ms');
  });

  it('reports a commit without an answer as maybe applied, and does not send it again', async () => {
    const [etcd] = await start();
    const engine = await open([etcd], { callTimeoutMs: 500 });
    const before = await engine.currentRevision();
    etcd.freeze();
    const error = await refusal(engine.commit({ key: '/a', expectedRevision: none, change: put() }));
    expect(isStorageError(error, 'Unreachable') && error.maybeApplied).toBe(true);
    etcd.thaw();
    const other = await open([etcd]);
    // etcd applies requests that it took before it was frozen ahead of this commit, including a commit that was sent
    // twice.
    const later = await create(other, '/b');
    expect(later).toBeLessThanOrEqual(before + 2);
  });

  it('goes on with another member when one dies, reading, writing and watching', async () => {
    const members = await start({ members: 3 });
    const engine = await open(members, { callTimeoutMs: 1_000 });
    const recorder = WatchRecorder.start(engine, everything, { after: none });
    const revisions = [await create(engine, '/k0')];
    for (const [index, member] of members.slice(0, 2).entries()) {
      await recorder.received(revisions.length);
      await member.kill();
      for (;;) {
        const result = await refusal(engine.commit({ key: `/k${index + 1}`, expectedRevision: none, change: put() }));
        const kv = (await engine.get(`/k${index + 1}`)).kv;
        if (kv !== undefined) {
          revisions.push(kv.modRevision);
          break;
        }
        // A cluster without a leader refuses commits for a moment.
        expect(isStorageError(result, 'Unreachable')).toBe(true);
      }
      await recorder.received(revisions.length);
      member.start();
      await engine.get('/k0');
    }
    expect(recorder.revisions).toEqual(revisions);
    recorder.verify();
    recorder.close();
  });

  it('does not open, and leaves nothing behind, when no member answers', async () => {
    const [etcd] = await start();
    await etcd.kill();
    const error = await refusal(openEtcdEngine({ endpoints: [etcd.endpoint], dialTimeoutMs: 500 }));
    expect(isStorageError(error, 'Unreachable') && error.message).toMatch(/within 500 ms.*ECONNREFUSED/);
  });

  it('opens as soon as etcd answers, when that is started later', async () => {
    const [etcd] = await start();
    await etcd.kill();
    const inItsPlace = createServer().listen(Number(new URL(etcd.endpoint).port), '127.0.0.1');
    const tried = once(inItsPlace, 'connection') as Promise<[Socket]>;
    const opening = open([etcd]);
    const [socket] = await tried;
    socket.destroy();
    await new Promise((resolve) => inItsPlace.close(resolve));
    etcd.start();
    expect(await (await opening).currentRevision()).toBeGreaterThan(0);
  });

  it('goes on with another member when one hangs', async () => {
    const members = await start({ members: 3 });
    const engine = await open(members, { callTimeoutMs: 2_000 });
    await create(engine, '/a');
    members[0].freeze();
    // The first read waits in vain; later ones skip this member.
    await refusal(engine.get('/a'));
    expect((await engine.get('/a')).kv?.key).toBe('/a');
    members[0].thaw();
  });

  it('reports the health of etcd, and asks at most once in half the timeout', async () => {
    const clock = new VirtualClock();
    const [etcd] = await start();
    const engine = await open([etcd], { clock });
    await engine.checkHealth();
    await etcd.kill();
    await engine.checkHealth();
    await clock.advance(1_000);
    const error = refusal(engine.checkHealth());
    for (let round = 0; round < 5; round += 1) await clock.advance(1_000);
    expect(isStorageError(await error, 'Unreachable')).toBe(true);
    await engine.close();
    expect(String(await refusal(engine.checkHealth()))).toContain('server is shutting down');
    expect(clock.pendingTimers).toBe(0);
  });

  it('reports readiness by a check of its own, with its own timeout', async () => {
    const clock = new VirtualClock();
    const [etcd] = await start();
    const engine = await open([etcd], { clock, healthTimeoutMs: 5_000, readinessTimeoutMs: 1_000 });
    await engine.checkReadiness();
    await etcd.kill();
    await clock.advance(500);
    const told: string[] = [];
    const ready = refusal(engine.checkReadiness()).then((error) => told.push(`readiness: ${error}`));
    const healthy = refusal(engine.checkHealth()).then((error) => told.push(`health: ${error}`));
    await clock.advance(1_000);
    await ready;
    expect(told).toEqual([expect.stringMatching(/^readiness: .*within 1000 ms/)]);
    for (let round = 0; round < 8; round += 1) await clock.advance(500);
    await healthy;
    expect(told[1]).toMatch(/^health: .*within 5000 ms/);
    await engine.close();
    expect(String(await refusal(engine.checkReadiness()))).toContain('server is shutting down');
  });
});

describe('EtcdEngine and large answers', () => {
  it('reads a range of many messages at one revision, whatever the sizes of its values', async () => {
    const [etcd] = await start();
    const engine = await open([etcd]);
    const sizes = [10, 1_400_000, 1_400_000, 1_400_000, 1_400_000, 10, 1_400_000, 200_000];
    for (const [index, size] of sizes.entries()) await create(engine, `/k${index}`, Buffer.alloc(size, index));
    const { kvs, more, count } = await engine.range(everything);
    expect([kvs.map((kv) => kv.value.length), more, count]).toEqual([sizes, false, 8]);
    const limited = await engine.range(everything, { limit: 5 });
    expect([limited.kvs.length, limited.more, limited.count]).toEqual([5, true, 8]);
  });

  it('says TooLarge when one value is larger than an answer may be', async () => {
    const [etcd] = await start();
    const engine = await open([etcd], { maxMessageBytes: 100_000 });
    await create(engine, '/a', Buffer.alloc(200_000));
    for (const read of [() => engine.get('/a'), () => engine.range(everything)]) {
      expect(isStorageError(await refusal(read()), 'TooLarge')).toBe(true);
    }
  });

  it('says TooLarge for a value that etcd refuses, and for one that is not even sent', async () => {
    const [etcd] = await start();
    const engine = await open([etcd]);
    for (const size of [1_600_000, 3_000_000]) {
      const change = put(Buffer.alloc(size));
      const error = await refusal(engine.commit({ key: '/a', expectedRevision: none, change }));
      expect(isStorageError(error, 'TooLarge') && error.maybeApplied).toBe(false);
    }
  });

  it('watches values of the largest size, with what they were before', async () => {
    const [etcd] = await start();
    const engine = await open([etcd]);
    const after = await engine.currentRevision();
    const recorder = WatchRecorder.start(engine, everything, { after });
    let revision = await create(engine, '/a', Buffer.alloc(1_400_000, 1));
    for (let round = 2; round < 5; round += 1) {
      const change = put(Buffer.alloc(1_400_000, round));
      ({ revision } = await engine.commit({ key: '/a', expectedRevision: revision, change }));
    }
    await recorder.received(4);
    expect(recorder.events.map(({ kv, previous }) => [kv?.value[0], previous?.value[0]])).toEqual([
      [1, undefined],
      [2, 1],
      [3, 2],
      [4, 3],
    ]);
    const replay = WatchRecorder.start(engine, everything, { after });
    await replay.received(4);
    expect(replay.revisions).toEqual(recorder.revisions);
    for (const each of [recorder, replay]) each.close();
  });
});

describe('EtcdEngine and strangers', () => {
  it('speaks TLS, and only to servers of the given authority', async () => {
    const [etcd] = await start({ scheme: 'https' });
    const ca = await ownCertificate(etcd);
    const engine = await open([etcd], { tls: { ca } });
    await create(engine, '/a');
    const recorder = WatchRecorder.start(engine, everything, { after: none });
    await recorder.received(1);
    recorder.close();
    const error = await refusal(open([etcd], { dialTimeoutMs: 500 }));
    expect(isStorageError(error, 'Unreachable') && error.message).toMatch(/within 500 ms.*certificate/);
  });

  it('checks that the certificate is for the IP address that it was given', async () => {
    const [etcd] = await start({ scheme: 'https' });
    const ca = await ownCertificate(etcd);
    const proxy = createServer((socket) => {
      const onward = connect(Number(new URL(etcd.endpoint).port), '127.0.0.1');
      pipeline(socket, onward, socket, () => undefined);
    });
    proxy.listen(0, '127.0.0.2');
    await once(proxy, 'listening');
    const { port } = proxy.address() as AddressInfo;
    const options = { tls: { ca }, dialTimeoutMs: 1_000 };
    const error = await refusal(openEtcdEngine({ endpoints: [`https://127.0.0.2:${port}`], ...options }));
    expect(String(error)).toMatch(/127\.0\.0\.2 is not in the cert's list/);
    proxy.close();
  });

  it('logs in with name and password, and again when etcd forgot the token', async () => {
    const [etcd] = await start({ flags: ['--auth-token-ttl=1'] });
    const admin = await open([etcd]);
    await create(admin, '/a');
    const call = (path: string, body: object): Promise<Response> =>
      fetch(`${etcd.endpoint}/v3/auth/${path}`, { method: 'POST', body: JSON.stringify(body) });
    await call('user/add', { name: 'root', password: 'secret' });
    await call('role/add', { name: 'root' });
    await call('user/grant', { user: 'root', role: 'root' });
    await call('enable', {});
    const user = { name: 'root', password: 'secret' };
    const engine = await open([etcd], { user });
    await create(engine, '/b');
    const stranger = await refusal(admin.get('/a'));
    expect(isStorageError(stranger, 'Unreachable') && stranger.message).toContain('etcdserver: user name is empty');
    const wrong = await refusal(open([etcd], { user: { ...user, password: 'guess' } }));
    expect(String(wrong)).toContain('authentication failed');
    // etcd keeps tokens in memory, so a restart forgets them.
    await etcd.kill();
    etcd.start();
    await engine.get('/a');
    const last = await create(engine, '/c');
    const recorder = WatchRecorder.start(engine, everything, { after: none });
    await recorder.received(3);
    expect(recorder.revisions.at(-1)).toBe(last);
    recorder.close();
  });

  it.each(['team-a/cluster', '/team-a//cluster/'])(
    'needs no key beside its prefix %j to open and to be healthy',
    async (prefix) => {
      const [etcd] = await start();
      const call = async (path: string, body: object): Promise<void> => {
        await fetch(`${etcd.endpoint}/v3/auth/${path}`, { method: 'POST', body: JSON.stringify(body) });
      };
      const encoded = (text: string): string => Buffer.from(text).toString('base64');
      const begin = '/team-a/cluster/';
      await open([etcd]);
      for (const name of ['root', 'tenant']) {
        await call('user/add', { name, password: 'secret' });
        await call('role/add', { name });
        await call('user/grant', { user: name, role: name });
      }
      const perm = { permType: 'READWRITE', key: encoded(begin), rangeEnd: encoded('/team-a/cluster0') };
      await call('role/grant', { name: 'tenant', perm });
      await call('enable', {});
      const engine = await open([etcd], { prefix, user: { name: 'tenant', password: 'secret' } });
      await engine.checkHealth();
      const created = await create(engine, `${begin}pods/a`);
      expect(await engine.currentRevision()).toBe(created);
      const beside = await refusal(engine.get('/registry/pods/a'));
      expect(String(beside)).toContain('permission denied');
    },
  );

  it('reads what others wrote: keys of any bytes and leases of any number', async () => {
    const [etcd] = await start();
    const engine = await open([etcd]);
    const call = (path: string, body: object): Promise<Response> =>
      fetch(`${etcd.endpoint}/v3/${path}`, { method: 'POST', body: JSON.stringify(body) });
    await call('lease/grant', { ID: '8000000000000000001', TTL: '600' });
    await call('kv/put', { key: Buffer.from('/a').toString('base64'), value: 'dg==', lease: '8000000000000000001' });
    await call('kv/put', { key: Buffer.from([0x2f, 0xff]).toString('base64'), value: 'dg==' });
    const { kvs } = await engine.range({ start: '/', end: '/\u{10ffff}\0' });
    expect(kvs.map((kv) => [kv.key, kv.lease !== 0])).toEqual([['/a', true]]);
    expect(await engine.count(everything)).toBe(2);
  });
});

describe('EtcdEngine and its leases', () => {
  it('grants a new lease each time, for whole seconds only', async () => {
    const [etcd] = await start();
    const engine = await open([etcd]);
    expect(await engine.grantLease(1_000)).not.toBe(await engine.grantLease(1_000));
    for (const ttl of [0, 1.5]) await expect(engine.grantLease(ttl)).rejects.toThrow(TypeError);
  });

  it('refuses a put with a lease that etcd does not know', async () => {
    const [etcd] = await start();
    const engine = await open([etcd]);
    const lease = await engine.grantLease(1_000);
    await fetch(`${etcd.endpoint}/v3/lease/revoke`, { method: 'POST', body: JSON.stringify({ ID: String(lease) }) });
    const bound = engine.commit({ key: '/a', expectedRevision: none, change: put('v', lease) });
    const error = await refusal(bound);
    expect(isStorageError(error, 'InvalidObject') && error.message).toContain('requested lease not found');
  });
});

describe('EtcdEngine and compaction', () => {
  const onCompacted = (): void => undefined;

  it('compacts to the revision of one round ago, never in the first round', async () => {
    const clock = new VirtualClock();
    const [etcd] = await start();
    const engine = await open([etcd], { clock, compactionIntervalMs: 60_000 });
    const round = async (): Promise<void> => {
      const before = await engine.currentRevision();
      await clock.advance(60_000);
      await until(async () => (await engine.currentRevision()) !== before);
    };
    await round();
    const first = await engine.currentRevision();
    expect(engine.compactRevision()).toBe(0);
    await create(engine, '/a');
    await round();
    await until(() => engine.compactRevision() === first);
    const { kv } = await engine.get('compact_rev_key');
    expect(Buffer.from(kv?.value ?? []).toString()).toBe(String(first));
    const gone = async (): Promise<unknown> => refusal(engine.get('/a', { revision: (first - 1) as Revision }));
    await until(async () => isStorageError(await gone(), 'Compacted'));
  });

  it('leaves a round to another server, and learns what that one compacted', async () => {
    const [etcd] = await start();
    const engine = await open([etcd]);
    const other = await open([etcd], { clock: new VirtualClock(), compactionIntervalMs: 60_000 });
    const [first, second] = [engine, other].map(
      (each) => new Compactor({ engine: each, clock: systemClock, logger: silentLogger, intervalMs: 0, onCompacted }),
    ) as [Compactor, Compactor];
    await first.round();
    const compacted = await engine.currentRevision();
    await first.round();
    await until(() => other.compactRevision() === compacted);
    const after = await engine.currentRevision();
    await second.round();
    expect(await engine.currentRevision()).toBe(after);
  });

  it('finds out at its start what was compacted before', async () => {
    const [etcd] = await start();
    const engine = await open([etcd]);
    const revision = await create(engine, '/a');
    await engine.compact(revision);
    expect((await open([etcd])).compactRevision()).toBe(revision);
  });
});
