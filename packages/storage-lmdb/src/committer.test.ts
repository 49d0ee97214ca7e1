// Callers that share a transaction: a failure stays with its caller, and nobody waits forever.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Revision } from '@kapstan/api';
import { type EngineEvent, StorageError } from '@kapstan/storage';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Committer } from './committer.ts';
import { Environment } from './environment.ts';
import { encodeNumber } from './row-codec.ts';
import { readCurrent } from './version-reader.ts';

let dataDir: string;
let env: Environment;
let committer: Committer;
let events: EngineEvent[];
let failures: unknown[];

beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'kapstan-committer-'));
  env = new Environment({ dataDir });
  await env.checkFormat(dataDir);
  events = [];
  failures = [];
  committer = new Committer({
    env,
    dataDir,
    quotaBytes: 2 ** 30,
    hasLease: (lease) => lease === 1,
    feed: { deliver: (durable) => events.push(...durable) },
    onFatal: (error) => failures.push(error),
  });
});

afterEach(async () => {
  expect(failures).toEqual([]);
  await env.close();
  rmSync(dataDir, { recursive: true });
});

const put = (key: string, { after = 0, lease = 0 } = {}) =>
  committer.commit({
    key,
    expectedRevision: after as Revision,
    change: { type: 'put', value: Buffer.from(key), lease },
  });

const leaseRows = (): number[] => [...env.leases.getKeys()].map((key) => key.readUInt8(7));
const row = Buffer.alloc(16);

describe('a transaction of several callers', () => {
  it('leaves out the commit whose caller has gone since', async () => {
    const stop = new AbortController();
    const change = { type: 'put', value: Buffer.from('x') } as const;
    const gone = committer.commit({ key: '/gone', expectedRevision: 0 as Revision, change, signal: stop.signal });
    const beside = put('/beside');
    stop.abort(new Error('the client is gone'));
    await expect(gone).rejects.toThrow('the client is gone');
    expect(await beside).toEqual({ succeeded: true, revision: 2 });
    expect(readCurrent(env, '/gone')).toBeUndefined();
  });

  it('leaves out all of a change that throws half-way, and only its caller fails', async () => {
    const before = put('/before');
    const failing = committer.write((batch) => {
      batch.writes.put(env.leases, encodeNumber(7), row);
      batch.commit({ key: '/half', expectedRevision: 0 as Revision, change: { type: 'put', value: Buffer.from('h') } });
      batch.commit({ key: '/before', expectedRevision: 2 as Revision, change: { type: 'delete' } });
      throw new Error('half-way');
    });
    const beside = committer.write((batch) => batch.writes.put(env.leases, encodeNumber(8), row));
    const after = put('/before', { after: 2 });
    await expect(failing).rejects.toThrow('half-way');
    expect(await before).toEqual({ succeeded: true, revision: 2 });
    expect(await after).toMatchObject({ succeeded: true, revision: 3, previous: { modRevision: 2 } });
    await beside;
    expect(committer.transactions).toBe(1);
    expect(leaseRows()).toEqual([8]);
    expect(readCurrent(env, '/half')).toBeUndefined();
    expect(events.map((event) => [event.type, event.key, event.revision])).toEqual([
      ['put', '/before', 2],
      ['put', '/before', 3],
    ]);
    expect(env.snapshotRevision()).toBe(3);
  });

  it('writes nothing at all when every change of it throws', async () => {
    const failing = committer.write((batch) => {
      batch.writes.put(env.leases, encodeNumber(7), row);
      throw new Error('half-way');
    });
    await expect(failing).rejects.toThrow('half-way');
    expect([committer.transactions, committer.revision, leaseRows()]).toEqual([0, 1, []]);
  });

  it('refuses a key that LMDB would refuse before LMDB has half of the changes', async () => {
    const failing = committer.write((batch) => {
      batch.writes.put(env.leases, encodeNumber(7), row);
      batch.writes.put(env.leases, Buffer.alloc(1_979), row);
    });
    await expect(failing).rejects.toThrow('does not fit');
    await put('/a');
    expect(leaseRows()).toEqual([]);
  });

  it('gives the neighbours of a refused commit revisions without a hole', async () => {
    const [first, conflicting, unleased, last] = await Promise.allSettled([
      put('/a'),
      put('/a'),
      put('/b', { lease: 5 }),
      put('/c', { lease: 1 }),
    ]);
    expect(first).toMatchObject({ value: { succeeded: true, revision: 2 } });
    expect(conflicting).toMatchObject({ value: { succeeded: false, current: { modRevision: 2 } } });
    expect(unleased).toMatchObject({ reason: { code: 'InvalidObject' } });
    expect(last).toMatchObject({ value: { succeeded: true, revision: 3 } });
    expect(committer.transactions).toBe(1);
  });
});

describe('exclusive work', () => {
  /** Commits one after the other until stopped; returns the number of commits. */
  function steadyStream(name: string): { stop(): Promise<number> } {
    let isStopped = false;
    const run = async (): Promise<number> => {
      let count = 0;
      for (; !isStopped; count += 1) await put(`/${name}/${count}`);
      return count;
    };
    const running = run();
    return {
      stop: () => {
        isStopped = true;
        return running;
      },
    };
  }

  it('gets its turn after the transaction that is on its way, however many commits keep coming', async () => {
    const streams = ['a', 'b', 'c'].map(steadyStream);
    while (committer.transactions < 3) await new Promise((resolve) => setImmediate(resolve));
    const before = committer.transactions;
    const at = await committer.exclusive(async () => committer.transactions);
    expect(at - before).toBeLessThanOrEqual(1);
    await Promise.all(streams.map((stream) => stream.stop()));
  });

  it('lets a transaction through between any two pieces of it', async () => {
    const work = (name: string) =>
      committer.exclusive(async () => {
        void put(`/during ${name}`);
        return committer.revision;
      });
    expect(await Promise.all(['one', 'two', 'three'].map(work))).toEqual([1, 2, 3]);
    await committer.drain();
  });

  it('fails alone when it throws, and what waited goes on', async () => {
    const failing = committer.exclusive(() => Promise.reject(new Error('no')));
    const waiting = put('/a');
    await expect(failing).rejects.toThrow('no');
    expect((await waiting).succeeded).toBe(true);
  });

  it('is refused once the committer is closed, which waits for what was accepted', async () => {
    let isDone = false;
    const accepted = committer.exclusive(async () => {
      await new Promise((resolve) => setImmediate(resolve));
      isDone = true;
    });
    const refusal = new StorageError({ code: 'Closed', message: 'shut' });
    const closing = committer.close(refusal);
    await expect(committer.exclusive(async () => undefined)).rejects.toThrow('shut');
    await closing;
    expect(isDone).toBe(true);
    await accepted;
  });
});
