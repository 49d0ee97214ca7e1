// The rules of the Engine port as tests. Every engine must pass them; a test file next to each engine runs them.
import { nextTurn } from '@kapstan/api/internal';
import { describe, expect, it } from 'vitest';
import { isStorageError } from '../errors/storage-error.ts';
import { commitConformance } from './engine-conformance-commits.ts';
import { watchConformance } from './engine-conformance-watch.ts';
import { bytes, EngineBench, everything, numbered, type OpenEngine, revisionOf, textOf } from './engine-fixture.ts';

/** Registers the suite under this name. `open` gives each test a separate empty engine. */
export function engineConformance(name: string, open: OpenEngine): void {
  describe(`${name} as an Engine`, () => {
    const bench = new EngineBench(open);
    describe('commits', () => commitConformance(bench));
    describe('reads', () => readConformance(bench));
    describe('compaction', () => compactionConformance(bench));
    describe('leases', () => leaseConformance(bench));
    describe('watches', () => watchConformance(bench));
    describe('its life', () => lifeConformance(bench));
  });
}

function readConformance(bench: EngineBench): void {
  it('reads a key and a range as they were at each past revision', async () => {
    const r1 = await bench.create('/a', 'a1');
    const r2 = await bench.create('/b', 'b1');
    const r3 = await bench.update('/a', r1, 'a2');
    const r4 = await bench.remove('/b', r2);
    const r5 = await bench.create('/b', 'b2');
    const states: [number, Record<string, string>][] = [
      [r1, { '/a': 'a1' }],
      [r2, { '/a': 'a1', '/b': 'b1' }],
      [r3, { '/a': 'a2', '/b': 'b1' }],
      [r4, { '/a': 'a2' }],
      [r5, { '/a': 'a2', '/b': 'b2' }],
    ];
    for (const [at, state] of states) {
      const { kvs, count, revision } = await bench.engine.range(everything, { revision: revisionOf(at) });
      expect(Object.fromEntries(kvs.map((kv) => [kv.key, textOf(kv)]))).toEqual(state);
      expect([count, revision]).toEqual([kvs.length, r5]);
      for (const key of ['/a', '/b']) {
        const read = await bench.engine.get(key, { revision: revisionOf(at) });
        expect([textOf(read.kv), read.revision]).toEqual([state[key], r5]);
      }
    }
    const old = await bench.engine.get('/a', { revision: r2 });
    expect(old.kv).toMatchObject({ createRevision: r1, modRevision: r1 });
  });

  it('sorts keys by their UTF-8 bytes, includes the start and excludes the end', async () => {
    const keys = ['/a', '/a\0', '/a/b', '/a0', '/aa', '/b', '/é', '/\uffee', '/\u{1f600}'];
    for (const key of [...keys].reverse()) await bench.create(key);
    expect(await bench.keys()).toEqual(keys);
    expect(await bench.keys({ start: '/a', end: '/a\0' })).toEqual(['/a']);
    expect(await bench.keys({ start: '/a\0', end: '/b' })).toEqual(['/a\0', '/a/b', '/a0', '/aa']);
    expect(await bench.keys({ start: '/\uffee', end: '0' })).toEqual(['/\uffee', '/\u{1f600}']);
    const past = await bench.engine.currentRevision();
    await bench.create('/c');
    expect(await bench.keys(everything, past)).toEqual(keys);
  });

  it.each([
    { start: '/b', end: '/b' },
    { start: '/c', end: '/a' },
  ])('finds nothing from $start to $end', async (range) => {
    await bench.create('/b');
    expect(await bench.engine.range(range)).toMatchObject({ kvs: [], count: 0, more: false });
    expect(await bench.engine.count(range)).toBe(0);
  });

  it.each(['now', 'in the past'])(
    'cuts a range at the limit, says that there is more and counts all (%s)',
    async (when) => {
      await bench.createMany(5);
      const at = await bench.engine.currentRevision();
      if (when === 'in the past') await bench.create(numbered(99));
      const revision = when === 'in the past' ? at : revisionOf(0);
      const first = await bench.engine.range(everything, { limit: 2, revision });
      expect(first.kvs.map((kv) => kv.key)).toEqual([numbered(0), numbered(1)]);
      expect([first.more, first.count]).toEqual([true, 5]);
      const start = `${first.kvs[1]?.key}\0`;
      const rest = await bench.engine.range({ start, end: '0' }, { limit: 3, revision });
      expect(rest.kvs.map((kv) => kv.key)).toEqual([numbered(2), numbered(3), numbered(4)]);
      expect([rest.more, rest.count]).toEqual([false, 3]);
    },
  );

  it('counts the keys of a range', async () => {
    await bench.createMany(7);
    await bench.create('/other');
    expect(await bench.engine.count({ start: '/k', end: '/l' })).toBe(7);
  });

  it('reads thousands of keys at one revision while others write', async () => {
    await bench.createMany(3_000, 'before');
    const reading = bench.engine.range({ start: '/k', end: '/l' });
    const again: Promise<unknown>[] = [];
    for (let index = 0; index < 3_000; index += 100) {
      const { kv } = await bench.engine.get(numbered(index));
      again.push(bench.update(numbered(index), kv?.modRevision ?? 0, 'after'));
    }
    const [result] = await Promise.all([reading, ...again]);
    expect(result.count).toBe(3_000);
    expect(result.kvs.every((kv) => kv.modRevision <= result.revision)).toBe(true);
    const replayed = await bench.engine.range({ start: '/k', end: '/l' }, { revision: result.revision });
    expect(replayed.kvs.map((kv) => kv.modRevision)).toEqual(result.kvs.map((kv) => kv.modRevision));
  });

  it('sees every commit that was acknowledged before the read began', async () => {
    for (let index = 0; index < 20; index += 1) {
      const revision = await bench.create(numbered(index));
      expect((await bench.engine.get(numbered(index))).kv?.modRevision).toBe(revision);
      expect(await bench.engine.count(everything)).toBe(index + 1);
      expect(await bench.engine.currentRevision()).toBeGreaterThanOrEqual(revision);
    }
  });

  it('knows at once which revision of a key is the newest, if it says so at all', async (context) => {
    const { engine } = bench;
    if (engine.isNewest === undefined) return context.skip('this engine has to be asked');
    let revision = await bench.create('/a');
    const other = await bench.create('/b');
    for (let index = 0; index < 20; index += 1) {
      expect([engine.isNewest('/a', revision), engine.isNewest('/a', other), engine.isNewest('/c', other)]).toEqual([
        true,
        false,
        false,
      ]);
      const change = { type: 'put', value: bytes(`${index}`) } as const;
      const next = await bench.commit({ key: '/a', expectedRevision: revision, change });
      expect([engine.isNewest('/a', revision), engine.isNewest('/a', next.revision)]).toEqual([false, true]);
      revision = next.revision;
    }
    const deleted = await bench.commit({ key: '/a', expectedRevision: revision, change: { type: 'delete' } });
    expect([engine.isNewest('/a', revision), engine.isNewest('/a', deleted.revision)]).toEqual([false, false]);
  });

  it('shows nobody a key that is newer than the revision it answers with', async () => {
    let isWriting = true;
    const writing = bench.createMany(2_000).finally(() => {
      isWriting = false;
    });
    while (isWriting) {
      const { kvs, revision } = await bench.engine.range(everything, { limit: 5 });
      expect(Math.max(0, ...kvs.map((kv) => kv.modRevision))).toBeLessThanOrEqual(revision);
      expect(await bench.engine.currentRevision()).toBeGreaterThanOrEqual(revision);
      // An engine may answer reads within one turn; the writers need the event loop.
      await nextTurn();
    }
    await writing;
  });

  it('refuses a revision that does not exist yet and names the newest one', async () => {
    const current = await bench.create('/a');
    const revision = revisionOf(current + 1);
    for (const read of [
      () => bench.engine.get('/a', { revision }),
      () => bench.engine.range(everything, { revision }),
    ]) {
      const refused = expect(read()).rejects;
      await refused.toSatisfy((error) => isStorageError(error, 'FutureRevision') && error.revision === current);
    }
  });

  it('rejects with the reason of a signal that is aborted', async () => {
    const signal = AbortSignal.abort(new Error('no longer wanted'));
    await expect(bench.engine.get('/a', { signal })).rejects.toThrow('no longer wanted');
    await expect(bench.engine.range(everything, { signal })).rejects.toThrow('no longer wanted');
  });
}

function compactionConformance(bench: EngineBench): void {
  it('refuses reads before the compacted revision and answers those from it on as before', async () => {
    const r1 = await bench.create('/a', 'a1');
    await bench.create('/gone', 'x');
    const r3 = await bench.update('/a', r1, 'a2');
    const r4 = await bench.remove('/gone', r3 - 1);
    const r5 = await bench.update('/a', r3, 'a3');
    expect(bench.engine.compactRevision()).toBe(0);
    await bench.engine.compact(r4);
    expect(bench.engine.compactRevision()).toBe(r4);
    for (const revision of [r1, r3]) {
      for (const read of [
        () => bench.engine.get('/a', { revision }),
        () => bench.engine.range(everything, { revision }),
      ]) {
        await expect(read()).rejects.toSatisfy((error) => isStorageError(error, 'Compacted') && error.revision === r4);
      }
    }
    expect(textOf((await bench.engine.get('/a', { revision: r4 })).kv)).toBe('a2');
    expect(await bench.keys(everything, r4)).toEqual(['/a']);
    expect((await bench.engine.get('/a')).kv).toMatchObject({ createRevision: r1, modRevision: r5 });
  });

  it('keeps a key that was last written long before the compacted revision', async () => {
    const old = await bench.create('/old', 'still here');
    for (let index = 0; index < 10; index += 1) await bench.create(numbered(index));
    const current = await bench.engine.currentRevision();
    await bench.engine.compact(current);
    expect((await bench.engine.get('/old')).kv?.modRevision).toBe(old);
    expect(await bench.engine.count(everything)).toBe(11);
    await bench.update('/old', old, 'changed');
    expect(textOf((await bench.engine.get('/old', { revision: current })).kv)).toBe('still here');
  });

  it('refuses to compact again to the same or an older revision, or to a future one', async () => {
    const r1 = await bench.create('/a');
    const r2 = await bench.update('/a', r1);
    await bench.engine.compact(r2);
    await expect(bench.engine.compact(r2)).rejects.toSatisfy((error) => isStorageError(error, 'Compacted'));
    await expect(bench.engine.compact(r1)).rejects.toSatisfy((error) => isStorageError(error, 'Compacted'));
    const future = bench.engine.compact(revisionOf(r2 + 1));
    await expect(future).rejects.toSatisfy((error) => isStorageError(error, 'FutureRevision'));
    expect(bench.engine.compactRevision()).toBe(r2);
  });
}

function leaseConformance(bench: EngineBench): void {
  it('shows the lease of a key and takes it off when the key is written without one', async () => {
    const lease = await bench.engine.grantLease(3_600);
    expect(lease).not.toBe(0);
    const created = await bench.create('/a', 'v', lease);
    expect((await bench.engine.get('/a')).kv?.lease).toBe(lease);
    await bench.update('/a', created, 'v');
    expect((await bench.engine.get('/a')).kv?.lease).toBe(0);
  });

  it('deletes the keys of a lease that ran out, with revisions and events, and no others', async (context) => {
    if (bench.fixture.elapse === undefined) return context.skip('this engine has no way to let time pass');
    const lease = await bench.engine.grantLease(2);
    await bench.create('/bound-1', 'v', lease);
    await bench.create('/bound-2', 'v', lease);
    await bench.create('/free');
    const freed = await bench.create('/freed', 'v', lease);
    const before = await bench.update('/freed', freed);
    const recorder = bench.watch(before);
    await bench.fixture.elapse(3_000);
    await recorder.received(2);
    expect(recorder.events.map(({ type, key }) => [type, key]).sort()).toEqual([
      ['delete', '/bound-1'],
      ['delete', '/bound-2'],
    ]);
    expect(recorder.events.every((event) => event.revision > before && event.previous?.lease === lease)).toBe(true);
    expect(await bench.keys()).toEqual(['/free', '/freed']);
  });
}

function lifeConformance(bench: EngineBench): void {
  it('reports its size on disk', async () => {
    await bench.create('/a', 'x'.repeat(100_000));
    // etcd writes its data file some time after its log.
    await expect.poll(() => bench.engine.storedBytes(), { timeout: 10_000 }).toBeGreaterThanOrEqual(100_000);
  });

  it('refuses everything as Closed once closed, and closes only once', async () => {
    const { engine } = bench;
    const revision = await bench.create('/a');
    await engine.checkHealth();
    await engine.checkReadiness();
    await Promise.all([engine.close(), engine.close()]);
    await engine.close();
    const change = { type: 'put', value: bytes('x') } as const;
    const calls = [
      () => engine.get('/a'),
      () => engine.range(everything),
      () => engine.commit({ key: '/b', expectedRevision: revisionOf(0), change }),
      () => engine.checkHealth(),
      () => engine.checkReadiness(),
      () => engine.storedBytes(),
    ];
    for (const call of calls) await expect(call()).rejects.toSatisfy((error) => isStorageError(error, 'Closed'));
    expect(engine.isNewest?.('/a', revision) ?? false).toBe(false);
    await bench.fixture.reopen?.();
  });

  it('keeps keys, history, revisions and compaction when it is closed and opened again', async (context) => {
    if (bench.fixture.reopen === undefined) return context.skip('this engine keeps nothing');
    const r1 = await bench.create('/a', 'a1');
    const r2 = await bench.update('/a', r1, 'a2');
    const r3 = await bench.create('/b', 'b1');
    await bench.engine.compact(r2);
    await bench.fixture.reopen();
    expect(await bench.engine.currentRevision()).toBe(r3);
    expect(bench.engine.compactRevision()).toBe(r2);
    expect(await bench.keys(everything, r2)).toEqual(['/a']);
    expect((await bench.engine.get('/a')).kv).toMatchObject({ createRevision: r1, modRevision: r2 });
    const recorder = bench.watch(r2);
    await recorder.received(1);
    expect(recorder.revisions).toEqual([r3]);
  });

  it('issues no revision twice, even when every trace of the last ones was deleted and compacted', async (context) => {
    if (bench.fixture.reopen === undefined) return context.skip('this engine keeps nothing');
    const created = await bench.create('/a');
    const last = await bench.remove('/a', created);
    await bench.engine.compact(last);
    await bench.fixture.reopen();
    expect(await bench.create('/b')).toBe(last + 1);
  });
}
