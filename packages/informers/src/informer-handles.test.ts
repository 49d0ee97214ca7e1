// Tests which informers of a factory are needed, and when one is closed: with its last handle, or with its kind.
import { type KubernetesObject, type ListerWatcher, type Resource, StatusError } from '@kapstan/api';
import { serviceUnavailable } from '@kapstan/api/errors';
import { FakeListerWatcher, LeakCheck, pod, testConfigMaps, testPods, VirtualClock } from '@kapstan/api/testing';
import { throwError } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SharedInformerFactory } from './shared-informer-factory.ts';
import type { SharedInformerFactoryOptions } from './shared-informer-factory-options.ts';

let clock: VirtualClock;
let source: FakeListerWatcher<KubernetesObject>;
/** The error that the server answers everything with; undefined = it works. */
let trouble: Error | undefined;
let factory: SharedInformerFactory;
let leaks: LeakCheck;

const server: ListerWatcher<KubernetesObject> = {
  list: (options) => (trouble === undefined ? source.list(options) : Promise.reject(trouble)),
  watch: (options) => (trouble === undefined ? source.watch(options) : throwError(() => trouble)),
};
const unknownKind = new StatusError({ code: 404, reason: 'NotFound', message: 'the server could not find it' });

function open(options: SharedInformerFactoryOptions = {}): void {
  const client = { listerWatcher: <T extends KubernetesObject>() => server as unknown as ListerWatcher<T> };
  factory = new SharedInformerFactory(client, { clock, random: () => 0, onWatchError: () => undefined, ...options });
}
/** Breaks all connections; reconnects are answered with this error. */
function answer(error: Error | undefined): void {
  trouble = error;
  source.resetWatches();
}

beforeEach(() => {
  clock = new VirtualClock();
  leaks = new LeakCheck({ clock });
  source = new FakeListerWatcher<KubernetesObject>();
  source.add(pod({ name: 'a' }));
  trouble = undefined;
});
afterEach(async () => {
  await factory.close();
  await leaks.assertNone();
});

describe('handles of an informer', () => {
  it('share it; the last one closes it, and the next one gets a new one', async () => {
    open();
    const [first, second] = [factory.acquire(testPods), factory.acquire({ ...testPods })];
    factory.start();
    await factory.waitForCacheSync();
    expect([first.informer === second.informer, source.openWatches]).toEqual([true, 1]);
    await first.close();
    expect([second.informer.isStopped, source.openWatches]).toEqual([false, 1]);
    await second.close();
    expect([second.informer.isStopped, source.openWatches, clock.pendingTimers]).toEqual([true, 0, 0]);
    const third = factory.acquire(testPods);
    factory.start();
    await factory.waitForCacheSync();
    expect([third.informer === first.informer, third.informer.lister.list().length]).toEqual([false, 1]);
  });

  it('count once, however often they are closed, and never for an informer that came after theirs', async () => {
    open();
    const [first, second] = [factory.acquire(testPods), factory.acquire(testPods)];
    await Promise.all([first.close(), first.close()]);
    expect(second.informer.isStopped).toBe(false);
    await factory.removeInformer(testPods);
    const next = factory.acquire(testPods);
    await second.close();
    expect([second.informer.isStopped, next.informer.isStopped]).toEqual([true, false]);
    expect(factory.acquire(testPods).informer).toBe(next.informer);
  });

  it.each(['before', 'after'])('leave an informer that was asked for without one: %s them', async (when) => {
    open();
    if (when === 'before') factory.informer(testPods);
    const handle = factory.acquire(testPods);
    const informer = factory.informer(testPods);
    await handle.close();
    expect([informer === handle.informer, informer.isStopped]).toEqual([true, false]);
    expect(factory.informer(testPods)).toBe(informer);
  });

  it('are closed where their scope ends', async () => {
    open();
    const informers = [];
    {
      await using whole = factory.acquire(testPods, { indexers: { node: () => ['n1'] } });
      await using metadata = factory.acquireMetadata(testPods);
      informers.push(whole.informer, metadata.informer);
      factory.start();
      await factory.waitForCacheSync();
      expect([source.openWatches, whole.informer.indexer.byIndex('node', 'n1').length]).toEqual([2, 1]);
      expect(metadata.informer.lister.list()[0]).not.toHaveProperty('spec');
    }
    expect([informers.map(({ isStopped }) => isStopped), source.openWatches]).toEqual([[true, true], 0]);
  });

  it('end with a call of a handler that is under way, while the next informer begins', async () => {
    open();
    const handle = factory.acquire(testPods);
    let finish: () => void = () => undefined;
    const call = new Promise<void>((resolve) => {
      finish = resolve;
    });
    handle.informer.addEventHandler({ onAdd: () => call });
    factory.start();
    await factory.waitForCacheSync();
    let isClosed = false;
    const closing = handle.close().then(() => {
      isClosed = true;
    });
    const next = factory.acquire(testPods);
    factory.start();
    expect(await next.informer.whenSynced()).toBe(true);
    expect(isClosed).toBe(false);
    finish();
    await closing;
  });

  it('are refused by a closed factory, and close without effect after it', async () => {
    open();
    const handle = factory.acquire(testPods);
    await factory.close();
    await handle.close();
    expect(() => factory.acquire(testConfigMaps as Resource)).toThrow('the informer factory is closed');
  });
});

describe('an informer whose kind goes', () => {
  const asked: string[] = [];
  let served: () => Promise<boolean>;
  const isServed = (token: Resource): Promise<boolean> => {
    asked.push(token.plural);
    return served();
  };
  beforeEach(() => {
    asked.length = 0;
    served = () => Promise.resolve(false);
  });

  it('is removed, says so, and is made anew for who asks when the kind is back', async () => {
    open({ isServed });
    const handle = factory.acquire(testPods);
    const { informer } = handle;
    const statuses: unknown[] = [];
    informer.status$.subscribe({
      next: ({ error }) => statuses.push(error),
      complete: () => statuses.push('completed'),
    });
    const told: string[] = [];
    informer.addEventHandler({ onDelete: () => void told.push('deleted') });
    factory.start();
    await factory.waitForCacheSync();
    answer(unknownKind);
    await clock.advance(1000);
    const reason = expect.objectContaining({
      code: 404,
      message: 'pods: no longer served; removing the informer',
    });
    expect(asked).toEqual(['pods']);
    expect([informer.isStopped, informer.status]).toEqual([
      true,
      expect.objectContaining({ phase: 'failed', error: reason }),
    ]);
    expect(statuses.slice(-2)).toEqual([reason, 'completed']);
    // Handlers are not notified of their deletion.
    expect([told, informer.lister.list().length]).toEqual([[], 1]);
    answer(undefined);
    const next = factory.acquire(testPods);
    factory.start();
    await factory.waitForCacheSync();
    await handle.close();
    expect([next.informer === informer, next.informer.status.phase]).toEqual([false, 'live']);
  });

  const down = new Error('down');
  const cannotSay = 'pods: failed to ask whether it is still served: down';
  it.each<[string, { error: Error; says: () => Promise<boolean>; warning?: string }]>([
    ['discovery still knows it', { error: unknownKind, says: () => Promise.resolve(true) }],
    ['discovery cannot say', { error: unknownKind, says: () => Promise.reject(down), warning: cannotSay }],
    ['the server only has trouble', { error: serviceUnavailable('down'), says: () => Promise.resolve(false) }],
  ])('is kept and comes back when %s', async (_name, { error, says, warning }) => {
    served = says;
    const warnings: string[] = [];
    const nothing = (): void => undefined;
    const logger = { debug: nothing, info: nothing, error: nothing, warn: (text: string) => void warnings.push(text) };
    open({ isServed, logger });
    const informer = factory.informer(testPods);
    factory.start();
    await factory.waitForCacheSync();
    answer(error);
    await clock.advance(60_000);
    expect(asked.length > 1).toBe(error === unknownKind);
    expect(warnings).toEqual(warning === undefined ? [] : asked.map(() => warning));
    answer(undefined);
    await clock.advance(60_000);
    expect([informer.status.phase, factory.informer(testPods) === informer]).toEqual(['live', true]);
  });

  it.each<[string, SharedInformerFactoryOptions]>([
    ['before its kind has come', { isServed }],
    ['where nobody says what is served', {}],
  ])('waits for it %s', async (name, options) => {
    open(options);
    const informer = factory.informer(testPods);
    if (name.startsWith('before')) answer(unknownKind);
    factory.start();
    await clock.advance(60_000);
    answer(unknownKind);
    await clock.advance(60_000);
    expect([asked, informer.isStopped, informer.status.phase]).toEqual([[], false, 'failed']);
    answer(undefined);
    await clock.advance(60_000);
    expect(informer.status.phase).toBe('live');
  });

  it('is kept when the kind is back before the answer is there', async () => {
    let say: (isServed: boolean) => void = () => undefined;
    served = () => new Promise((resolve) => (say = resolve));
    open({ isServed });
    const informer = factory.informer(testPods);
    factory.start();
    await factory.waitForCacheSync();
    answer(unknownKind);
    await clock.advance(10_000);
    // Only one request is made at a time.
    expect(asked).toHaveLength(1);
    answer(undefined);
    await clock.advance(60_000);
    say(false);
    await clock.advance(1000);
    expect([informer.isStopped, informer.status.phase]).toEqual([false, 'live']);
  });
});
