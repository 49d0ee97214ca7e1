// Tests how an informer treats an object that cannot be written to its cache, with and without `retryOnError`.
import { FakeListerWatcher, pod, settle, type TestPod, VirtualClock } from '@kapstan/api/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SharedInformer } from './shared-informer.ts';
import type { SharedInformerOptions } from './shared-informer-options.ts';

let clock: VirtualClock;
let source: FakeListerWatcher<TestPod>;
let informer: SharedInformer<TestPod>;
/** Names of objects for which the index function throws. */
let bad: Set<string>;
let attempts: string[];
let told: string[];
let errors: string[];

const node = ({ metadata, spec }: { metadata?: { name?: string }; spec?: { nodeName?: string } }) => {
  const name = metadata?.name ?? '';
  attempts.push(name);
  if (bad.has(name)) throw new Error(`no node for ${name}`);
  return [spec?.nodeName];
};

async function start(options: SharedInformerOptions<TestPod> = {}): Promise<void> {
  informer = new SharedInformer<TestPod>(source, {
    clock,
    random: () => 0,
    retryOnError: true,
    onHandlerError: (error) => void errors.push((error as Error).message),
    ...options,
  });
  informer.addEventHandler({
    onAdd: ({ metadata }) => void told.push(`+${metadata?.name}`),
    onUpdate: (_old, { metadata, spec }) => void told.push(`~${metadata?.name} ${spec?.nodeName}`),
    onDelete: () => void told.push('-'),
  });
  // The index is added only now, so that the informer indexes nothing twice.
  informer.addIndexers({ node });
  informer.start();
  await settle();
}
const cached = (): string[] =>
  informer.lister
    .list()
    .map(({ metadata }) => metadata?.name ?? '')
    .sort();
const versions = (): string[] => [informer.indexer.resourceVersion, informer.lastSyncResourceVersion];

beforeEach(() => {
  clock = new VirtualClock();
  source = new FakeListerWatcher<TestPod>({ startVersion: 10 });
  [bad, attempts, told, errors] = [new Set(), [], [], []];
});
afterEach(() => informer.close());

describe('an informer with retryOnError', () => {
  it('tries again once a second to cache what it could not, and tells of it then', async () => {
    bad.add('b');
    for (const name of ['a', 'b', 'c']) source.add(pod({ name }, { spec: { nodeName: 'n1' } }));
    await start();
    expect([cached(), told, informer.hasSynced]).toEqual([['a', 'c'], ['+a', '+c'], true]);
    await clock.advance(2999);
    expect(attempts).toEqual(['a', 'b', 'c', 'b', 'b']);
    expect(errors).toHaveLength(3);
    expect(errors[0]).toContain('"default/b" on index "node": no node for b');
    bad.clear();
    await clock.advance(1);
    expect([cached(), told]).toEqual([
      ['a', 'b', 'c'],
      ['+a', '+c', '+b'],
    ]);
    expect(informer.indexer.indexKeys('node', 'n1')).toEqual(['default/a', 'default/b', 'default/c']);
    await clock.advance(60_000);
    expect([errors.length, told.length]).toEqual([3, 3]);
  });

  it('counts as synced with an empty cache where nothing can be cached, and tells of each attempt', async () => {
    for (const name of ['a', 'b']) source.add(pod({ name }));
    bad.add('a').add('b');
    await start();
    expect([await informer.whenSynced(), cached(), errors.length]).toEqual([true, [], 2]);
    await clock.advance(1000);
    expect([cached(), errors.length]).toEqual([[], 4]);
  });

  it('does not try earlier because of what happens to others, and holds up none of them', async () => {
    bad.add('b').add('c');
    for (const name of ['b', 'c']) source.add(pod({ name }));
    await start();
    for (const name of ['d', 'e', 'f']) source.add(pod({ name }));
    expect([cached(), attempts]).toEqual([
      ['d', 'e', 'f'],
      ['b', 'c', 'd', 'e', 'f'],
    ]);
    await clock.advance(1000);
    expect(attempts.slice(5)).toEqual(['b', 'c']);
    bad.delete('c');
    await clock.advance(1000);
    expect(cached()).toEqual(['c', 'd', 'e', 'f']);
  });

  it('takes the newest state of what waits', async () => {
    bad.add('a');
    source.add(pod({ name: 'a' }, { spec: { nodeName: 'n1' } }));
    await start();
    source.modify(pod({ name: 'a' }, { spec: { nodeName: 'n2' } }));
    bad.clear();
    await clock.advance(1000);
    expect(informer.lister.list().map(({ spec }) => spec?.nodeName)).toEqual(['n2']);
    expect(informer.indexer.indexValues('node')).toEqual(['n2']);
  });

  it.each(['deleted', 'gone with the watch'])('brings nothing back that was %s meanwhile', async (how) => {
    bad.add('a');
    source.add(pod({ name: 'a' }));
    await start();
    if (how !== 'deleted') source.resetWatches(new Error('down'));
    source.delete({ name: 'a' });
    if (how !== 'deleted') source.expire();
    await clock.advance(60_000);
    bad.clear();
    await clock.advance(60_000);
    expect([cached(), informer.status.phase]).toEqual([[], 'live']);
    expect(versions()).toEqual(['12', '12']);
  });

  it('keeps the version of the cache where it holds everything', async () => {
    source.add(pod({ name: 'a' }));
    await start();
    bad.add('b');
    for (const name of ['b', 'c']) source.add(pod({ name }));
    expect([cached(), versions()]).toEqual([
      ['a', 'c'],
      ['11', '13'],
    ]);
    source.bookmark();
    expect(versions()).toEqual(['11', '14']);
    bad.clear();
    await clock.advance(1000);
    expect([cached(), versions()]).toEqual([
      ['a', 'b', 'c'],
      ['14', '14'],
    ]);
  });

  it('tries nothing again for a handler that throws, and nothing after it is closed', async () => {
    bad.add('b');
    source.add(pod({ name: 'a' }));
    source.add(pod({ name: 'b' }));
    await start();
    informer.addEventHandler({
      onAdd: () => {
        throw new Error('from a handler');
      },
    });
    await clock.advance(1000);
    expect(errors.filter((text) => text === 'from a handler')).toHaveLength(1);
    const before = attempts.length;
    await informer.close();
    expect(clock.pendingTimers).toBe(0);
    await clock.advance(10_000);
    expect(attempts).toHaveLength(before);
  });

  it('is refused in order, where what is tried again would come after what is newer', () => {
    const create = () => new SharedInformer<TestPod>(source, { fifo: 'inOrder', retryOnError: true });
    expect(create).toThrow(
      new TypeError("retryOnError requires fifo 'delta': with 'inOrder', a retried change would come after newer ones"),
    );
  });
});

it.each(['delta', 'inOrder'] as const)(
  'an informer without retryOnError caches and tells of it at once: %s',
  async (fifo) => {
    bad.add('b');
    for (const name of ['a', 'b']) source.add(pod({ name }, { spec: { nodeName: 'n1' } }));
    await start({ retryOnError: false, fifo });
    await clock.advance(60_000);
    expect([cached(), told, errors.length]).toEqual([['a', 'b'], ['+a', '+b'], 1]);
    expect(informer.indexer.indexKeys('node', 'n1')).toEqual(['default/a']);
  },
);
