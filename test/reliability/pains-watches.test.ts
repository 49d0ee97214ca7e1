// One test for each problem with watches that users of Node informers report, over real connections to a whole server,
// in virtual time. docs/parity/pains.md has the list; packages/informers/src/pains.test.ts has the problems that need
// no network.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { compareResourceVersions, type DeepReadonly, type ListerWatcher } from '@kapstan/api';
import { LeakCheck } from '@kapstan/api/testing';
import type { Client } from '@kapstan/client';
import { SharedInformer, type SharedInformerOptions } from '@kapstan/informers';
import { ConfigMap } from '@kapstan/kinds/core/v1';
import { type ActiveFault, type TestCluster, type TestClusterOptions, testCluster } from '@kapstan/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { randomOf } from './write-history.ts';

const namespace = 'default';
const nameOf = ({ metadata }: DeepReadonly<ConfigMap>): string => metadata?.name ?? '';

const uncached = { watchCache: { isEnabled: false, sizes: new Map(), defaultSize: 100 } };

/** Records lists and watches of ConfigMaps as they are sent. */
class Wire {
  readonly lists: URLSearchParams[] = [];
  readonly watches: URLSearchParams[] = [];
  readonly #note = (message: unknown): void => {
    const { path, method } = (message as { readonly request: { readonly path: string; readonly method: string } })
      .request;
    const { pathname, searchParams } = new URL(path, 'http://server');
    if (method !== 'GET' || !pathname.endsWith('/configmaps')) return;
    (searchParams.has('watch') ? this.watches : this.lists).push(searchParams);
  };

  constructor() {
    subscribe('undici:request:create', this.#note);
  }

  close(): void {
    unsubscribe('undici:request:create', this.#note);
  }
}

let cluster: TestCluster;
let client: Client;
let informer: SharedInformer<ConfigMap>;
let wire: Wire;
let phases: string[];
let leaks: LeakCheck;
beforeEach(async () => {
  leaks = new LeakCheck();
  await startCluster();
  wire = new Wire();
  phases = [];
});
afterEach(async () => {
  wire.close();
  await informer.close();
  await cluster.close();
  await leaks.assertNone();
});

async function startCluster(controlPlane: NonNullable<TestClusterOptions['controlPlane']> = {}): Promise<void> {
  cluster = await testCluster({ controlPlane });
  client = await cluster.connect();
}

async function start(
  options: SharedInformerOptions<ConfigMap> = {},
  source: ListerWatcher<ConfigMap> = client.listerWatcher(ConfigMap, { namespace }),
): Promise<void> {
  const quiet = { onWatchError: () => undefined };
  informer = new SharedInformer(source, { clock: cluster.clock, random: randomOf(7), ...quiet, ...options });
  informer.status$.subscribe(({ phase }) => phases.push(phase));
  informer.start();
  await cluster.settle();
}

/** Writes in process, so that its requests are not counted. */
const write = async (name: string, text = ''): Promise<void> => {
  const object = { metadata: { namespace, name }, data: { text } };
  await cluster.client.apply(ConfigMap, object, { fieldManager: 'test', force: true });
};
const cached = (): string[] => informer.lister.list().map(nameOf).sort();
const states = (objects: readonly DeepReadonly<ConfigMap>[]): string[] =>
  objects.map((object) => `${nameOf(object)} ${object.metadata?.resourceVersion}`).sort();
const served = async (): Promise<string[]> =>
  states((await cluster.client.listPage(ConfigMap, { namespace })).items as ConfigMap[]);

describe('what hurts in watches: connections:', () => {
  it('the informer goes silent, without an event and without an error', async () => {
    await start();
    await cluster.fault({ kind: 'blackhole', match: 'watch' });
    await write('a');
    await cluster.advance(89_000);
    expect(cached()).toEqual([]);
    await cluster.advance(2000);
    expect(cached()).toEqual(['a']);
    expect(phases).toEqual(['syncing', 'live', 'stale', 'live']);
  });

  it('an error other than 410 ends the informer', async () => {
    await start();
    const random = randomOf(3);
    const faults: ActiveFault[] = [];
    for (let round = 0; round < 120; round++) {
      await write(`${round % 10}`, `${round}`);
      await cluster.advance(Math.floor(random() * 400));
      if (round % 8 === 7) await cluster.client.delete(ConfigMap, { namespace, name: `${round % 10}` });
      await cluster.fault({ kind: 'reset', match: 'watch' });
      if (round % 20 === 5) faults.push(await cluster.fault({ kind: '500', times: 2, match: 'watch' }));
      if (round % 20 === 15) faults.push(await cluster.fault({ kind: '503', times: 2, match: 'watch' }));
      if (round % 40 === 25) await cluster.fault({ kind: '410' });
    }
    faults.push(await cluster.fault({ kind: 'refuse' }));
    await cluster.fault({ kind: 'reset' });
    await cluster.advance(60_000);
    for (const fault of faults) await fault.heal();
    await cluster.advance(70_000);
    expect(states(informer.lister.list())).toEqual(await served());
    expect(informer.status.phase).toBe('live');
  });

  it('a server whose watches break at once is asked tens of times a second', async () => {
    await start();
    const before = wire.watches.length + wire.lists.length;
    // For four minutes, no watch lasts longer than half a second.
    for (let half = 0; half < 480; half++) {
      await cluster.fault({ kind: 'reset', match: 'watch' });
      await cluster.advance(500);
    }
    expect(wire.watches.length + wire.lists.length - before).toBeLessThan(60);
    await write('a');
    await cluster.advance(60_000);
    expect(cached()).toEqual(['a']);
  });

  it('a quiet watch is cut and opened again and again', async () => {
    await start();
    await cluster.advance(300_000);
    expect([wire.watches.length, wire.lists.length]).toEqual([1, 0]);
    expect(phases).toEqual(['syncing', 'live']);
    // The client asks the server for a random timeout, so that not all watches end at once.
    expect(Number(wire.watches[0]?.get('timeoutSeconds'))).toBeGreaterThan(300);
    expect(Number(wire.watches[0]?.get('timeoutSeconds'))).toBeLessThanOrEqual(600);
  });

  it('bookmarks are supported, and never asked for', async () => {
    await start();
    await cluster.fault({ kind: 'reset', match: 'watch' });
    await cluster.advance(1000);
    expect(wire.watches.map((query) => query.get('allowWatchBookmarks'))).toEqual(['true', 'true']);
    // Writes elsewhere advance the informer's version, so it never resumes from a compacted one.
    const [before] = [informer.lastSyncResourceVersion];
    for (let at = 0; at < 5; at++)
      await cluster.client.create(ConfigMap, { metadata: { namespace: 'kube-system', name: `${at}` } });
    await cluster.advance(70_000);
    expect(compareResourceVersions(informer.lastSyncResourceVersion, before)).toBeGreaterThan(0);
  });

  it('each new connection is a whole list', async () => {
    await write('a');
    await start();
    for (let round = 0; round < 40; round++) {
      await write('a', `${round}`);
      await cluster.fault({ kind: 'reset', match: 'watch' });
      await write('b', `${round}`);
      await cluster.advance(1500);
    }
    expect(states(informer.lister.list())).toEqual(await served());
    expect(wire.lists).toEqual([]);
    expect(wire.watches.filter((query) => query.get('sendInitialEvents') === 'true')).toHaveLength(1);
    expect(wire.watches.length).toBeGreaterThan(40);
  });
});

describe('what hurts in watches: lists and versions:', () => {
  it('everything that is there comes in one answer', async () => {
    for (let at = 0; at < 60; at++) await write(`${at}`);
    await start({ pageSize: 20 });
    expect(cached()).toHaveLength(60);
    expect(wire.lists).toEqual([]);
  });

  it('everything that is there comes in one answer, where nothing can be streamed', async () => {
    await cluster.close();
    await startCluster(uncached);
    for (let at = 0; at < 60; at++) await write(`${at}`);
    await start({ pageSize: 20, useWatchList: false });
    expect(cached()).toHaveLength(60);
    expect(wire.lists.map((query) => [query.get('limit'), query.has('continue')])).toEqual([
      ['20', false],
      ['20', true],
      ['20', true],
    ]);
  });

  it('a long list has lost its version when it ends, and so has each one after it', async () => {
    await cluster.close();
    await startCluster(uncached);
    for (let at = 0; at < 30; at++) await write(`${at}`);
    const source = client.listerWatcher(ConfigMap, { namespace });
    let losses = 0;
    const compacted: ListerWatcher<ConfigMap> = {
      watch: (options) => source.watch(options),
      list: async (options) => {
        const page = await source.list(options);
        // The history is dropped each time a list is being read.
        if (page.continue !== undefined) {
          await write('0', `${++losses}`);
          await cluster.fault({ kind: '410' });
        }
        return page;
      },
    };
    await start({ pageSize: 10, useWatchList: false }, compacted);
    await cluster.advance(180_000);
    expect(losses).toBeGreaterThan(0);
    expect(informer.status.phase).toBe('live');
    expect(states(informer.lister.list())).toEqual(await served());
    const lists = wire.lists.length;
    await write('0', 'later');
    await cluster.advance(60_000);
    expect(states(informer.lister.list())).toEqual(await served());
    expect(wire.lists.length).toBe(lists);
  });

  it('nobody sees that what is cached is old', async () => {
    await start();
    const liveSince = informer.status.since;
    const silence = await cluster.fault({ kind: 'blackhole', connections: 'all' });
    await cluster.advance(91_000);
    expect(informer.status.phase).toBe('stale');
    expect(informer.status.since - liveSince).toBeGreaterThanOrEqual(90_000);
    const staleSince = informer.status.since;
    await cluster.advance(60_000);
    expect(informer.status).toMatchObject({ phase: expect.not.stringMatching('live') });
    expect(cluster.clock.now() - staleSince).toBeGreaterThanOrEqual(60_000);
    await silence.heal();
    await cluster.advance(60_000);
    expect(informer.status.phase).toBe('live');
  });
});
