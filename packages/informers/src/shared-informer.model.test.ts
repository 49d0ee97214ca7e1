import type { DeepReadonly } from '@kapstan/api';
import { silentLogger } from '@kapstan/api';
import { expired, tooManyRequests } from '@kapstan/api/errors';
import { FakeListerWatcher, LeakCheck, pod, settle, type TestPod, VirtualClock } from '@kapstan/api/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isDeletedFinalStateUnknown } from './fifo/deleted-final-state-unknown.ts';
import type { ResourceEventHandler } from './handlers/event-handler.ts';
import type { InformerEvent } from './handlers/object-change.ts';
import { SharedInformer } from './shared-informer.ts';

type Pod = DeepReadonly<TestPod>;
const names = ['a', 'b', 'c', 'd'] as const;
const refused = (): Error => Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });

const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ act: fc.constantFrom('put', 'delete'), name: fc.constantFrom(...names) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      act: fc.constantFrom('reset', 'end', 'expire', 'halfOpen', 'bookmark', 'failList', 'failWatch', 'busy'),
      name: fc.constant('a' as const),
    }),
  },
  { weight: 2, arbitrary: fc.record({ act: fc.constant('wait'), name: fc.constantFrom(...names) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      act: fc.constantFrom('join', 'joinSlow', 'observe', 'joinInside', 'leave'),
      name: fc.constantFrom(...names),
    }),
  },
);

const versions = (objects: Iterable<Pod>): string[] =>
  [...objects].map(({ metadata }) => `${metadata?.name}@${metadata?.resourceVersion}`).sort();

/**
 * Models the belief of a consumer that knows only the changes it received, and records events that make no sense to it.
 */
class Believer {
  readonly objects = new Map<string, Pod>();
  readonly complaints: string[] = [];
  isSynced = false;

  add(object: Pod): void {
    if (this.objects.has(object.metadata?.name ?? '')) this.complaints.push(`added twice: ${object.metadata?.name}`);
    this.objects.set(object.metadata?.name ?? '', object);
  }

  update(before: Pod, after: Pod): void {
    if (this.objects.get(after.metadata?.name ?? '') !== before)
      this.complaints.push(`updated from another state: ${after.metadata?.name}`);
    this.objects.set(after.metadata?.name ?? '', after);
  }

  delete(name: string): void {
    if (!this.objects.delete(name)) this.complaints.push(`deleted unknown: ${name}`);
  }

  event(event: InformerEvent<TestPod>): void {
    if (event.type === 'synced') {
      if (this.isSynced) this.complaints.push('synced twice');
      this.isSynced = true;
      return;
    }
    if (event.type === 'added' && event.isInInitialList && this.isSynced)
      this.complaints.push(`initial after synced: ${event.key}`);
    if (event.type === 'added') this.add(event.object);
    else if (event.type === 'updated') this.update(event.oldObject, event.object);
    else if (event.type === 'deleted') this.delete(event.key.replace('default/', ''));
  }
}

function handlerOf(believer: Believer): ResourceEventHandler<TestPod> {
  return {
    onAdd: (object) => believer.add(object),
    onUpdate: (before, after) => believer.update(before, after),
    onDelete: (object) =>
      believer.delete(
        isDeletedFinalStateUnknown<TestPod>(object)
          ? object.key.replace('default/', '')
          : (object.metadata?.name ?? ''),
      ),
  };
}

class World {
  readonly clock = new VirtualClock();
  readonly leaks = new LeakCheck({ clock: this.clock });
  readonly source = new FakeListerWatcher<TestPod>({ startVersion: 10 });
  readonly truth = new Map<string, Pod>();
  readonly informer: SharedInformer<TestPod>;
  readonly handler = new Believer();
  readonly stream = new Believer();
  readonly loop = new Believer();
  /** Consumers that joined during the run and are still there, and how each leaves. */
  readonly late: { readonly believer: Believer; readonly leave: () => void }[] = [];
  /** The beliefs of consumers when they left; no later event may reach them. */
  readonly left: { readonly believer: Believer; readonly believed: readonly string[] }[] = [];
  readonly #waitingInside: string[] = [];

  constructor(options: { fifo: 'delta' | 'inOrder'; useWatchList: boolean }) {
    this.informer = new SharedInformer<TestPod>(this.source, {
      clock: this.clock,
      random: () => 0,
      logger: silentLogger,
      ...options,
    });
    this.informer.addEventHandler(handlerOf(this.handler));
    // This handler is registered between the others; it adds consumers inside a delivery.
    this.informer.addEventHandler({
      onAdd: () => this.#joinInside(),
      onUpdate: () => this.#joinInside(),
      onDelete: () => this.#joinInside(),
    });
    this.informer.events$.subscribe((event) => this.stream.event(event));
    this.informer.start();
  }

  join(): void {
    const believer = new Believer();
    const registration = this.informer.addEventHandler(handlerOf(believer));
    this.late.push({ believer, leave: () => this.informer.removeEventHandler(registration) });
  }

  joinSlow(): void {
    const believer = new Believer();
    const { onAdd, onUpdate, onDelete } = handlerOf(believer);
    const registration = this.informer.addEventHandler({
      onAdd: (...args) => {
        void onAdd?.(...args);
        return settle();
      },
      onUpdate: (...args) => {
        void onUpdate?.(...args);
        return settle();
      },
      onDelete: (...args) => {
        void onDelete?.(...args);
        return settle();
      },
    });
    this.late.push({ believer, leave: () => this.informer.removeEventHandler(registration) });
  }

  observe(): void {
    const believer = new Believer();
    const subscription = this.informer.events$.subscribe((event) => believer.event(event));
    this.late.push({ believer, leave: () => subscription.unsubscribe() });
  }

  #joinInside(): void {
    for (const act of this.#waitingInside.splice(0)) {
      if (act === 'leave') this.leave();
      else if (act === 'observe') this.observe();
      else this.join();
    }
  }

  leave(): void {
    const [first] = this.late.splice(0, 1);
    if (first === undefined) return;
    first.leave();
    this.left.push({ believer: first.believer, believed: versions(first.believer.objects.values()) });
  }

  async iterate(): Promise<void> {
    for await (const event of this.informer.watchEvents()) {
      this.loop.event(event);
      await settle(); // slow: changes are merged meanwhile
    }
  }

  async take({ act, name }: { act: string; name: string }): Promise<void> {
    const { source, truth } = this;
    switch (act) {
      case 'put':
        truth.set(name, truth.has(name) ? source.modify(pod({ name })) : source.add(pod({ name })));
        return undefined;
      case 'delete':
        return truth.delete(name) ? source.delete({ name }) : undefined;
      case 'reset':
        return source.resetWatches(new Error('reset'));
      case 'end':
        return source.resetWatches();
      case 'expire':
        source.expire();
        return source.resetWatches(expired('too old'));
      case 'halfOpen':
        return source.halfOpen();
      case 'bookmark':
        return source.bookmark();
      case 'failList':
        return source.failNext('list', new Error('list'));
      case 'failWatch':
        return source.failNext('watch', refused());
      case 'busy':
        return source.failNext('watch', tooManyRequests('busy', 1));
      case 'join':
        return this.join();
      case 'joinSlow':
        return this.joinSlow();
      case 'observe':
        return this.observe();
      case 'joinInside':
        this.#waitingInside.push({ a: 'join', b: 'observe', c: 'leave', d: 'observe' }[name] ?? 'join');
        return undefined;
      case 'leave':
        return this.leave();
      default:
        return this.clock.advance(700);
    }
  }
}

describe.each([
  { fifo: 'delta', useWatchList: true },
  { fifo: 'delta', useWatchList: false },
  { fifo: 'inOrder', useWatchList: true },
  { fifo: 'inOrder', useWatchList: false },
] as const)('a shared informer under random changes and faults: $fifo, streaming $useWatchList', (options) => {
  it('ends up with the truth, and so does everybody whom it told (I3, I7, I9)', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const world = new World(options);
        const loop = world.iterate();
        for (const next of steps) await world.take(next);
        // Every injected fault is used up, and every backoff and watchdog has expired.
        await world.clock.advance(1_200_000);
        for (let i = 0; i < 20; i++) await settle();
        const truth = versions(world.truth.values());
        await settle();
        expect(versions(world.informer.lister.list())).toEqual(truth);
        expect(versions(world.handler.objects.values())).toEqual(truth);
        expect(versions(world.stream.objects.values())).toEqual(truth);
        expect(versions(world.loop.objects.values())).toEqual(truth);
        for (const { believer } of world.late) expect(versions(believer.objects.values())).toEqual(truth);
        for (const { believer, believed } of world.left) expect(versions(believer.objects.values())).toEqual(believed);
        const joined = [...world.late, ...world.left].flatMap(({ believer }) => believer.complaints);
        expect(joined).toEqual([]);
        const newest = Math.max(0, ...[...world.truth.values()].map((each) => Number(each.metadata?.resourceVersion)));
        const version = Number(world.informer.indexer.resourceVersion);
        expect(version).toBeGreaterThanOrEqual(newest);
        expect(version).toBeLessThanOrEqual(Number(world.source.resourceVersion));
        await world.informer.close();
        await loop;
        expect([...world.handler.complaints, ...world.stream.complaints]).toEqual([]);
        expect(world.source.openWatches).toBe(0);
        await world.leaks.assertNone();
      }),
      { numRuns: 60 },
    );
  });
});
