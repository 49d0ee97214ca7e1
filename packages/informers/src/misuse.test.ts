import { type ListerWatcher, type Resource, silentLogger } from '@kapstan/api';
import { FakeListerWatcher, pod, type TestPod, testPods, VirtualClock } from '@kapstan/api/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { conflateByKey } from './handlers/conflate-by-key.ts';
import { filteringHandler } from './handlers/event-handler.ts';
import { Reflector } from './reflector/reflector.ts';
import { retryWatch } from './retry-watch.ts';
import { SharedInformer } from './shared-informer.ts';
import { SharedInformerFactory } from './shared-informer-factory.ts';
import { Indexer } from './store/indexer.ts';
import { until } from './until.ts';
import { waitForCacheSync } from './wait-for-cache-sync.ts';

type Make = () => unknown;
class Misnamed {
  onCreate(): void {
    // A method name of another library.
  }
}
const source = new FakeListerWatcher<TestPod>();
const client = { listerWatcher: () => source as never };
const closing: { close(): Promise<void> }[] = [];
const informer = (options?: unknown, from: unknown = source): SharedInformer<TestPod> => {
  const made = new SharedInformer<TestPod>(from as ListerWatcher<TestPod>, options as never);
  closing.push(made);
  return made;
};
const factory = (options?: unknown, from: unknown = client): SharedInformerFactory =>
  new SharedInformerFactory(from as never, options as never);
const store = new Indexer<TestPod>();
const reflector = (options?: unknown, into: unknown = store): unknown =>
  new Reflector<TestPod>(source, into as never, options as never);
const notPeriod = (what: string): string => `resyncMs must be a number of at least 0, not ${what}`;

afterEach(async () => {
  await Promise.all(closing.splice(0).map((one) => one.close()));
});

describe('members of options that are none', () => {
  it('are left to their callbacks', async () => {
    const options = {
      failures: 0,
      onHandlerError(): void {
        this.failures += 1;
      },
    };
    const one = informer(options);
    one.addEventHandler({
      onAdd: () => {
        throw new Error('broken');
      },
    });
    source.add(pod({ name: 'a' }));
    one.start();
    await one.whenSynced();
    expect(options.failures).toBe(1);
  });
});

describe('is refused at once, by name', () => {
  it.each<[string, Make, string]>([
    ['no source', () => informer({}, null), 'a ListerWatcher needs the function list, it is null'],
    ['a source of lists alone', () => informer({}, { list: () => [] }), 'a ListerWatcher needs the function watch'],
    ['a client in place of a source', () => informer({}, client), 'a ListerWatcher needs the function list'],
    ['options that are a number', () => informer(5), 'options must be an object, not 5'],
    ['options that are null', () => informer(null), 'options must be an object, not null'],
    ['a transform that is none', () => informer({ transform: {} }), 'transform must be a function, not an object'],
    ['indexers in a list', () => informer({ indexers: [] }), 'must be an object, not a list'],
    [
      'an index that is text',
      () => informer({ indexers: { node: 'n' } }),
      'the index "node" must be a function, not "n"',
    ],
    [
      'an index of the name that listers read',
      () => informer({ indexers: { namespace: () => ['all'] } }),
      'indexer conflict: {namespace}: this index always exists because listers read it; use another name',
    ],
    [
      'a selector in small letters',
      () => informer({ labelselector: 'a' }),
      'an informer: unknown option "labelselector"; did you mean "labelSelector"?',
    ],
    [
      'a namespace, which a source has',
      () => informer({ namespace: 'a' }),
      'an informer: unknown option "namespace"; it takes clock, ',
    ],
    [
      "a reflector's option",
      () => informer({ shouldResync: () => true }),
      'an informer: unknown option "shouldResync"; it takes clock, ',
    ],
    ['a period in words', () => informer({ resyncMs: '10s' }), notPeriod('"10s"')],
    ['a period as text', () => informer({ resyncMs: '5000' }), notPeriod('"5000"')],
    ['an onHandlerError', () => informer({ onHandlerError: 5 }), 'onHandlerError must be a function, not 5'],
    ['an onWatchError', () => informer({ onWatchError: {} }), 'onWatchError must be a function, not an object'],
    ['a random number', () => informer({ random: 0.5 }), 'random must be a function, not 0.5'],
    ['a logger of one level', () => informer({ logger: { warn: () => 0 } }), 'logger needs the function debug'],
    [
      'a clock that is Date',
      () => informer({ clock: Date }),
      'clock needs the function monotonicNow, it is a function',
    ],
    [
      'a selector as an object',
      () => informer({ labelSelector: { app: 'a' } }),
      'labelSelector must be a string, not an',
    ],
    ['a field selector', () => informer({ fieldSelector: 5 }), 'fieldSelector must be a string, not 5'],
    ['a name', () => informer({ name: 5 }), 'name must be a string, not 5'],
    [
      'a detection',
      () => informer({ mutationDetection: 'on' }),
      "mutationDetection must be 'off', 'freeze' or 'compare'",
    ],
    ['a FIFO', () => informer({ fifo: 'lifo' }), "fifo must be 'delta' or 'inOrder', got lifo"],
    ['retryOnError as text', () => informer({ retryOnError: 'no' }), 'retryOnError must be true or false, not "no"'],
    ['a stream in words', () => informer({ useWatchList: 'no' }), 'useWatchList must be true or false, not "no"'],
    ['a page size', () => informer({ pageSize: -1 }), 'pageSize must be a number of at least 0, got -1'],
  ])('by an informer: %s', (_what, make, message) => {
    expect(make).toThrow(TypeError);
    expect(make).toThrow(message);
  });

  it.each<[string, Make, string]>([
    ['a bare function', () => informer().addEventHandler((() => 0) as never), 'must be an object, not a function'],
    ['nothing', () => informer().addEventHandler(undefined as never), 'must be an object, not undefined'],
    ['no function', () => informer().addEventHandler({ onAdd: 5 as never }), 'onAdd must be a function, not 5'],
    ['other names', () => informer().addEventHandler({ add: () => 0 } as never), 'this one has add'],
    [
      'other names, inherited',
      () => informer().addEventHandler(new Misnamed() as never),
      'a Misnamed has none of onAdd, onUpd',
    ],
    ['a Map', () => informer().addEventHandler(new Map() as never), 'a Map has none of onAdd, onUpdate, onDelete'],
    ['a period as text', () => informer().addEventHandler({}, { resyncMs: '5' as never }), notPeriod('"5"')],
    ['a period alone', () => informer().addEventHandler({}, 5000 as never), 'options of a handler must be an object'],
    ['no filter', () => filteringHandler(undefined as never, {}), 'a filter must be a function, not undefined'],
    ['a filter that is none', () => filteringHandler({} as never, {}), 'a filter must be a function, not an object'],
    [
      'nothing to filter for',
      () => filteringHandler(() => true, undefined as never),
      'must be an object, not undefined',
    ],
  ])('as a handler: %s', (_what, make, message) => {
    expect(make).toThrow(TypeError);
    expect(make).toThrow(message);
  });

  it.each<[string, Make, string]>([
    ['indexers that are null', () => informer().addIndexers(null as never), 'must be an object, not null'],
    ['no index function', () => informer().addIndexers({ a: undefined as never }), 'the index "a" must be a function'],
    ['none of a store', () => new Indexer({ a: 5 as never }), 'the index "a" must be a function, not 5'],
    ['no transform', () => informer().setTransform({} as never), 'transform must be a function, not an object'],
    [
      'a controller as a signal',
      () => informer().watchEvents({ signal: new AbortController() as never }),
      'AbortSignal',
    ],
    [
      'a bare signal',
      () => informer().watchEvents(null as never),
      'options of watchEvents() must be an object, not null',
    ],
    [
      'a period of a handler without its unit',
      () => informer().addEventHandler({}, { resync: 5 } as never),
      'a handler: unknown option "resync"; did you mean "resyncMs"?',
    ],
    [
      'a signal of another name',
      () => informer().watchEvents({ abort: new AbortController().signal } as never),
      'watchEvents(): unknown option "abort"; it takes signal',
    ],
  ])('later on: %s', (_what, make, message) => {
    expect(make).toThrow(TypeError);
    expect(make).toThrow(message);
  });

  it.each<[string, Make, string]>([
    ['no client', () => factory({}, null), 'a client needs the function listerWatcher, it is null'],
    ['a source in place of a client', () => factory({}, source), 'a client needs the function listerWatcher'],
    ['options that are a number', () => factory(600_000), 'options must be an object, not 600000'],
    ['a period as text', () => factory({ resyncMs: '10m' }), notPeriod('"10m"')],
    ['a negative period', () => factory({ resyncMs: -1 }), notPeriod('-1')],
    ['a namespace in a list', () => factory({ namespace: ['a'] }), 'namespace must be a string, not a list'],
    ['a tweak that is none', () => factory({ tweakListOptions: {} }), 'tweakListOptions must be a function'],
    ['isServed that is true', () => factory({ isServed: true }), 'isServed must be a function, not true'],
    ['a transform that is none', () => factory({ transform: 5 }), 'transform must be a function, not 5'],
    ['a clock', () => factory({ clock: {} }), 'clock needs the function now, it is an object'],
    ['periods in an object', () => factory({ customResyncMs: { pods: 5 } }), 'customResyncMs must be pairs'],
    ['the period of a word', () => factory({ customResyncMs: [['pods', 5]] }), 'customResyncMs takes a resource'],
    ['no period', () => factory({ customResyncMs: [[testPods, 'x']] }), 'customResyncMs of pods must be a number'],
    ['a word for a kind', () => factory().informer('pods' as never), 'a factory takes a resource'],
    ['no kind', () => factory().acquire(undefined as never), "such as Pod of '@kapstan/kinds/core/v1'"],
    ['a kind alone', () => factory().metadataInformer({ kind: 'Pod' } as Resource), 'a factory takes a resource'],
    ['options of an informer', () => factory().informer(testPods, 5 as never), 'options must be an object, not 5'],
    ['a transform of an informer', () => factory().informer(testPods, { transform: {} as never }), 'transform must be'],
    [
      "a factory's option with a letter too few",
      () => factory({ tweakListOption: () => ({}) }),
      'a factory: unknown option "tweakListOption"; did you mean "tweakListOptions"?',
    ],
    [
      'a selector of all informers',
      () => factory({ labelSelector: 'a' }),
      'a factory: unknown option "labelSelector"; it takes clock, ',
    ],
    [
      'a selector of one request',
      () => factory().informer(testPods, { fieldSelector: 'a' } as never),
      'an informer of a factory: unknown option "fieldSelector"; it takes indexers, ',
    ],
    [
      'a selector that a factory tweaks',
      () => factory({ tweakListOptions: () => ({ labelselector: 'a' }) }).informer(testPods),
      'an informer: unknown option "labelselector"; did you mean "labelSelector"?',
    ],
  ])('by a factory: %s', (_what, make, message) => {
    expect(make).toThrow(TypeError);
    expect(make).toThrow(message);
  });

  it.each<[string, Make, string]>([
    ['a store that is none', () => reflector({}, {}), 'a store needs the function add, it is an object'],
    ['a period', () => reflector({ resyncMs: Number.NaN }), notPeriod('NaN')],
    ['onStoreError', () => reflector({ onStoreError: {} }), 'onStoreError must be a function, not an object'],
    ['shouldResync', () => reflector({ shouldResync: true }), 'shouldResync must be a function, not true'],
    ['no version', () => retryWatch(source, {} as never), 'resourceVersion must be a string, not undefined'],
    ['no work', () => conflateByKey(undefined as never), 'the work of conflateByKey() must be a function'],
    [
      "a reflector's option in another case",
      () => reflector({ onStoreerror: () => undefined }),
      'a reflector: unknown option "onStoreerror"; did you mean "onStoreError"?',
    ],
  ])('by a part: %s', (_what, make, message) => {
    expect(make).toThrow(TypeError);
    expect(make).toThrow(message);
  });

  it.each<[string, () => Promise<unknown>, string]>([
    ['a time as text', () => until(informer().events$, [() => true], { timeoutMs: '5' as never }), 'timeoutMs must be'],
    ['a condition', () => until(informer().events$, [true as never]), 'a condition must be a function, not true'],
    ['a signal', () => until(informer().events$, [() => true], { signal: {} as never }), 'signal takes an AbortSignal'],
    ['a signal of sync', () => waitForCacheSync([informer()], { signal: 5 as never }), 'signal takes an AbortSignal'],
    ['an informer alone', () => waitForCacheSync(informer() as never), 'a list of informers'],
  ])('by rejecting, what waits: %s', async (_what, wait, message) => {
    await expect(wait()).rejects.toThrow(TypeError);
    await expect(wait()).rejects.toThrow(message);
  });
});

describe('a request of a factory that is wrong', () => {
  it('fails also where the informer is there already, and leaves it as it was', () => {
    const shared = factory();
    const first = shared.informer(testPods);
    closing.push(shared);
    expect(() => shared.informer(testPods, { indexers: { a: () => [], node: 5 as never } })).toThrow(
      'the index "node"',
    );
    expect(() => shared.informer(testPods, { resyncMs: '5' as never })).toThrow(notPeriod('"5"'));
    expect(first.indexer.hasIndex('a')).toBe(false);
    expect(shared.informer(testPods)).toBe(first);
  });
});

describe('a callback that is async after all, and fails', () => {
  const rejects = (async () => {
    throw new Error('mine');
  }) as never;

  it('is told of as what throws is, and ends neither the informer nor the process', async () => {
    const clock = new VirtualClock();
    const from = new FakeListerWatcher<TestPod>();
    for (const method of ['watch', 'list'] as const) from.failNext(method, new Error('not yet'));
    const told: string[] = [];
    const logger = { ...silentLogger, warn: (text: string) => void told.push(text) };
    const one = informer({ clock, logger, onWatchError: rejects, onHandlerError: rejects }, from);
    one.start();
    await clock.advance(60_000);
    expect(one.hasSynced).toBe(true);
    // A rejection of onWatchError goes to onHandlerError, and a rejection of that goes to the logger.
    expect(new Set(told)).toEqual(new Set(['objects: onHandlerError failed: mine']));
  });
});

describe('what is taken', () => {
  it('is an empty handler, one whose methods are inherited, and periods in a generator', () => {
    class Handler {
      readonly name = 'mine';
      onAdd(): void {
        // The member is inherited, so it is not among the object's own keys.
      }
    }
    const one = informer();
    expect(() => one.addEventHandler({})).not.toThrow();
    expect(() => one.addEventHandler(new Handler())).not.toThrow();
    function* periods(): Iterable<readonly [Resource, number]> {
      yield [testPods, 3000];
    }
    const warnings: string[] = [];
    const logger = { ...silentLogger, warn: (text: string) => void warnings.push(text) };
    const made = factory({ customResyncMs: periods(), logger });
    closing.push(made);
    // Uses the informer's resync period; an informer without one would cause a warning.
    made.informer(testPods).addEventHandler({}, { resyncMs: 3000 });
    expect(warnings).toEqual([]);
  });
});
