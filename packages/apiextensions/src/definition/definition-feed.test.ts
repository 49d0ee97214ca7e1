import { type Revision, silentLogger, type UnstructuredObject } from '@kapstan/api';
import { expired } from '@kapstan/api/errors';
import { VirtualClock } from '@kapstan/api/testing';
import type { ResourceStore } from '@kapstan/apiserver';
import { type StorageWatchSink, Stored } from '@kapstan/storage';
import { beforeEach, describe, expect, it } from 'vitest';
import { clusterContext } from '../testing/definition-fixture.ts';
import { DefinitionFeed } from './definition-feed.ts';

/** A store whose watches end when a test says so. */
class EndingStore {
  readonly calls: string[] = [];
  objects: UnstructuredObject[] = [];
  version = 1;
  listError: Error | undefined;
  sink: StorageWatchSink<UnstructuredObject> | undefined;

  async list(): Promise<unknown> {
    this.calls.push('list');
    if (this.listError !== undefined) throw this.listError;
    const items = this.objects.map((object) => this.#stored(object));
    return { items, resourceVersion: String(this.version), continue: '' };
  }

  watch(_context: unknown, options: { resourceVersion: string }, sink: StorageWatchSink<UnstructuredObject>): unknown {
    this.calls.push(`watch ${options.resourceVersion}`);
    this.sink = sink;
    return { close: () => this.calls.push('close') };
  }

  put(name: string): UnstructuredObject {
    this.version++;
    return { metadata: { name, uid: `u-${name}`, resourceVersion: String(this.version) } };
  }

  tell(type: 'ADDED' | 'DELETED', object: UnstructuredObject): void {
    this.sink?.onEvent({ type, stored: this.#stored(object) });
  }

  #stored(object: UnstructuredObject): Stored<UnstructuredObject> {
    return new Stored(`/${object.metadata?.name}`, Number(object.metadata?.resourceVersion) as Revision, object);
  }
}

describe('DefinitionFeed', () => {
  let store: EndingStore;
  let clock: VirtualClock;
  let feed: DefinitionFeed;
  let changes: string[];

  beforeEach(() => {
    store = new EndingStore();
    clock = new VirtualClock();
    changes = [];
    feed = new DefinitionFeed({
      store: store as unknown as ResourceStore<UnstructuredObject>,
      context: clusterContext(),
      clock,
      logger: silentLogger,
      onChange: ({ next, last }) => changes.push(`${next?.metadata?.name ?? '-'} after ${last?.metadata?.name ?? '-'}`),
    });
  });

  const known = (): (string | undefined)[] => [...feed.all()].map(({ metadata }) => metadata?.name);

  it('resumes a watch that ended from its last version, without a list', async () => {
    store.objects = [store.put('a')];
    await feed.start();
    await clock.advance(2000);
    store.tell('ADDED', store.put('b'));
    store.sink?.onEnd();
    expect(store.calls).toEqual(['list', 'watch 2', 'watch 3']);
    expect(known()).toEqual(['a', 'b']);
  });

  it('lists again when the version is gone, and reports what vanished meanwhile (I7)', async () => {
    const [a, b] = [store.put('a'), store.put('b')];
    store.objects = [a, b];
    await feed.start();
    store.objects = [b];
    store.sink?.onEnd(expired('gone'));
    await clock.advance(1000);
    expect(store.calls).toEqual(['list', 'watch 3', 'list', 'watch 3']);
    expect(changes).toEqual(['a after -', 'b after -', '- after a']);
  });

  it('waits longer after each list that fails, and until the next one keeps what it knows', async () => {
    store.objects = [store.put('a')];
    await feed.start();
    store.listError = new Error('not now');
    store.sink?.onEnd(expired('gone'));
    await clock.advance(1000 + 2000 - 1);
    expect(store.calls.filter((call) => call === 'list')).toHaveLength(2);
    await clock.advance(1);
    expect(store.calls.filter((call) => call === 'list')).toHaveLength(3);
    expect(known()).toEqual(['a']);
    feed.close();
    expect(clock.pendingTimers).toBe(0);
  });

  it('does not start where the first list fails', async () => {
    store.listError = new Error('no');
    await expect(feed.start()).rejects.toThrow('no');
    expect([store.calls, clock.pendingTimers]).toEqual([['list'], 0]);
  });
});
