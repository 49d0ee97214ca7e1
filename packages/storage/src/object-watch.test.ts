// A watch whose initial events do not fit into one page.
import { isExpired, type Revision } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import { describe, expect, it } from 'vitest';
import type { EngineEvent, KeyRange, RangeOptions } from './engine.ts';
import { MemoryEngine } from './memory-engine.ts';
import { ObjectStore } from './object-store.ts';
import { keyOf, podStoreOptions, StorageBench } from './testing/storage-fixture.ts';

/** An engine that returns two objects per page, whatever the limit. */
class TwoAPage extends MemoryEngine {
  readonly asked: { readonly start: string; readonly revision: number }[] = [];
  beforePage: (page: number) => Promise<void> = async () => undefined;

  override async range(range: KeyRange, options: RangeOptions = {}): ReturnType<MemoryEngine['range']> {
    this.asked.push({ start: range.start, revision: options.revision ?? 0 });
    await this.beforePage(this.asked.length);
    return super.range(range, { ...options, limit: 2 });
  }
}

let engine: TwoAPage;
const bench = new StorageBench(async () => {
  const clock = new VirtualClock();
  engine = new TwoAPage({ clock });
  const storage = new ObjectStore(podStoreOptions(engine));
  const dispose = async (): Promise<void> => {
    await storage.close();
    await engine.close();
  };
  return { storage, engine, clock, isCached: false, dispose };
});

describe('the initial events of a watch', () => {
  it('come page by page at one revision, and what changed meanwhile comes after them', async () => {
    const created = await bench.createAll('a', 'b', 'c', 'd', 'e');
    const revision = await engine.currentRevision();
    let later: Revision | undefined;
    engine.beforePage = async (page) => {
      if (page === 2) later = (await bench.update('e', { node: 'n1' })).revision;
    };
    const watch = bench.watch({ sendInitialEvents: true, bookmarks: true });
    const state = created.map(({ object, revision: at }) => `ADDED ${object.metadata?.name}@${at}`);
    const changes = await watch.received(7);
    expect(changes).toEqual([...state, `END@${revision}`, `MODIFIED e@${later}`]);
    expect(engine.asked).toEqual([
      { start: '/registry/pods/', revision: 0 },
      { start: `${keyOf('b')}\u0000`, revision },
      { start: `${keyOf('d')}\u0000`, revision },
    ]);
  });

  it('end with 410 when their revision is compacted before the last page', async () => {
    await bench.createAll('a', 'b', 'c');
    engine.beforePage = async (page) => {
      if (page !== 2) return;
      const { revision } = await bench.update('a', { node: 'n1' });
      await engine.compact(revision);
    };
    const watch = bench.watch({ sendInitialEvents: true, bookmarks: true });
    const error = await watch.ended();
    expect(isExpired(error)).toBe(true);
    expect(error?.message).toBe('The resourceVersion for the provided watch is too old.');
    expect(watch.changes.filter((change) => change.startsWith('END'))).toEqual([]);
  });
});

describe('a change as a watch reads it', () => {
  it.each<[string, Partial<EngineEvent>]>([
    ['update', { type: 'put' }],
    ['deletion', { type: 'delete' }],
  ])('ends the watch for an %s without the state before it', async (what, { type }) => {
    const { revision } = await bench.create('a');
    const watchEngine = engine.watch.bind(engine);
    engine.watch = (range, options, sink) =>
      watchEngine(range, options, {
        onProgress: (at) => sink.onProgress(at),
        onError: (error) => sink.onError(error),
        onEvents: (events, at) =>
          sink.onEvents(
            events.map(({ previous: _gone, ...event }) => event),
            at,
          ),
      });
    if (what === 'update') await bench.update('a', { node: 'n1' });
    else await bench.remove('a');
    const watch = bench.watch({ resourceVersion: String(revision) });
    const word = type === 'put' ? 'PUT' : 'DELETE';
    expect((await watch.ended())?.message).toContain(
      `etcd event received with PrevKv=nil (key="${keyOf('a')}", modRevision=${revision + 1}, type=${word})`,
    );
    expect(watch.events).toEqual([]);
  });
});
