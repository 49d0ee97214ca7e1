// Behaviour that shows only in single parts: revisions that are durable but not announced yet, and damage.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Revision, systemClock } from '@kapstan/api';
import { type EngineEvent, isStorageError } from '@kapstan/storage';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkStore } from './check.ts';
import { Committer } from './committer.ts';
import { Environment, type Table, WriteSet } from './environment.ts';
import { openLmdbEngine } from './index.ts';
import { RangeReader } from './range-reader.ts';
import { encodeCurrent, encodeIndexKey, encodeIndexValue, encodeKey, encodeNumber } from './row-codec.ts';
import { TurnQueue } from './turn-queue.ts';

const revisionOf = (value: number): Revision => value as Revision;
const everything = { start: '/', end: '0' };
let dataDir: string;
let env: Environment;

beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'kapstan-env-'));
  env = new Environment({ dataDir });
  await env.checkFormat(dataDir);
});
afterEach(async () => {
  await env.close();
  rmSync(dataDir, { recursive: true });
});

function newCommitter(
  deliver: (events: readonly EngineEvent[], revision: Revision) => void = () => undefined,
): Committer {
  const onFatal = (error: unknown): never => {
    throw error;
  };
  const feed = { deliver };
  return new Committer({ env, dataDir, quotaBytes: 2 ** 30, hasLease: (lease) => lease === 1, feed, onFatal });
}

const put = (committer: Committer, key: string, after = 0, lease = 0) =>
  committer.commit({
    key,
    expectedRevision: revisionOf(after),
    change: { type: 'put', value: Buffer.from(`${key}${after}`), lease },
  });

describe('visibility', () => {
  it('reads at the announced revision while the tables are further on', async () => {
    const committer = newCommitter();
    for (const key of ['/a', '/b', '/c']) await put(committer, key);
    const announced = committer.revision;
    await Promise.all([
      put(committer, '/a', 2),
      put(committer, '/d'),
      committer.commit({ key: '/c', expectedRevision: revisionOf(4), change: { type: 'delete' } }),
    ]);
    const reader = new RangeReader({
      env,
      turns: new TurnQueue(),
      clock: systemClock,
      revision: () => announced,
      compactRevision: () => revisionOf(0),
    });
    expect(env.snapshotRevision()).toBe(announced + 3);
    expect((await reader.range(everything, {})).kvs.map((kv) => [kv.key, kv.modRevision])).toEqual([
      ['/a', 2],
      ['/b', 3],
      ['/c', 4],
    ]);
    expect(await reader.count(everything)).toBe(3);
    expect(reader.get('/d', {})).toEqual({ revision: announced });
    expect(reader.get('/a', {}).kv?.modRevision).toBe(2);
    expect(() => reader.get('/a', { revision: revisionOf(announced + 1) })).toThrow('revision is in the future');
  });

  it('announces revisions in order, once, after they are in the tables and before their commits resolve', async () => {
    const log: string[] = [];
    const committer = newCommitter((events, revision) => {
      expect(env.snapshotRevision()).toBe(revision);
      expect(committer.revision).toBe(revision);
      log.push(...events.map((event) => `event ${event.revision}`));
    });
    const write = async (key: string): Promise<void> => {
      const { revision } = await put(committer, key);
      log.push(`resolved ${revision}`);
    };
    await Promise.all([write('/a'), write('/b')]);
    await write('/c');
    expect(log).toEqual(['event 2', 'event 3', 'resolved 2', 'resolved 3', 'event 4', 'resolved 4']);
  });

  it('holds commits back during exclusive work', async () => {
    const committer = newCommitter();
    let isWorking = true;
    const work = committer.exclusive(async () => {
      for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      expect(committer.revision).toBe(1);
      isWorking = false;
    });
    await put(committer, '/a');
    expect(isWorking).toBe(false);
    await work;
  });
});

describe('a read in slices', () => {
  it('fails with Compacted when its revision is compacted between two of them', async () => {
    const committer = newCommitter();
    await Promise.all(Array.from({ length: 1_000 }, (_, at) => put(committer, `/k${at}`)));
    let compacted = revisionOf(0);
    const reader = new RangeReader({
      env,
      turns: new TurnQueue(),
      clock: systemClock,
      revision: () => committer.revision,
      compactRevision: () => compacted,
    });
    const past = reader.range(everything, { revision: revisionOf(1_000) });
    const present = reader.range(everything, {});
    compacted = committer.revision;
    await expect(past).rejects.toSatisfy((error) => isStorageError(error, 'Compacted'));
    expect((await present).kvs).toHaveLength(1_000);
  });
});

describe('check', () => {
  async function damage(change: (writes: WriteSet) => void): Promise<readonly string[]> {
    const committer = newCommitter();
    await put(committer, '/a');
    await put(committer, '/a', 2);
    await put(committer, '/b', 0, 1);
    await committer.write((batch) => batch.writes.put(env.leases, encodeNumber(1), Buffer.alloc(16)));
    const { problems } = await checkStore(env, new TurnQueue());
    expect(problems).toEqual([]);
    const writes = new WriteSet();
    change(writes);
    await env.write(writes);
    return (await checkStore(env, new TurnQueue())).problems;
  }
  const current = (modRevision: number, lease = 0): Buffer =>
    encodeCurrent({ modRevision: revisionOf(modRevision), createRevision: revisionOf(2), lease });

  it.each<[string, (writes: WriteSet, tables: Record<'log' | 'index' | 'current' | 'leases', Table>) => void, RegExp]>([
    [
      'a version without its row in the log',
      (writes, { log }) => writes.remove(log, encodeNumber(3)),
      /^\/a at 3 is in the index but not in the log/,
    ],
    [
      'a row of the log without its index entry',
      (writes, { index }) => writes.remove(index, encodeIndexKey('/a', 3)),
      /the index has 2 versions, the log 3/,
    ],
    [
      'a current entry of an old version',
      (writes, { current: table }) => writes.put(table, encodeKey('/a'), current(2)),
      /^\/a: the current entry is not its version at 3/,
    ],
    [
      'a key that is missing',
      (writes, { current: table }) => writes.remove(table, encodeKey('/a')),
      /^\/a lives at 3 but is not current/,
    ],
    [
      'a key out of nowhere',
      (writes, { current: table }) => writes.put(table, encodeKey('/x'), current(2)),
      /2 live keys, the table of current keys 3/,
    ],
    [
      'a kind that differs',
      (writes, { index }) => writes.put(index, encodeIndexKey('/a', 3), encodeIndexValue('delete')),
      /index and log disagree on put or delete/,
    ],
    [
      'a binding that is missing',
      (writes, { leases }) => writes.remove(leases, Buffer.concat([encodeNumber(1), Buffer.from('/b')])),
      /^\/b has lease 1 but is not bound to it/,
    ],
    [
      'a lease that is missing',
      (writes, { leases }) => writes.remove(leases, encodeNumber(1)),
      /^\/b is bound to lease 1, which does not exist/,
    ],
    ['a revision above the last one', (writes) => env.putMeta(writes, 'revision', 3), /above the last/],
    [
      'a history that compaction forgot',
      (writes) => {
        env.putMeta(writes, 'compactRevision', 3);
        env.putMeta(writes, 'compactedThrough', 3);
      },
      /^\/a at 3 has an older version that compaction should have dropped/,
    ],
  ])('finds %s', async (_, change, problem) => {
    const problems = await damage((writes) => change(writes, env));
    expect(
      problems.some((found) => problem.test(found)),
      problems.join('\n'),
    ).toBe(true);
  });
});

describe('a store of a former process', () => {
  it('drops on opening the rows that an interrupted compaction left', async () => {
    const other = join(dataDir, 'other');
    mkdirSync(other);
    const first = await openLmdbEngine({ dataDir: other });
    const commit = (after: number, type: 'put' | 'delete') =>
      first.commit({
        key: '/a',
        expectedRevision: revisionOf(after),
        change: type === 'put' ? { type, value: Buffer.from('v') } : { type },
      });
    await commit(0, 'put');
    await commit(2, 'put');
    await commit(3, 'delete');
    await commit(0, 'put');
    await first.close();
    const cut = new Environment({ dataDir: other });
    const writes = new WriteSet();
    cut.putMeta(writes, 'compactRevision', 4);
    await cut.write(writes);
    await cut.close();
    const second = await openLmdbEngine({ dataDir: other });
    expect(second.compactRevision()).toBe(4);
    for (let turn = 0; turn < 5_000 && (await second.stats()).versions > 1; turn += 1) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await second.check()).toMatchObject({ problems: [], keys: 1, versions: 1 });
    await second.close();
  });
});
