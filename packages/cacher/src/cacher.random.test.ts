// Random writes and faults under watches that resume as clients do. Whatever happens, each client ends up with the true
// state.
import { isExpired, type Revision } from '@kapstan/api';
import { settle, type TestPod, VirtualClock } from '@kapstan/api/testing';
import {
  isStorageError,
  MemoryEngine,
  ObjectStore,
  type Storage,
  StorageError,
  type StorageEvent,
  type StorageWatch,
} from '@kapstan/storage';
import { keyOf, podAttributes, podOf, podStoreOptions, predicate } from '@kapstan/storage/testing';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Cacher } from './cacher.ts';

const root = '/registry/pods';
const node = fc.constantFrom('n1', 'n2');
const name = fc.integer({ min: 0, max: 7 }).map((n) => `p${n}`);
const step = fc.oneof(
  { weight: 12, arbitrary: fc.record({ type: fc.constant('put' as const), name, node }) },
  { weight: 5, arbitrary: fc.record({ type: fc.constant('delete' as const), name }) },
  {
    weight: 2,
    arbitrary: fc.record({ type: fc.constant('join' as const), fields: fc.constantFrom('', 'spec.nodeName=n1') }),
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('disconnect' as const) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('lose' as const) }) },
  // 80 s exceed the history window, so that the ring drops events instead of growing.
  {
    weight: 2,
    arbitrary: fc.record({ type: fc.constant('wait' as const), ms: fc.constantFrom(0, 100, 3_000, 80_000) }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('hangUp' as const) }) },
  // A list of the state some revisions ago.
  { weight: 3, arbitrary: fc.record({ type: fc.constant('look back' as const), by: fc.integer({ min: 0, max: 30 }) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('compact' as const), by: fc.integer({ min: 0, max: 30 }) }) },
);

/** Lists, watches, resumes from the last version, and lists again on 410, as a reflector does. */
class Client {
  readonly violations: string[] = [];
  readonly state = new Map<string, number>();
  readonly #cacher: Cacher<TestPod>;
  readonly #fields: string;
  #watch: StorageWatch | undefined;
  #last = 0;

  constructor(cacher: Cacher<TestPod>, fields: string) {
    this.#cacher = cacher;
    this.#fields = fields;
  }

  wants(nodeName: string | undefined): boolean {
    return this.#fields === '' || this.#fields === `spec.nodeName=${nodeName}`;
  }

  /** Connects unless connected. */
  async connect(): Promise<void> {
    if (this.#watch !== undefined || this.#cacher.readiness() !== undefined) return;
    if (this.#last === 0) {
      const any = { predicate: predicate({ fields: this.#fields }), recursive: true, resourceVersion: '0' };
      const list = await this.#cacher.getList(root, any);
      this.state.clear();
      for (const item of list.items) this.state.set(item.key, item.revision);
      this.#last = Number(list.resourceVersion);
    }
    if (this.#cacher.readiness() !== undefined) return;
    const options = {
      predicate: predicate({ fields: this.#fields, bookmarks: true }),
      recursive: true,
      resourceVersion: String(this.#last),
    };
    this.#watch = this.#cacher.watch(root, options, {
      onEvent: (event) => this.#onEvent(event),
      onEnd: (error) => {
        this.#watch = undefined;
        if (error !== undefined && !isExpired(error)) this.violations.push(error.message);
        if (error !== undefined) this.#last = 0;
      },
    });
  }

  hangUp(): void {
    this.#watch?.close();
    this.#watch = undefined;
  }

  #onEvent(event: StorageEvent<TestPod>): void {
    const revision = event.type === 'BOOKMARK' ? event.revision : event.stored.revision;
    const isRising = event.type === 'BOOKMARK' ? revision >= this.#last : revision > this.#last;
    if (!isRising) this.violations.push(`${event.type}@${revision} after ${this.#last}`);
    this.#last = revision;
    if (event.type === 'BOOKMARK') return;
    const { key } = event.stored;
    if (this.state.has(key) === (event.type === 'ADDED')) this.violations.push(`${event.type} ${key}@${revision}`);
    if (event.type === 'DELETED') this.state.delete(key);
    else this.state.set(key, revision);
  }
}

interface World {
  readonly cacher: Cacher<TestPod>;
  readonly store: ObjectStore<TestPod>;
  readonly engine: MemoryEngine;
  readonly clock: VirtualClock;
  readonly clients: Client[];
}

type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

/** A list of the past must be the same whether the cache or the storage answers it. */
async function lookBack({ cacher, store, engine }: World, by: number): Promise<void> {
  const revision = Math.max(1, (await engine.currentRevision()) - by);
  if (cacher.readiness() !== undefined || revision > cacher.inspect().revision) return;
  const options = {
    predicate: predicate(),
    recursive: true,
    resourceVersion: String(revision),
    resourceVersionMatch: 'Exact' as const,
  };
  const said = (storage: Storage<TestPod>): Promise<string> =>
    storage.getList(root, options).then(
      ({ items, resourceVersion }) => `${items.map(({ key, revision: own }) => `${key}@${own}`)} ${resourceVersion}`,
      (error: Error) => error.message,
    );
  expect(await said(cacher)).toBe(await said(store));
}

async function perform(world: World, each: Step): Promise<void> {
  const { cacher, engine, clock, clients } = world;
  switch (each.type) {
    case 'put': {
      const object = podOf(each.name, { node: each.node });
      await cacher.guaranteedUpdate(keyOf(each.name), () => ({ object }), { ignoreNotFound: true });
      return;
    }
    case 'delete':
      await cacher.delete(keyOf(each.name)).catch((error: unknown) => {
        if (!isStorageError(error, 'KeyNotFound')) throw error;
      });
      return;
    case 'join':
      if (clients.length < 6) clients.push(new Client(cacher, each.fields));
      return;
    case 'disconnect':
      return engine.breakWatches(new StorageError({ code: 'Unreachable' }));
    case 'lose':
      return engine.breakWatches(new StorageError({ code: 'Compacted', revision: 1 }));
    case 'wait':
      return clock.advance(each.ms);
    case 'look back':
      return lookBack(world, each.by);
    case 'compact': {
      const revision = Math.max(1, (await engine.currentRevision()) - each.by) as Revision;
      return revision > engine.compactRevision() ? engine.compact(revision) : undefined;
    }
    case 'hangUp':
      return clients[clients.length - 1]?.hangUp();
  }
}

test('I1, I3: every client has the true state in the end, and saw no gap, no double and no step back', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 30, maxLength: 120, size: 'max' }), async (steps) => {
      const clock = new VirtualClock();
      const engine = new MemoryEngine({ clock });
      const store = new ObjectStore(podStoreOptions(engine));
      const options = { resourcePrefix: '/pods', getAttributes: podAttributes, indexedFields: ['spec.nodeName'] };
      const cacher = new Cacher<TestPod>({ ...options, storage: store, clock, minHistory: 3, freeze: true });
      cacher.start();
      await cacher.waitUntilReady();
      const clients = [new Client(cacher, '')];
      const world = { cacher, store, engine, clock, clients };
      for (const each of steps) {
        await perform(world, each);
        for (const client of clients) await client.connect();
      }
      await clock.advance(30_000);
      await cacher.waitUntilReady();
      for (let attempt = 0; attempt < 3; attempt++) {
        for (const client of clients) await client.connect();
        await settle();
      }
      const { items } = await store.getList(root, { predicate: predicate(), recursive: true });
      // A consistent list makes the cache catch up, so its events have been dispatched afterwards.
      await cacher.getList(root, { predicate: predicate(), recursive: true });
      await settle();
      for (const client of clients) {
        const wanted = items.filter((item) => client.wants(item.object.spec?.nodeName));
        expect(client.violations).toEqual([]);
        expect([...client.state].sort()).toEqual(wanted.map((item) => [item.key, item.revision]).sort());
      }
      await cacher.close();
      await store.close();
      await engine.close();
      expect(clock.pendingTimers).toBe(0);
    }),
    { numRuns: 60 },
  );
}, 60_000);
