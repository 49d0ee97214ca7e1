// Tests that initial events for a slow reader wait in the cache, not in the reader's buffer.
import { type Revision, silentLogger } from '@kapstan/api';
import { pod, settle, type TestPod, VirtualClock } from '@kapstan/api/testing';
import { type StorageEvent, Stored } from '@kapstan/storage';
import { podAttributes, predicate } from '@kapstan/storage/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { type CacheEntry, CacheEvent } from './cache-entry.ts';
import { CacheWatcher } from './cache-watcher.ts';
import { Dispatcher } from './dispatcher.ts';
import { HistoryRing } from './history-ring.ts';

function entry(revision: number): CacheEntry<TestPod> {
  const name = `p-${revision}`;
  const object = pod({ name, resourceVersion: String(revision) }) as Stored<TestPod>['object'];
  const stored = new Stored<TestPod>(`/p/default/${name}`, revision as Revision, object);
  return { key: stored.key, stored, attributes: podAttributes(object) };
}

/** A reader that is full after ten events until they are taken. */
class SlowSink {
  readonly seen: number[] = [];
  isEnded = false;
  onRoom: (() => void) | undefined;
  #waiting = 0;

  get isFull(): boolean {
    return this.#waiting >= 10;
  }
  onEvent(event: StorageEvent<TestPod>): void {
    this.seen.push(event.type === 'BOOKMARK' ? event.revision : event.stored.revision);
    this.#waiting++;
  }
  onEnd(): void {
    this.isEnded = true;
  }
  take(): void {
    this.#waiting = 0;
    const room = this.onRoom;
    this.onRoom = undefined;
    room?.();
  }
}

describe('initial events for a slow reader', () => {
  let ring: HistoryRing<TestPod>;
  let dispatcher: Dispatcher<TestPod>;
  let sink: SlowSink;
  let revision: number;

  beforeEach(() => {
    ring = new HistoryRing<TestPod>({ minCapacity: 20, maxCapacity: 20 });
    dispatcher = new Dispatcher<TestPod>({
      ring,
      indexedFields: ['metadata.name', 'metadata.namespace'],
      clock: new VirtualClock(),
      logger: silentLogger,
    });
    sink = new SlowSink();
    revision = 25;
    const watcher = new CacheWatcher<TestPod>({
      key: '/p/',
      isRecursive: true,
      predicate: predicate({}),
      sink,
      logger: silentLogger,
      onClosed: (closed, reason) => dispatcher.remove(closed, reason),
    });
    const initial = Array.from({ length: 25 }, (_, n) => entry(n + 1));
    watcher.begin({ initial, revision: 25 as Revision, position: ring.end, endsWithBookmark: false });
    dispatcher.register(watcher);
    dispatcher.start(watcher);
  });

  function write(): void {
    const current = entry(++revision);
    ring.push(new CacheEvent({ key: current.key, revision: revision as Revision, timeMs: 0, current }));
    dispatcher.dispatch();
  }

  it('wait in the cache while the reader is full, with what happens meanwhile behind them: no gap, no double (I3)', async () => {
    await settle();
    expect(sink.seen).toHaveLength(10);
    write();
    await settle();
    expect([sink.seen.length, dispatcher.catchingUpCount]).toEqual([10, 1]);
    for (let n = 0; n < 3; n++) {
      sink.take();
      await settle();
    }
    write();
    expect(sink.seen).toEqual(Array.from({ length: 27 }, (_, n) => n + 1));
    expect(dispatcher.catchingUpCount).toBe(0);
  });

  it('end with their watch when the history moves past it, and keep nothing (I5)', async () => {
    await settle();
    for (let n = 0; n < 21; n++) write();
    await settle();
    expect([sink.isEnded, sink.seen.length, dispatcher.watcherCount]).toEqual([true, 10, 0]);
    expect(dispatcher.counters.ended.overrun).toBe(1);
    sink.take();
    await settle();
    expect([sink.seen.length, dispatcher.catchingUpCount]).toEqual([10, 0]);
  });
});
