// The rules of the Engine port for commits, as tests. Part of engine-conformance.ts.
import { expect, it } from 'vitest';
import { isStorageError } from '../errors/storage-error.ts';
import { bytes, type EngineBench, revisionOf, textOf } from './engine-fixture.ts';

export function commitConformance(bench: EngineBench): void {
  it('gives an empty store a revision above 0, because 0 means "none"', async () => {
    expect(await bench.engine.currentRevision()).toBeGreaterThan(0);
  });

  it('creates a key that is expected not to exist, at the next revision', async () => {
    const before = await bench.engine.currentRevision();
    const result = await bench.commit({
      key: '/a',
      expectedRevision: revisionOf(0),
      change: { type: 'put', value: bytes('one') },
    });
    expect(result).toEqual({ succeeded: true, revision: before + 1 });
    const { kv, revision } = await bench.engine.get('/a');
    expect(revision).toBe(before + 1);
    expect(kv).toMatchObject({ key: '/a', createRevision: before + 1, modRevision: before + 1, lease: 0 });
    expect(textOf(kv)).toBe('one');
  });

  it('refuses to create a key that exists, answers with what is there and writes nothing', async () => {
    const created = await bench.create('/a', 'one');
    const result = await bench.commit({
      key: '/a',
      expectedRevision: revisionOf(0),
      change: { type: 'put', value: bytes('two') },
    });
    expect(result.succeeded).toBe(false);
    expect(result.succeeded ? undefined : result.current?.modRevision).toBe(created);
    expect(textOf(result.succeeded ? undefined : result.current)).toBe('one');
    expect(await bench.engine.currentRevision()).toBe(created);
  });

  it('updates at the expected revision, keeps the create revision and answers with the previous state', async () => {
    const created = await bench.create('/a', 'one');
    const result = await bench.commit({
      key: '/a',
      expectedRevision: created,
      change: { type: 'put', value: bytes('two') },
    });
    expect(result).toMatchObject({ succeeded: true, revision: created + 1, previous: { modRevision: created } });
    expect(textOf(result.succeeded ? result.previous : undefined)).toBe('one');
    const { kv } = await bench.engine.get('/a');
    expect(kv).toMatchObject({ createRevision: created, modRevision: created + 1 });
    expect(textOf(kv)).toBe('two');
  });

  it.each(['put', 'delete'] as const)(
    'refuses a %s at a stale revision and answers with the present state',
    async (type) => {
      const created = await bench.create('/a', 'one');
      const updated = await bench.update('/a', created, 'two');
      const change = type === 'put' ? { type, value: bytes('three') } : { type };
      const result = await bench.commit({ key: '/a', expectedRevision: created, change });
      expect(result).toMatchObject({ succeeded: false, current: { modRevision: updated } });
      expect(textOf((await bench.engine.get('/a')).kv)).toBe('two');
    },
  );

  it.each(['put', 'delete'] as const)('refuses a %s of an absent key that is expected at a revision', async (type) => {
    const before = await bench.engine.currentRevision();
    const change = type === 'put' ? { type, value: bytes('x') } : { type };
    const result = await bench.commit({ key: '/a', expectedRevision: before, change });
    expect(result.succeeded).toBe(false);
    expect(result).not.toHaveProperty('current.key');
    expect(await bench.engine.currentRevision()).toBe(before);
  });

  it('deletes at a revision of its own and begins a new life when the key is created again', async () => {
    const created = await bench.create('/a', 'one');
    const deleted = await bench.commit({ key: '/a', expectedRevision: created, change: { type: 'delete' } });
    expect(deleted).toMatchObject({ succeeded: true, revision: created + 1, previous: { modRevision: created } });
    expect((await bench.engine.get('/a')).kv).toBeUndefined();
    const again = await bench.create('/a', 'two');
    expect((await bench.engine.get('/a')).kv).toMatchObject({ createRevision: again, modRevision: again });
  });

  it('keeps every byte of a value, also of an empty one, and a copy of it', async () => {
    const all = Uint8Array.from({ length: 256 }, (_, index) => index);
    const mine = Uint8Array.from(all);
    await bench.apply('/all', 0, { type: 'put', value: mine });
    mine.fill(0);
    await bench.apply('/none', 0, { type: 'put', value: new Uint8Array(0) });
    expect([...((await bench.engine.get('/all')).kv?.value ?? [])]).toEqual([...all]);
    expect((await bench.engine.get('/none')).kv?.value.length).toBe(0);
  });

  it('lets exactly one of many concurrent creates of a key succeed', async () => {
    const results = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        bench.commit({
          key: '/a',
          expectedRevision: revisionOf(0),
          change: { type: 'put', value: bytes(`${index}`) },
        }),
      ),
    );
    const winners = results.filter((result) => result.succeeded);
    expect(winners).toHaveLength(1);
    expect((await bench.engine.get('/a')).kv?.modRevision).toBe(winners[0]?.revision);
  });

  it('loses no increment of many concurrent compare-and-set loops', async () => {
    await bench.create('/n', '0');
    const increment = async (): Promise<void> => {
      for (;;) {
        const { kv } = await bench.engine.get('/n');
        const value = bytes(String(Number(textOf(kv)) + 1));
        const change = { type: 'put', value } as const;
        const result = await bench.commit({ key: '/n', expectedRevision: kv?.modRevision ?? revisionOf(0), change });
        if (result.succeeded) return;
      }
    };
    await Promise.all(Array.from({ length: 12 }, increment));
    expect(textOf((await bench.engine.get('/n')).kv)).toBe('12');
  });

  it('gives each of many concurrent commits a revision of its own, without holes', async () => {
    const before = await bench.engine.currentRevision();
    const revisions = await bench.createMany(200);
    const sorted = [...revisions].sort((a, b) => a - b);
    expect(sorted).toEqual(Array.from({ length: 200 }, (_, index) => before + 1 + index));
  });

  it('writes nothing for a commit that was aborted before, and rejects with the reason', async () => {
    const change = { type: 'put', value: new Uint8Array(1) } as const;
    const signal = AbortSignal.abort(new Error('gone'));
    const before = await bench.engine.currentRevision();
    const aborted = bench.engine.commit({ key: '/a', expectedRevision: revisionOf(0), change, signal });
    await expect(aborted).rejects.toThrow('gone');
    expect((await bench.engine.get('/a')).kv).toBeUndefined();
    expect(await bench.engine.currentRevision()).toBe(before);
  });

  it('refuses a value above the limit as TooLarge', async () => {
    const value = new Uint8Array(16 * 1024 * 1024);
    const change = { type: 'put', value } as const;
    const tooLarge = bench.commit({ key: '/a', expectedRevision: revisionOf(0), change });
    await expect(tooLarge).rejects.toSatisfy((error) => isStorageError(error, 'TooLarge'));
    expect((await bench.engine.get('/a')).kv).toBeUndefined();
  });
}
