import { type Clock, type Revision, silentLogger } from '@kapstan/api';
import { pod, settle, type TestPod, VirtualClock } from '@kapstan/api/testing';
import { Stored } from '@kapstan/storage';
import { podAttributes, predicate } from '@kapstan/storage/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { type CacheEntry, CacheEvent } from './cache-entry.ts';
import { CacheWatcher } from './cache-watcher.ts';
import { Dispatcher } from './dispatcher.ts';
import { HistoryRing } from './history-ring.ts';

function entry(name: string, revision: number, node = 'n'): CacheEntry<TestPod> {
  const object = pod(
    { name, resourceVersion: String(revision) },
    { spec: { nodeName: node } },
  ) as Stored<TestPod>['object'];
  const stored = new Stored<TestPod>(`/p/default/${name}`, revision as Revision, object);
  return { key: stored.key, stored, attributes: podAttributes(object) };
}

function added(name: string, revision: number, node?: string): CacheEvent<TestPod> {
  const current = entry(name, revision, node);
  return new CacheEvent({ key: current.key, revision: revision as Revision, timeMs: 0, current });
}

describe('Dispatcher', () => {
  let ring: HistoryRing<TestPod>;
  let dispatcher: Dispatcher<TestPod>;
  let revision: number;
  let clock: Clock;
  beforeEach(() => {
    ring = new HistoryRing<TestPod>({ minCapacity: 1_000, maxCapacity: 1_000 });
    clock = new VirtualClock();
    const indexedFields = ['spec.nodeName', 'metadata.name', 'metadata.namespace'];
    dispatcher = new Dispatcher<TestPod>({ ring, indexedFields, clock, logger: silentLogger });
    revision = 0;
  });

  function write(name: string, node?: string): void {
    const event = added(name, ++revision, node);
    ring.push(event);
    dispatcher.dispatch();
  }

  interface Probe {
    readonly watcher: CacheWatcher<TestPod>;
    readonly seen: (number | string)[];
    isEnded: boolean;
  }

  function watch(
    options: { key?: string; fields?: string; position?: number; onEvent?: (probe: Probe) => void } = {},
  ): Probe {
    const seen: (number | string)[] = [];
    const watcher = new CacheWatcher<TestPod>({
      key: options.key ?? '/p/',
      isRecursive: (options.key ?? '/p/').endsWith('/'),
      predicate: predicate({ fields: options.fields ?? '' }),
      sink: {
        onEvent: (event) => {
          seen.push(event.type === 'BOOKMARK' ? 'bookmark' : event.stored.revision);
          options.onEvent?.(probe);
        },
        onEnd: () => {
          probe.isEnded = true;
        },
      },
      logger: silentLogger,
      onClosed: (closed, reason) => dispatcher.remove(closed, reason),
    });
    const probe: Probe = { watcher, seen, isEnded: false };
    dispatcher.register(watcher);
    watcher.begin({ initial: [], revision: 0 as Revision, position: options.position ?? 0, endsWithBookmark: false });
    dispatcher.start(watcher);
    return probe;
  }

  const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, i) => from + i);

  it('I3: a watch from r yields every later event once, across ring catch-up and live', async () => {
    for (let i = 0; i < 600; i++) write(`p${i}`);
    const probe = watch();
    // Events continue between the watch's slices and after them.
    for (let turn = 0; turn < 10; turn++) {
      write(`q${turn}`);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await settle();
    write('last');
    expect(probe.seen).toEqual(range(1, 611));
    expect(probe.watcher.isLive).toBe(true);
  });

  it('I4: an event that arrives within a delivery is delivered after it, in the same order to all', async () => {
    let depth = 0;
    let deepest = 0;
    const first = watch({
      onEvent: () => {
        deepest = Math.max(deepest, ++depth);
        if (revision < 5) write(`echo${revision}`);
        depth--;
      },
    });
    const second = watch();
    await settle();
    write('a');
    expect(first.seen).toEqual([1, 2, 3, 4, 5]);
    expect(second.seen).toEqual([1, 2, 3, 4, 5]);
    expect(deepest).toBe(1);
  });

  it('I5: ends a reader that the ring moved past, silently, and counts it', async () => {
    for (let i = 0; i < 1_000; i++) write(`p${i}`);
    const probe = watch();
    write('one too many');
    await settle();
    expect([probe.seen, probe.isEnded]).toEqual([[], true]);
    expect([dispatcher.counters.ended.overrun, dispatcher.watcherCount]).toEqual([1, 0]);
  });

  it('I8: a sink that throws loses its watch; its neighbours and the source do not notice', async () => {
    const thrower = watch({
      onEvent: () => {
        throw new Error('sink failed');
      },
    });
    const neighbour = watch();
    await settle();
    write('a');
    write('b');
    expect([thrower.seen, thrower.isEnded, neighbour.seen]).toEqual([[1], true, [1, 2]]);
    expect(dispatcher.watcherCount).toBe(1);
  });

  it('offers an event only to the watchers of its key, its prefixes and its field values', async () => {
    const all = watch();
    const namespace = watch({ key: '/p/default/' });
    const other = watch({ key: '/p/other/' });
    const one = watch({ key: '/p/default/a' });
    const byNode = watch({ fields: 'spec.nodeName=n1' });
    const byOtherNode = watch({ fields: 'spec.nodeName=n2' });
    const byName = watch({ fields: 'metadata.name=a' });
    await settle();
    let asked = 0;
    for (const { watcher } of [all, namespace, other, one, byNode, byOtherNode, byName]) {
      const offer = watcher.offer.bind(watcher);
      watcher.offer = (event) => {
        asked++;
        offer(event);
      };
    }
    write('a', 'n1');
    write('b', 'n2');
    expect(asked, 'none but those that hear of it').toBe(8);
    expect([all, namespace, other, one, byNode, byOtherNode, byName].map((probe) => probe.seen)).toEqual([
      [1, 2],
      [1, 2],
      [],
      [1],
      [1],
      [2],
      [1],
    ]);
  });

  it('lets watchers close themselves and each other within a delivery', async () => {
    const probes: Probe[] = [];
    for (let i = 0; i < 5; i++) probes.push(watch({ onEvent: () => probes[(i + 1) % 5]?.watcher.close() }));
    await settle();
    write('a');
    write('b');
    expect(probes.map((probe) => probe.seen)).toEqual([[1], [], [1, 2], [], [1, 2]]);
  });

  it('I9: forgets every watcher that ends', async () => {
    const probes = [watch(), watch({ key: '/p/default/a' }), watch({ fields: 'spec.nodeName=n1' })];
    await settle();
    dispatcher.terminateAll('relist');
    let asked = 0;
    for (const { watcher } of probes) watcher.offer = () => void asked++;
    const next = watch();
    await settle();
    write('a', 'n1');
    expect([asked, next.seen]).toEqual([0, [1]]);
    next.watcher.close();
    expect(probes.every((probe) => probe.isEnded && probe.seen.length === 0)).toBe(true);
    expect([dispatcher.watcherCount, dispatcher.catchingUpCount]).toEqual([0, 0]);
  });
});
