import type { DeepReadonly } from '@kapstan/api';
import { newExpired, newTooManyRequests } from '@kapstan/api';
import { FakeListerWatcher, LeakCheck, pod, settle, type TestPod, VirtualClock } from '@kapstan/api/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isDeletedFinalStateUnknown } from './deleted-final-state-unknown.ts';
import type { InformerEvent } from './object-change.ts';
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
);

const versions = (objects: Iterable<Pod>): string[] =>
  [...objects].map(({ metadata }) => `${metadata?.name}@${metadata?.resourceVersion}`).sort();

/** What a consumer believes who knows only what it was told; complains about what makes no sense to it. */
class Believer {
  readonly objects = new Map<string, Pod>();
  readonly complaints: string[] = [];

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
    if (event.type === 'added') this.add(event.object);
    else if (event.type === 'updated') this.update(event.oldObject, event.object);
    else if (event.type === 'deleted') this.delete(event.key.replace('default/', ''));
  }
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

  constructor(options: { fifo: 'delta' | 'inOrder'; watchList: boolean }) {
    this.informer = new SharedInformer<TestPod>(this.source, { clock: this.clock, random: () => 0, ...options });
    this.informer.addEventHandler({
      onAdd: (object) => this.handler.add(object),
      onUpdate: (before, after) => this.handler.update(before, after),
      onDelete: (object) =>
        this.handler.delete(
          isDeletedFinalStateUnknown<TestPod>(object)
            ? object.key.replace('default/', '')
            : (object.metadata?.name ?? ''),
        ),
    });
    this.informer.events$.subscribe((event) => this.stream.event(event));
    this.informer.start();
  }

  async iterate(): Promise<void> {
    for await (const event of this.informer.events()) {
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
        return source.resetWatches(newExpired('too old'));
      case 'halfOpen':
        return source.halfOpen();
      case 'bookmark':
        return source.bookmark();
      case 'failList':
        return source.failNext('list', new Error('list'));
      case 'failWatch':
        return source.failNext('watch', refused());
      case 'busy':
        return source.failNext('watch', newTooManyRequests('busy', 1));
      default:
        return this.clock.advance(700);
    }
  }
}

describe.each([
  { fifo: 'delta', watchList: true },
  { fifo: 'delta', watchList: false },
  { fifo: 'inOrder', watchList: true },
  { fifo: 'inOrder', watchList: false },
] as const)('a shared informer under random changes and faults: $fifo, streaming $watchList', (options) => {
  it('ends up with the truth, and so does everybody whom it told (I3, I7, I9)', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const world = new World(options);
        const loop = world.iterate();
        for (const next of steps) await world.take(next);
        // Every injected fault is used up, and every backoff and watchdog has run out.
        await world.clock.advance(1_200_000);
        const truth = versions(world.truth.values());
        await settle();
        expect(versions(world.informer.lister.list())).toEqual(truth);
        expect(versions(world.handler.objects.values())).toEqual(truth);
        expect(versions(world.stream.objects.values())).toEqual(truth);
        expect(versions(world.loop.objects.values())).toEqual(truth);
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
