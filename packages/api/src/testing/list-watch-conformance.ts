// A test suite for every ListerWatcher: the HTTP client against a server, the in-process client, the fake.
import { filter, firstValueFrom, type Observable, type Subscription, takeWhile, toArray } from 'rxjs';
import type { ListerWatcher } from '../client/lister-watcher.ts';
import { isExpired } from '../errors/status-error.ts';
import type { WatchEvent } from '../objects/watch-event.ts';
import { configMap, type TestConfigMap } from './builders.ts';

/** One implementation under test, over a store without ConfigMaps in the namespace "default". */
export interface ListWatchFixture {
  /** ConfigMaps of the namespace "default". */
  readonly listerWatcher: ListerWatcher<TestConfigMap>;
  create(object: TestConfigMap): Promise<void>;
  update(object: TestConfigMap): Promise<void>;
  delete(name: string): Promise<void>;
  /** Makes versions before now unavailable. Absent = the cases about it are skipped. */
  compact?(): Promise<void>;
  close(): Promise<void>;
}

const text = (event: WatchEvent<TestConfigMap>): string =>
  event.type === 'BOOKMARK'
    ? event.initialEventsEnd
      ? 'END'
      : 'BOOKMARK'
    : `${event.type} ${event.object.metadata?.name}=${event.object.data?.k}`;

/** Collects the events of a watch until stopped, but no bookmarks except the one that ends the initial events. */
class Recorder {
  readonly events: string[] = [];
  readonly versions: string[] = [];
  error: unknown;
  isComplete = false;
  readonly #subscription: Subscription;
  #wake: () => void = () => undefined;

  constructor(watch: Observable<WatchEvent<TestConfigMap>>) {
    this.#subscription = watch.subscribe({
      next: (event) => {
        if (event.type !== 'BOOKMARK') this.versions.push(event.object.metadata?.resourceVersion ?? '');
        if (event.type !== 'BOOKMARK' || event.initialEventsEnd) this.events.push(text(event));
        this.#wake();
      },
      error: (error) => {
        this.error = error;
        this.#wake();
      },
      complete: () => {
        this.isComplete = true;
        this.#wake();
      },
    });
  }

  async until(done: (recorder: this) => boolean): Promise<void> {
    while (!done(this)) await new Promise<void>((resolve) => (this.#wake = resolve));
  }

  stop(): void {
    this.#subscription.unsubscribe();
  }
}

/** Registers the suite with vitest. Await it at the top level of a test file. */
export async function listWatchConformance(name: string, open: () => Promise<ListWatchFixture>): Promise<void> {
  // vitest is imported here, so that the rest of this kit works without vitest.
  const { afterEach, beforeEach, describe, expect, it } = await import('vitest');
  describe(`list and watch: ${name}`, () => {
    let fixture: ListWatchFixture;
    const recorders: Recorder[] = [];
    const record = (options: Parameters<ListWatchFixture['listerWatcher']['watch']>[0]): Recorder => {
      const recorder = new Recorder(fixture.listerWatcher.watch(options));
      recorders.push(recorder);
      return recorder;
    };
    const names = async (options = {}): Promise<(string | undefined)[]> =>
      (await fixture.listerWatcher.list(options)).items.map((item) => item.metadata?.name);
    const create = (name: string, value = '1', labels: Record<string, string> = {}): Promise<void> =>
      fixture.create(configMap({ name, labels }, { k: value }));
    const update = (name: string, value: string, labels: Record<string, string> = {}): Promise<void> =>
      fixture.update(configMap({ name, labels }, { k: value }));

    beforeEach(async () => {
      fixture = await open();
    });
    afterEach(async () => {
      for (const recorder of recorders.splice(0)) recorder.stop();
      await fixture.close();
    });

    it('lists what is there, sorted by name, with a version', async () => {
      expect(await names()).toEqual([]);
      await create('b');
      await create('a');
      const { items, resourceVersion } = await fixture.listerWatcher.list({});
      expect(items.map((item) => item.metadata?.name)).toEqual(['a', 'b']);
      expect(resourceVersion).toMatch(/^[1-9][0-9]*$/);
      expect(items[0]?.metadata?.uid).not.toBe(items[1]?.metadata?.uid);
    });

    it('lists by label and field selector', async () => {
      await create('a', '1', { app: 'web' });
      await create('b', '1', { app: 'db' });
      expect(await names({ labelSelector: 'app=web' })).toEqual(['a']);
      expect(await names({ fieldSelector: 'metadata.name=b' })).toEqual(['b']);
      expect(await names({ labelSelector: 'app', fieldSelector: 'metadata.name!=b' })).toEqual(['a']);
    });

    it('lists in pages, all at the version of the first', async () => {
      for (const name of ['a', 'b', 'c']) await create(name);
      const first = await fixture.listerWatcher.list({ limit: 2 });
      expect(first.items).toHaveLength(2);
      expect(first.continue).toBeTruthy();
      const second = await fixture.listerWatcher.list({ limit: 2, continue: first.continue ?? '' });
      expect(second.items.map((item) => item.metadata?.name)).toEqual(['c']);
      expect(second.continue ?? '').toBe('');
      expect(second.resourceVersion).toBe(first.resourceVersion);
    });

    it('watches every change after a version, in order and once (I1, I3)', async () => {
      await create('a');
      const { resourceVersion } = await fixture.listerWatcher.list({});
      await create('b');
      const recorder = record({ resourceVersion });
      await update('a', '2');
      await fixture.delete('b');
      await recorder.until(({ events }) => events.length >= 3);
      expect(recorder.events).toEqual(['ADDED b=1', 'MODIFIED a=2', 'DELETED b=1']);
      const versions = recorder.versions.map(BigInt);
      expect(versions.every((version, i) => i === 0 || version > (versions[i - 1] ?? 0n))).toBe(true);
    });

    it('starts a watch without a version with the present state', async () => {
      await create('a');
      const recorder = record({});
      await recorder.until(({ events }) => events.length >= 1);
      await create('b');
      await recorder.until(({ events }) => events.length >= 2);
      expect(recorder.events).toEqual(['ADDED a=1', 'ADDED b=1']);
    });

    it('streams the present state and ends it with a marked bookmark', async () => {
      await create('b');
      await create('a');
      const recorder = record({
        sendInitialEvents: true,
        resourceVersionMatch: 'NotOlderThan',
        allowWatchBookmarks: true,
      });
      await recorder.until(({ events }) => events.includes('END'));
      expect(recorder.events.slice(0, 2).sort()).toEqual(['ADDED a=1', 'ADDED b=1']);
      await update('a', '2');
      await recorder.until(({ events }) => events.length >= 4);
      expect(recorder.events.slice(2)).toEqual(['END', 'MODIFIED a=2']);
    });

    it('streams what an exact list at the version of the marker shows, as it does', async () => {
      for (const name of ['c', 'a', 'b']) await create(name, '1', { app: name });
      await update('a', '2', { app: 'a' });
      await fixture.delete('c');
      const watch = fixture.listerWatcher.watch({
        sendInitialEvents: true,
        resourceVersionMatch: 'NotOlderThan',
        allowWatchBookmarks: true,
      });
      const events = await firstValueFrom(
        watch.pipe(
          takeWhile((event) => event.type !== 'BOOKMARK' || !event.initialEventsEnd, true),
          toArray(),
        ),
      );
      const marker = events.at(-1);
      const resourceVersion = marker?.type === 'BOOKMARK' ? marker.resourceVersion : '';
      const list = await fixture.listerWatcher.list({ resourceVersion, resourceVersionMatch: 'Exact' });
      const streamed = events.flatMap((event) => (event.type === 'ADDED' ? [event.object] : []));
      const nameOf = ({ metadata }: (typeof streamed)[number]): string => metadata?.name ?? '';
      expect(streamed.sort((a, b) => nameOf(a).localeCompare(nameOf(b)))).toEqual(list.items);
      expect([list.items.map(nameOf), list.resourceVersion]).toEqual([['a', 'b'], resourceVersion]);
    });

    it('gives the marker the version of the state, from which a watch can go on', async () => {
      await create('a');
      const watch = fixture.listerWatcher.watch({
        sendInitialEvents: true,
        resourceVersionMatch: 'NotOlderThan',
        allowWatchBookmarks: true,
      });
      const marker = await firstValueFrom(
        watch.pipe(filter((event) => event.type === 'BOOKMARK' && event.initialEventsEnd)),
      );
      const resourceVersion = marker.type === 'BOOKMARK' ? marker.resourceVersion : '';
      const recorder = record({ resourceVersion });
      await create('b');
      await recorder.until(({ events }) => events.length >= 1);
      expect(recorder.events).toEqual(['ADDED b=1']);
    });

    it('turns changes of a selected object into ADDED and DELETED as it enters and leaves the selection', async () => {
      await create('a', '1', { app: 'db' });
      const { resourceVersion } = await fixture.listerWatcher.list({});
      const recorder = record({ resourceVersion, labelSelector: 'app=web' });
      await update('a', '2', { app: 'web' });
      await update('a', '3', { app: 'web' });
      await update('a', '4', { app: 'db' });
      await fixture.delete('a');
      await create('b', '5', { app: 'web' });
      await recorder.until(({ events }) => events.length >= 4);
      expect(recorder.events.map((event) => event.split('=')[0])).toEqual([
        'ADDED a',
        'MODIFIED a',
        'DELETED a',
        'ADDED b',
      ]);
    });

    it('delivers nothing after unsubscribing', async () => {
      const { resourceVersion } = await fixture.listerWatcher.list({});
      const stopped = record({ resourceVersion });
      const other = record({ resourceVersion });
      await create('a');
      await Promise.all([stopped, other].map((recorder) => recorder.until(({ events }) => events.length === 1)));
      stopped.stop();
      await create('b');
      await other.until(({ events }) => events.length === 2);
      expect(stopped.events).toEqual(['ADDED a=1']);
      expect([stopped.isComplete, stopped.error]).toEqual([false, undefined]);
    });

    it('opens a watch of its own for each subscriber', async () => {
      const { resourceVersion } = await fixture.listerWatcher.list({});
      const watch = fixture.listerWatcher.watch({ resourceVersion });
      await create('a');
      const first = await firstValueFrom(watch);
      const second = await firstValueFrom(watch);
      expect([text(first), text(second)]).toEqual(['ADDED a=1', 'ADDED a=1']);
    });

    it('answers a watch from a version that is gone with 410', async ({ skip }) => {
      if (fixture.compact === undefined) return skip('this fixture cannot make versions unavailable');
      await create('a');
      const { resourceVersion } = await fixture.listerWatcher.list({});
      for (const value of ['2', '3', '4']) await update('a', value);
      await fixture.compact();
      const recorder = record({ resourceVersion });
      await recorder.until(({ error }) => error !== undefined);
      expect(isExpired(recorder.error)).toBe(true);
      expect(recorder.events).toEqual([]);
    });
  });
}
