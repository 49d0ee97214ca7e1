// Tests how a reflector uses its source, as in client-go's reflector_test.go and reflector_watchlist_test.go.
import {
  type Clock,
  type DeepReadonly,
  delay,
  type ListerWatcher,
  type ListOptions,
  type ResourceVersion,
  type WatchEvent,
  type WatchOptions,
} from '@kapstan/api';
import { expired, internalError, invalid, statusErrorFrom, tooManyRequests } from '@kapstan/api/errors';
import { FakeListerWatcher, LeakCheck, pod, settle, type TestPod, VirtualClock } from '@kapstan/api/testing';
import { Observable, type Subscriber } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Reflector } from './reflector.ts';
import type { ReflectorOptions, ReflectorStore } from './reflector-options.ts';

type Pod = DeepReadonly<TestPod>;
const make = (name: string, resourceVersion: string): TestPod => pod({ name, resourceVersion });

/** A source that the test controls event by event. It counts requests and how often each watch is torn down. */
class Script implements ListerWatcher<TestPod> {
  readonly supportsWatchList?: boolean;
  readonly lists: ListOptions[] = [];
  readonly watches: WatchOptions[] = [];
  /** Number of times that each watch was torn down. */
  readonly teardowns: number[] = [];
  items: Pod[] = [];
  version = '10';
  #open: Subscriber<WatchEvent<TestPod>> | undefined;

  list(options: ListOptions) {
    this.lists.push(options);
    return Promise.resolve({ resourceVersion: this.version as ResourceVersion, items: this.items });
  }

  watch(options: WatchOptions): Observable<WatchEvent<TestPod>> {
    return new Observable((subscriber) => {
      const id = this.watches.push(options) - 1;
      this.teardowns[id] = 0;
      this.#open = subscriber;
      return () => {
        this.teardowns[id] = (this.teardowns[id] ?? 0) + 1;
      };
    });
  }

  /** Sends an event even if nothing listens any more. */
  send(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: object): void {
    this.#open?.next({ type, object: object as Pod });
  }

  bookmark(resourceVersion: string, initialEventsEnd = false): void {
    this.#open?.next({ type: 'BOOKMARK', resourceVersion: resourceVersion as ResourceVersion, initialEventsEnd });
  }

  fail(error: unknown): void {
    this.#open?.error(error);
  }

  end(): void {
    this.#open?.complete();
  }
}

let clock: VirtualClock;
let leaks: LeakCheck;
let reflector: Reflector<TestPod> | undefined;
let calls: string[];
let errors: string[];
let warnings: string[];

/** Records each call: `add a@11`, `replace a b@10`, `bookmark @12`. */
function recorder(): ReflectorStore<TestPod> {
  const text = (object: Pod): string => `${object.metadata?.name}@${object.metadata?.resourceVersion}`;
  return {
    add: (object) => void calls.push(`add ${text(object)}`),
    update: (object) => void calls.push(`update ${text(object)}`),
    delete: (object) => void calls.push(`delete ${text(object)}`),
    replace: (objects, version) =>
      void calls.push(`replace ${[...objects].map(({ metadata }) => metadata?.name).join(' ')}@${version}`),
    bookmark: (version) => void calls.push(`bookmark @${version}`),
  };
}

async function run<S extends ListerWatcher<TestPod>>(source: S, options: ReflectorOptions = {}): Promise<S> {
  reflector = new Reflector<TestPod>(source, recorder(), {
    clock,
    random: () => 0,
    onWatchError: (error) => errors.push(String(error)),
    onStoreError: (error) => errors.push(String(error)),
    onWarning: (warning) => warnings.push(warning),
    ...options,
  });
  reflector.start();
  await settle();
  return source;
}

beforeEach(() => {
  clock = new VirtualClock();
  leaks = new LeakCheck({ clock });
  calls = [];
  errors = [];
  warnings = [];
});
afterEach(async () => {
  await reflector?.close();
  await leaks.assertNone();
});

describe('Reflector: the end of a watch', () => {
  const veryShort =
    'Error: very short watch: Unexpected watch close - watch lasted less than a second and no items received';
  const close = (script: Script): Script => {
    void reflector?.close();
    return script;
  };
  const withEvent = (script: Script): Script => {
    script.send('ADDED', make('a', '11'));
    return script;
  };
  const ends: [string, (script: Script) => unknown, string[]][] = [
    ['an error came', (script) => script.fail(expired('old')), ['StatusError: old']],
    ['it ended at once', (script) => script.end(), [veryShort]],
    ['it ended behind an event', (script) => withEvent(script).end(), []],
    ['the reflector was closed', close, []],
    ['the reflector was closed before it ended', (script) => close(script).end(), []],
    ['the reflector was closed before it failed', (script) => close(script).fail(new Error('x')), []],
    ['the reflector was closed before an event', (script) => withEvent(close(script)), []],
    ['it was silent for too long', () => clock.advance(90_000), []],
  ];

  it.each(ends)('gives a watch up exactly once when %s', async (_name, end, told) => {
    const script = await run(new Script(), { useWatchList: false });
    expect(script.teardowns).toEqual([0]);
    await end(script);
    expect(script.teardowns[0]).toBe(1);
    await reflector?.close();
    expect(script.teardowns.every((count) => count === 1)).toBe(true);
    expect(errors).toEqual(told);
  });

  it('asks for nothing when it was closed before its start', async () => {
    const script = new Script();
    reflector = new Reflector<TestPod>(script, recorder(), { clock });
    await reflector.close();
    reflector.start();
    await settle();
    expect([script.lists, script.watches]).toEqual([[], []]);
  });

  it('applies nothing of a list that it does not wait for any more, and opens no watch', async () => {
    const script = new Script();
    let answer: (() => void) | undefined;
    script.list = () =>
      new Promise((resolve) => {
        answer = () => resolve({ resourceVersion: '10' as ResourceVersion, items: [make('a', '5')] });
      });
    await run(script, { useWatchList: false });
    await reflector?.close();
    answer?.();
    await settle();
    expect([calls, script.watches, reflector?.lastSyncResourceVersion]).toEqual([[], [], '']);
  });
});

describe('Reflector: the events of a watch', () => {
  it('applies nothing more of a watch when it is closed from within the store', async () => {
    const script = new Script();
    const store = recorder();
    const { add } = store;
    store.add = (object) => {
      add(object);
      void reflector?.close();
      script.send('ADDED', make('b', '12'));
    };
    reflector = new Reflector<TestPod>(script, store, { clock, useWatchList: false });
    reflector.start();
    await settle();
    script.send('ADDED', make('a', '11'));
    expect([calls, reflector.lastSyncResourceVersion]).toEqual([['replace @10', 'add a@11'], '11']);
  });

  it('applies additions, changes and deletions, and ends up at the version of the last', async () => {
    const script = await run(new Script(), { useWatchList: false });
    script.send('ADDED', make('foo', '20'));
    script.send('MODIFIED', make('bar', '25'));
    script.send('DELETED', make('baz', '32'));
    expect(calls).toEqual(['replace @10', 'add foo@20', 'update bar@25', 'delete baz@32']);
    expect(reflector?.lastSyncResourceVersion).toBe('32');
  });

  it('tells the store of each version: of an addition, a change and a bookmark', async () => {
    const script = await run(new Script(), { useWatchList: false });
    script.send('ADDED', make('foo', '10'));
    script.send('MODIFIED', make('foo', '20'));
    script.bookmark('30');
    expect(calls.slice(1)).toEqual(['add foo@10', 'update foo@20', 'bookmark @30']);
  });

  const expected = { apiVersion: 'v1', kind: 'Pod' };
  it.each<[string, object, string]>([
    [
      'another kind',
      { apiVersion: 'v1', kind: 'Service' },
      'unexpected watch event object: expected v1, Kind=Pod, got v1, Kind=Service',
    ],
    [
      'another version',
      { apiVersion: 'v2', kind: 'Pod' },
      'unexpected watch event object: expected v1, Kind=Pod, got v2, Kind=Pod',
    ],
    [
      'a Table',
      { apiVersion: 'meta.k8s.io/v1', kind: 'Table' },
      'unsupported watch event object: meta.k8s.io/v1, Kind=Table',
    ],
  ])('reports and leaves out an object of %s, and its version', async (_name, type, text) => {
    for (const useWatchList of [false, true]) {
      const script = await run(new Script(), { useWatchList, expected });
      script.send('ADDED', { ...type, metadata: { name: 'a', resourceVersion: '99' } });
      script.send('ADDED', make('b', '12'));
      script.bookmark('13', true);
      expect(calls.join()).not.toContain('a@');
      expect(calls.join()).toContain(useWatchList ? 'replace b@13' : 'add b@12');
      expect([errors, reflector?.lastSyncResourceVersion]).toEqual([[`TypeError: ${text}`], '13']);
      await reflector?.close();
      [calls, errors] = [[], []];
    }
  });

  it.each<[string, boolean, object]>([
    ['meta.k8s.io/v1 Table', false, { apiVersion: 'meta.k8s.io/v1', kind: 'Table' }],
    ['meta.k8s.io/v1beta1 Table', false, { apiVersion: 'meta.k8s.io/v1beta1', kind: 'Table' }],
    ['meta.k8s.io/v1 PartialObjectMetadata', true, { apiVersion: 'meta.k8s.io/v1', kind: 'PartialObjectMetadata' }],
    ['Table of another group', true, { apiVersion: 'furniture.example.com/v1', kind: 'Table' }],
    ['thing that does not say what it is', true, {}],
  ])('where any kind is expected, a %s is taken: %s', async (_name, isTaken, type) => {
    const script = await run(new Script(), { useWatchList: false });
    script.send('ADDED', { ...type, metadata: { name: 'a', resourceVersion: '11' } });
    expect(calls.slice(1)).toEqual(isTaken ? ['add a@11'] : []);
    expect(reflector?.lastSyncResourceVersion).toBe(isTaken ? '11' : '10');
  });

  it.each<[string, object]>([
    ['its own kind', { apiVersion: 'v1', kind: 'Pod' }],
    ['no kind', {}],
    ['metadata alone', { apiVersion: 'meta.k8s.io/v1', kind: 'PartialObjectMetadata' }],
  ])('where a Pod is expected, takes an object of %s', async (_name, type) => {
    const script = await run(new Script(), { useWatchList: false, expected });
    script.send('ADDED', { ...type, metadata: { name: 'a', resourceVersion: '11' } });
    expect([calls.slice(1), errors]).toEqual([['add a@11'], []]);
  });

  it('reports an event of a type that nobody knows, changes nothing, and goes on behind it', async () => {
    const script = await run(new Script(), { useWatchList: false });
    script.send('RENAMED' as 'ADDED', make('a', '11'));
    expect(calls).toEqual(['replace @10']);
    expect(errors).toEqual(['TypeError: unable to understand watch event: its type is RENAMED']);
    expect(reflector?.lastSyncResourceVersion).toBe('11');
  });
});

describe('Reflector: list and watch', () => {
  it.each([true, false])(
    'asks for what follows what it has, in order, over ends of watches (streamed: %s)',
    async (useWatchList) => {
      const source = new FakeListerWatcher<TestPod>({ startVersion: 0 });
      source.add(pod({ name: 'p1' }));
      await run(source, { useWatchList });
      for (const name of ['p2', 'p3']) {
        source.add(pod({ name }));
        source.resetWatches();
      }
      source.add(pod({ name: 'p4' }));
      expect(calls).toEqual(['replace p1@1', 'add p2@2', 'add p3@3', 'add p4@4']);
      expect(source.asked('list').map(({ resourceVersion }) => resourceVersion)).toEqual(useWatchList ? [] : ['0']);
      expect(source.asked('watch').map(({ resourceVersion }) => resourceVersion)).toEqual(
        useWatchList ? [undefined, '2', '3'] : ['1', '2', '3'],
      );
    },
  );

  it('ends up with the last good list, whatever failed on the way', async () => {
    const script = new Script();
    const answers: (Error | string[])[] = [new Error('list 1'), ['a', 'b'], new Error('list 3'), ['b', 'c']];
    script.list = () => {
      const answer = answers.shift() ?? [];
      if (answer instanceof Error) return Promise.reject(answer);
      const items = answer.map((name) => make(name, '5'));
      return Promise.resolve({ resourceVersion: '10' as ResourceVersion, items });
    };
    await run(script, { useWatchList: false });
    await clock.advance(800);
    script.fail(new Error('watch'));
    await clock.advance(1600);
    await clock.advance(3200);
    expect(calls).toEqual(['replace a b@10', 'replace b c@10']);
    expect(errors).toEqual(['Error: list 1', 'Error: watch', 'Error: list 3']);
    expect(answers).toEqual([]);
  });

  it('takes a new state when the source cannot decode an object any more', async () => {
    const script = new Script();
    script.items = [make('a', '5'), make('broken', '6')];
    await run(script, { useWatchList: false });
    script.items = [make('a', '5')];
    script.version = '20';
    const error = { code: 500, reason: 'StorageReadError', message: 'failed to decode' } as object;
    script.fail(statusErrorFrom(error));
    await clock.advance(800);
    expect(calls).toEqual(['replace a broken@10', 'replace a@20']);
    expect(script.lists.map(({ resourceVersion }) => resourceVersion)).toEqual(['0', '10']);
  });

  it('comes back for a watch that was refused for too many requests, twice, without a second list', async () => {
    const source = new FakeListerWatcher<TestPod>({ startVersion: 10 });
    for (let i = 0; i < 2; i++) source.failNext('watch', tooManyRequests('slow down', 1));
    await run(source, { useWatchList: false });
    await clock.advance(799);
    expect(source.asked('watch')).toHaveLength(1);
    await clock.advance(1 + 1600);
    expect([source.asked('list').length, source.asked('watch').length, source.openWatches]).toEqual([1, 3, 1]);
  });

  it.each<[string, number, number, string[]]>([
    ['ten seconds', 6000, 4000, []],
    [
      'a list of more than ten seconds',
      10_001,
      0,
      ['pods: slow ListAndWatch (total time: 10001ms): objects listed 10001ms, store replaced 0ms'],
    ],
    [
      'a store that takes its time',
      4000,
      6500,
      ['pods: slow ListAndWatch (total time: 10500ms): objects listed 4000ms, store replaced 6500ms'],
    ],
  ])('says where the time went of a first state of more than ten seconds: %s', async (_name, listMs, writeMs, told) => {
    for (const useWatchList of [false, true]) {
      const script = new Script();
      const answer = script.list.bind(script);
      script.list = async (options) => {
        await delay(clock, listMs);
        return answer(options);
      };
      // Time passes within one call.
      let laterMs = 0;
      const late: ReflectorStore<TestPod> = {
        ...recorder(),
        replace: () => {
          laterMs += writeMs;
        },
      };
      const lateClock: Clock = {
        now: () => clock.now(),
        monotonicNow: () => clock.monotonicNow() + laterMs,
        setTimer: (callback, delayMs) => clock.setTimer(callback, delayMs),
        setBackgroundTimer: (callback, delayMs) => clock.setBackgroundTimer(callback, delayMs),
      };
      const onWarning = (text: string): void => void (text.includes('slow') && warnings.push(text));
      const options = { clock: lateClock, name: 'pods', useWatchList, onWarning };
      reflector = new Reflector<TestPod>(script, late, options);
      reflector.start();
      await clock.advance(listMs);
      if (useWatchList) script.bookmark('10', true);
      await settle();
      expect(reflector.status.phase).toBe('live');
      expect(warnings.splice(0)).toEqual(
        useWatchList ? told.map((text) => text.replace('ListAndWatch', 'WatchList')) : told,
      );
      await reflector.close();
    }
  });

  it('resyncs when the time has come, not before, and begins to count anew', async () => {
    const times: number[] = [];
    const source = new FakeListerWatcher<TestPod>();
    const store = { ...recorder(), resync: () => void times.push(clock.monotonicNow()) };
    reflector = new Reflector<TestPod>(source, store, { clock, idleTimeoutMs: 0, resyncMs: 1 });
    reflector.start();
    await clock.advance(3);
    expect(times).toEqual([1, 2, 3]);
  });

  it('never resyncs without a period, and not while it lists', async () => {
    let resyncs = 0;
    const script = new Script();
    let answer: (() => void) | undefined;
    script.list = () =>
      new Promise((resolve) => {
        answer = () => resolve({ resourceVersion: '10' as ResourceVersion, items: [] });
      });
    for (const resyncMs of [0, 1000]) {
      const store = { ...recorder(), resync: () => void resyncs++ };
      reflector = new Reflector<TestPod>(script, store, { clock, useWatchList: false, idleTimeoutMs: 0, resyncMs });
      reflector.start();
      await clock.advance(10_000);
      expect(resyncs).toBe(0);
      answer?.();
      await settle();
      await clock.advance(1000);
      expect(resyncs).toBe(resyncMs === 0 ? 0 : 1);
      await reflector.close();
    }
  });
});

describe('Reflector: the initial state as a stream', () => {
  const flags = [
    { useWatchList: true, supportsWatchList: true, streams: true },
    { useWatchList: true, supportsWatchList: undefined, streams: true },
    { useWatchList: true, supportsWatchList: false, streams: false },
    { useWatchList: false, supportsWatchList: true, streams: false },
    { useWatchList: false, supportsWatchList: false, streams: false },
    { useWatchList: undefined, supportsWatchList: undefined, streams: true },
  ];
  it.each(flags)(
    'asked: $useWatchList, source: $supportsWatchList, streams: $streams',
    async ({ streams, ...flag }) => {
      const { useWatchList, supportsWatchList } = flag;
      const script = new Script();
      if (supportsWatchList !== undefined) Object.assign(script, { supportsWatchList });
      await run(script, useWatchList === undefined ? {} : { useWatchList });
      expect([script.lists.length, script.watches[0]?.sendInitialEvents]).toEqual(streams ? [0, true] : [1, undefined]);
    },
  );

  it('writes nothing to the store before the marker, then all at once', async () => {
    const script = await run(new Script());
    script.send('ADDED', make('a', '30'));
    script.send('ADDED', make('b', '7'));
    script.bookmark('31');
    expect([calls, reflector?.status.phase, reflector?.lastSyncResourceVersion]).toEqual([[], 'syncing', '']);
    script.bookmark('40', true);
    expect([calls, reflector?.status.phase, reflector?.lastSyncResourceVersion]).toEqual([
      ['replace a b@40'],
      'live',
      '40',
    ]);
    script.bookmark('41');
    script.send('ADDED', make('c', '42'));
    expect(calls.slice(1)).toEqual(['bookmark @41', 'add c@42']);
    expect([script.lists.length, script.watches.length]).toEqual([0, 1]);
  });

  it('takes changes and deletions of what is being streamed into it', async () => {
    const script = await run(new Script());
    script.send('ADDED', make('a', '1'));
    script.send('ADDED', make('b', '2'));
    script.send('MODIFIED', make('b', '4'));
    script.send('DELETED', make('a', '5'));
    script.send('ADDED', make('c', '3'));
    script.bookmark('6', true);
    expect(calls).toEqual(['replace b c@6']);
  });

  it('keeps nothing of a stream that ended before its marker', async () => {
    const script = await run(new Script());
    script.send('ADDED', make('a', '1'));
    script.end();
    expect(script.watches.map(({ resourceVersion }) => resourceVersion)).toEqual([undefined, undefined]);
    script.send('ADDED', make('b', '2'));
    script.bookmark('3', true);
    expect([calls, script.lists]).toEqual([['replace b@3'], []]);
  });

  it('watches on, without another stream, when the watch ends behind the marker', async () => {
    const script = await run(new Script());
    script.bookmark('3', true);
    await clock.advance(2000);
    script.end();
    expect(script.watches[1]).toMatchObject({ resourceVersion: '3', allowWatchBookmarks: true });
    expect(script.watches[1]).not.toHaveProperty('sendInitialEvents');
    script.send('ADDED', make('b', '4'));
    expect(calls).toEqual(['replace @3', 'add b@4']);
  });

  it('tries the stream again when too many ask, and keeps nothing of the first', async () => {
    const script = await run(new Script());
    script.send('ADDED', make('a', '1'));
    script.fail(tooManyRequests('slow down', 1));
    await clock.advance(800);
    script.bookmark('3', true);
    expect([calls, script.lists, script.watches.length]).toEqual([['replace @3'], [], 2]);
  });

  it.each<[string, Error]>([
    ['as invalid', invalid({ group: 'meta.k8s.io', kind: 'ListOptions' }, '', [])],
    ['for any other reason', internalError('boom')],
  ])('lists this once where the stream is refused %s', async (_name, error) => {
    const source = new FakeListerWatcher<TestPod>({ startVersion: 10 });
    source.add(pod({ name: 'a' }));
    source.failNext('watch', error);
    await run(source);
    expect([calls, source.asked('list').length]).toEqual([['replace a@11'], 1]);
    source.resetWatches(internalError('gone'));
    await clock.advance(800);
    expect(source.asked('watch').at(-1)).toMatchObject({ sendInitialEvents: true, resourceVersion: '11' });
    expect(source.asked('list')).toHaveLength(1);
  });

  it.each([
    ['no event', [], 'pods: awaiting required bookmark event for initial events stream, no events received for 10s'],
    [
      'one event after four seconds',
      [4000],
      "pods: hasn't received required bookmark event marking the end of initial events stream, received last event 16s ago",
    ],
    ['events all the time', [4000, 12_000, 19_000], undefined],
  ] as const)('warns once of a stream that has had %s', async (_name, events, warning) => {
    const script = await run(new Script(), { name: 'pods', idleTimeoutMs: 0 });
    for (const atMs of events) {
      await clock.advance(atMs - clock.monotonicNow());
      script.send('ADDED', make('a', '1'));
    }
    await clock.advance(20_000 - clock.monotonicNow());
    expect(warnings).toEqual(warning === undefined ? [] : [warning]);
    if (events.length === 1) await clock.advance(60_000);
    expect(warnings).toHaveLength(warning === undefined ? 0 : 1);
  });

  it('does not warn of silence behind the marker, of a list, of a pause, nor of a plain watch', async () => {
    const script = await run(new Script(), { idleTimeoutMs: 0 });
    script.bookmark('3', true);
    await clock.advance(60_000);
    script.fail(internalError('gone'));
    await clock.advance(800); // streams again
    script.list = () => new Promise(() => undefined);
    script.fail(internalError('gone'));
    await clock.advance(60_000);
    expect([reflector?.status.phase, warnings]).toEqual(['retrying', []]);
    await reflector?.close();
    await run(new Script(), { idleTimeoutMs: 0, useWatchList: false });
    await clock.advance(60_000);
    expect(warnings).toEqual([]);
  });

  it('survives a warning that throws', async () => {
    const script = await run(new Script(), {
      onWarning: () => {
        throw new Error('from the warning');
      },
    });
    await clock.advance(10_000);
    expect(errors).toEqual(['Error: from the warning']);
    script.bookmark('3', true);
    expect(reflector?.status.phase).toBe('live');
  });
});
