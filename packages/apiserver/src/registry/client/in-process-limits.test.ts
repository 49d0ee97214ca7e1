import type { Revision, UnstructuredObject } from '@kapstan/api';
import type { CallSignal, SlicedWork } from '@kapstan/api/internal';
import { type TestConfigMap, testConfigMaps, VirtualClock } from '@kapstan/api/testing';
import { Stored } from '@kapstan/storage';
import { beforeEach, describe, expect, it } from 'vitest';
import { refusal, testDefinition } from '../../testing/store-fixture.ts';
import { ResourceCatalog } from '../definition/catalog.ts';
import type { RequestContext } from '../definition/request-context.ts';
import type { ResourceStore } from '../definition/resource-store.ts';
import { InProcessClient } from './in-process-client.ts';

type Held = (context: RequestContext) => Promise<never>;

/** A client of a store that never answers, and the signals that the store received. */
function openHeld() {
  const clock = new VirtualClock();
  const signals: (CallSignal | undefined)[] = [];
  const hold: Held = ({ signal }) => {
    signals.push(signal);
    return new Promise(() => undefined);
  };
  const store = { create: hold, get: hold, list: hold, update: hold, delete: hold, deleteCollection: hold };
  const catalog = new ResourceCatalog();
  const definition = testDefinition({ schema: { preserveUnknownFields: true } });
  catalog.install({ definition, store: store as unknown as ResourceStore });
  const patching = {
    prepare: () =>
      // biome-ignore lint/correctness/useYield: this patch is done in one slice.
      function* (present: UnstructuredObject | undefined): SlicedWork<UnstructuredObject> {
        return present ?? {};
      },
  };
  return { clock, signals, client: new InProcessClient({ catalog, clock, patching }) };
}

const target = { name: 'a', namespace: 'default' };
const object: TestConfigMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { ...target } };

describe('the time of a call in process', () => {
  let held: ReturnType<typeof openHeld>;
  beforeEach(() => {
    held = openHeld();
  });

  type Call = (client: InProcessClient, options: { timeoutMs?: number; signal?: AbortSignal }) => Promise<unknown>;
  const calls: [string, Call][] = [
    ['get', (client, options) => client.get(testConfigMaps, target, options)],
    ['listPage', (client, options) => client.listPage(testConfigMaps, options)],
    ['list', (client, options) => client.listerWatcher(testConfigMaps).list(options)],
    ['create', (client, options) => client.create(testConfigMaps, object, options)],
    ['update', (client, options) => client.update(testConfigMaps, object, options)],
    ['patch', (client, options) => client.patch(testConfigMaps, target, { type: 'merge', body: {} }, options)],
    ['apply', (client, options) => client.apply(testConfigMaps, object, { fieldManager: 'm', ...options })],
    ['delete', (client, options) => client.delete(testConfigMaps, target, options)],
    [
      'deleteCollection',
      (client, options) => client.deleteCollection(testConfigMaps, { namespace: 'default', ...options }),
    ],
  ];

  it.each(calls)('%s fails with 504 when it is over, and aborts the call to the store', async (_name, call) => {
    const refused = refusal(call(held.client, { timeoutMs: 5000 }));
    await held.clock.advance(4999);
    expect(held.signals.map((signal) => signal?.aborted)).toEqual([false]);
    await held.clock.advance(1);
    expect(await refused).toMatchObject({ code: 504, reason: 'Timeout' });
    expect(held.signals[0]?.aborted).toBe(true);
    expect(held.clock.pendingTimers).toBe(0);
  });

  it.each(calls)('%s ends before it when its signal says so, with the reason', async (_name, call) => {
    const abort = new AbortController();
    const ended = call(held.client, { timeoutMs: 5000, signal: abort.signal }).catch((error: unknown) => error);
    abort.abort('enough');
    expect(await ended).toBe('enough');
    expect(held.signals[0]?.reason).toBe('enough');
  });

  it('is without a limit at 0, and asks for nothing when the signal is aborted already', async () => {
    void held.client.get(testConfigMaps, target, { timeoutMs: 0 });
    await expect(
      held.client.get(testConfigMaps, target, { timeoutMs: 5, signal: AbortSignal.abort('enough') }),
    ).rejects.toBe('enough');
    expect(held.signals).toEqual([undefined]);
    expect(held.clock.pendingTimers).toBe(0);
  });
});

describe('a list in process', () => {
  const count = 2000;

  /**
   * Makes a client of a store whose objects must be parsed, and counts the objects parsed in each turn of the event
   * loop.
   */
  function openParsed() {
    const parsedIn: number[] = [];
    let isCounting = false;
    const parse = (i: number): UnstructuredObject => {
      if (!isCounting) {
        isCounting = true;
        parsedIn.push(0);
        setImmediate(() => {
          isCounting = false;
        });
      }
      // Simulates the time for parsing some kilobytes.
      const endMs = performance.now() + 0.05;
      while (performance.now() < endMs);
      parsedIn[parsedIn.length - 1] = (parsedIn.at(-1) ?? 0) + 1;
      return { metadata: { name: `o${i}` } };
    };
    const items = Array.from({ length: count }, (_, i) => {
      const stored = new Stored<UnstructuredObject>(`/o${i}`, 1 as Revision, parse(i));
      stored.rememberParser(() => parse(i));
      stored.release();
      return stored;
    });
    parsedIn.length = 0;
    isCounting = false;
    const store = { list: async () => ({ items, resourceVersion: '1', continue: '' }) };
    const catalog = new ResourceCatalog();
    catalog.install({ definition: testDefinition(), store: store as unknown as ResourceStore });
    return { parsedIn, items, client: new InProcessClient({ catalog }) };
  }

  it('parses a slice a turn, so that others are not kept waiting', async () => {
    const { client, parsedIn } = openParsed();
    const { items } = await client.listPage<TestConfigMap>(testConfigMaps, {});
    expect(items.map((item) => item.metadata?.name)).toEqual(Array.from({ length: count }, (_, i) => `o${i}`));
    expect(Math.max(...parsedIn)).toBeLessThan(200);
  });

  it('leaves the cache with the bytes alone', async () => {
    const { client, parsedIn } = openParsed();
    const sum = (): number => parsedIn.reduce((total, one) => total + one, 0);
    await client.listPage<TestConfigMap>(testConfigMaps, {});
    expect(sum()).toBe(count);
    await client.listPage<TestConfigMap>(testConfigMaps, {});
    expect(sum()).toBe(2 * count);
  });

  it('ends between two slices when its signal says so', async () => {
    const { client, parsedIn } = openParsed();
    const abort = new AbortController();
    const ended = client.listPage(testConfigMaps, { signal: abort.signal }).catch((error: unknown) => error);
    setImmediate(() => abort.abort('enough'));
    expect(await ended).toBe('enough');
    expect(parsedIn.length).toBeLessThan(4);
  });
});
