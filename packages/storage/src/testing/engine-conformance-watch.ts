// The rules of the Engine port for watches, as tests. Part of engine-conformance.ts.
import { expect, it } from 'vitest';
import { isStorageError } from '../errors/storage-error.ts';
import { type EngineBench, everything, numbered, revisionOf, textOf } from './engine-fixture.ts';
import type { WatchRecorder } from './engine-recorder.ts';

export function watchConformance(bench: EngineBench): void {
  contentConformance(bench);
  orderConformance(bench);
  neighbourConformance(bench);
}

const rising = (from: number, to: number): number[] =>
  Array.from({ length: to - from }, (_, index) => from + 1 + index);

function contentConformance(bench: EngineBench): void {
  it.each(['live', 'replayed'])(
    'reports creates, updates and deletes with the states before and after (%s)',
    async (when) => {
      const start = await bench.engine.currentRevision();
      const early = when === 'live' ? bench.watch(start) : undefined;
      const r1 = await bench.create('/a', 'one');
      const r2 = await bench.update('/a', r1, 'two');
      const r3 = await bench.remove('/a', r2);
      const r4 = await bench.create('/a', 'three');
      const recorder = early ?? bench.watch(start);
      await recorder.received(4);
      const told = recorder.events.map(({ type, revision, kv, previous }) => [
        type,
        revision,
        textOf(kv),
        textOf(previous),
      ]);
      expect(told).toEqual([
        ['put', r1, 'one', undefined],
        ['put', r2, 'two', 'one'],
        ['delete', r3, undefined, 'two'],
        ['put', r4, 'three', undefined],
      ]);
      expect(recorder.events[1]?.kv).toMatchObject({ key: '/a', createRevision: r1, modRevision: r2 });
      expect(recorder.events[2]).toMatchObject({ key: '/a', previous: { createRevision: r1, modRevision: r2 } });
      expect(recorder.events[3]?.kv).toMatchObject({ createRevision: r4, modRevision: r4 });
    },
  );

  it('reports only keys in its range', async () => {
    const start = await bench.engine.currentRevision();
    const one = bench.watch(start, { range: { start: '/b', end: '/b\0' } });
    const prefix = bench.watch(start, { range: { start: '/b/', end: '/b0' } });
    for (const key of ['/a', '/b', '/b/c', '/b/d', '/b0', '/c']) await bench.create(key);
    await Promise.all([one.received(1), prefix.received(2)]);
    expect(one.events.map((event) => event.key)).toEqual(['/b']);
    expect(prefix.events.map((event) => event.key)).toEqual(['/b/c', '/b/d']);
  });

  it.each(['live', 'replayed'])('ranges are by the UTF-8 bytes of keys, as those of reads (%s)', async (when) => {
    const start = await bench.engine.currentRevision();
    const range = { start: '/\uffee', end: '0' };
    const early = when === 'live' ? bench.watch(start, { range }) : undefined;
    for (const key of ['/é', '/\u{1f600}', '/\uffee']) await bench.create(key);
    const recorder = early ?? bench.watch(start, { range });
    await recorder.received(2);
    expect(recorder.events.map((event) => event.key)).toEqual(['/\u{1f600}', '/\uffee']);
  });

  it('waits for a revision in the future and reports only what comes after it', async () => {
    const start = await bench.engine.currentRevision();
    const recorder = bench.watch(start + 2);
    const revisions = [];
    for (let index = 0; index < 4; index += 1) revisions.push(await bench.create(numbered(index)));
    await recorder.received(2);
    expect(recorder.revisions).toEqual(revisions.slice(2));
  });

  it('ends with Compacted when the history it needs is gone, and says nothing else', async () => {
    const r1 = await bench.create('/a');
    const r2 = await bench.update('/a', r1);
    const r3 = await bench.update('/a', r2);
    await bench.engine.compact(r3);
    const recorder = bench.watch(r1);
    await recorder.ended();
    expect(isStorageError(recorder.error, 'Compacted') && recorder.error.revision).toBe(r3);
    expect(recorder.events).toEqual([]);
    await bench.update('/a', r3);
    expect(recorder.events).toEqual([]);
  });

  it('goes on from the compacted revision, with the state before the first event', async () => {
    const r1 = await bench.create('/a', 'one');
    const r2 = await bench.update('/a', r1, 'two');
    await bench.engine.compact(r2);
    const r3 = await bench.update('/a', r2, 'three');
    const recorder = bench.watch(r2);
    await recorder.received(1);
    expect(recorder.revisions).toEqual([r3]);
    expect(textOf(recorder.events[0]?.previous)).toBe('two');
  });
}

function orderConformance(bench: EngineBench): void {
  it('has neither gap nor duplicate where history meets the present, under constant writing', async () => {
    const start = await bench.engine.currentRevision();
    const rounds = 40;
    const perRound = 25;
    const recorders: { readonly after: number; readonly recorder: WatchRecorder }[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const writes = Array.from({ length: perRound }, (_, index) => bench.create(numbered(round * perRound + index)));
      const now = await bench.engine.currentRevision();
      const after = start + Math.floor((now - start) / 2);
      for (const from of [start, after, now]) recorders.push({ after: from, recorder: bench.watch(from) });
      await Promise.all(writes);
    }
    const end = await bench.engine.currentRevision();
    for (const { after, recorder } of recorders) {
      await recorder.received(end - after);
      expect(recorder.revisions).toEqual(rising(after, end));
    }
  });

  it('replays a long history in order', async () => {
    const start = await bench.engine.currentRevision();
    await bench.createMany(5_000);
    const recorder = bench.watch(start);
    await recorder.received(5_000);
    expect(recorder.revisions).toEqual(rising(start, start + 5_000));
  });

  it('reports its progress when asked, after all events up to there', async (context) => {
    if (!bench.engine.supportsProgressRequests) return context.skip('this engine cannot be asked for progress');
    const start = await bench.engine.currentRevision();
    const quiet = bench.watch(start, { progressNotify: true, range: { start: '/quiet', end: '/quiet0' } });
    const busy = bench.watch(start, { progressNotify: true });
    await bench.createMany(50);
    const current = await bench.engine.currentRevision();
    await bench.engine.requestProgress();
    const isThere = (recorder: WatchRecorder): boolean => (recorder.progress.at(-1) ?? 0) >= current;
    await Promise.all([quiet, busy].map((recorder) => recorder.until(() => isThere(recorder))));
    expect(quiet.events).toEqual([]);
    expect(busy.revisions).toEqual(rising(start, current));
  });

  it('reports progress to a watch that is still replaying only when it has caught up', async (context) => {
    if (!bench.engine.supportsProgressRequests) return context.skip('this engine cannot be asked for progress');
    const start = await bench.engine.currentRevision();
    await bench.createMany(3_000);
    const end = await bench.engine.currentRevision();
    const recorder = bench.watch(start, { progressNotify: true });
    await bench.engine.requestProgress();
    await recorder.received(3_000);
    await bench.engine.requestProgress();
    await recorder.until(() => recorder.progress.length > 0);
    // The recorder asserts that no event at or below a reported progress follows it.
    expect(recorder.progress.every((revision) => revision >= end)).toBe(true);
  });
}

function neighbourConformance(bench: EngineBench): void {
  it('says nothing after close, also when the sink closes it itself', async () => {
    const start = await bench.engine.currentRevision();
    const closing = bench.watch(start);
    const other = bench.watch(start);
    closing.onEach = () => closing.close();
    await bench.createMany(20);
    await Promise.all([other.received(20), closing.received(1)]);
    expect(closing.events).toHaveLength(1);
    closing.close();
    closing.close();
  });

  it('lets a sink write, read, watch and close without nesting a delivery', async () => {
    const start = await bench.engine.currentRevision();
    const inner: WatchRecorder[] = [];
    const work: Promise<unknown>[] = [];
    const busy = bench.watch(start, { range: { start: '/k', end: '/l' } });
    const witness = bench.watch(start);
    busy.onEach = (event) => {
      work.push(bench.create(`/echo${event.key}`), bench.engine.requestProgress(), bench.engine.get(event.key));
      inner.push(bench.watch(start), bench.watch(event.revision));
    };
    await bench.createMany(10);
    await witness.received(20);
    await Promise.all(work);
    for (const [index, recorder] of inner.entries()) {
      const after = index % 2 === 0 ? start : (busy.events[(index - 1) / 2]?.revision ?? 0);
      await recorder.received(start + 20 - after);
      expect(recorder.revisions).toEqual(rising(after, start + 20));
    }
  });

  it('takes the watch from a sink that throws and leaves its neighbours and the writers alone', async () => {
    const start = await bench.engine.currentRevision();
    const thrower = bench.watch(start);
    thrower.onEach = () => {
      throw new Error('sink failed');
    };
    const neighbour = bench.watch(start);
    await bench.createMany(5);
    await neighbour.received(5);
    await thrower.ended();
    expect(thrower.events).toHaveLength(1);
    expect(neighbour.error).toBeUndefined();
  });

  it('serves a thousand watches', async () => {
    const start = await bench.engine.currentRevision();
    const recorders = Array.from({ length: 1_000 }, () => bench.watch(start));
    await bench.createMany(10);
    await Promise.all(recorders.map((recorder) => recorder.received(10)));
    const expected = rising(start, start + 10);
    expect(recorders.every((recorder) => recorder.revisions.join() === expected.join())).toBe(true);
  });

  it('ends every watch with an error when the engine is closed', async () => {
    const start = await bench.engine.currentRevision();
    const recorders = [
      bench.watch(start),
      bench.watch(revisionOf(start + 10)),
      bench.watch(start, { range: everything }),
    ];
    await bench.engine.close();
    await Promise.all(recorders.map((recorder) => recorder.ended()));
    expect(recorders.every((recorder) => isStorageError(recorder.error, 'Closed'))).toBe(true);
    await bench.fixture.reopen?.();
  });
}
