// Traces have the names, attributes and steps of etcd3/store.go.
import diagnostics from 'node:diagnostics_channel';
import { type LogFields, silentLogger } from '@kapstan/api';
import { type TestPod, VirtualClock } from '@kapstan/api/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MemoryEngine } from '../memory-engine.ts';
import { ObjectStore } from '../object-store.ts';
import type { Storage } from '../storage.ts';
import { keyOf, podOf, podStoreOptions, predicate, root, StorageBench } from '../testing/storage-fixture.ts';
import { type StoreSpan, storeChannelName } from './store-trace.ts';

const logged: { message: string; fields: LogFields }[] = [];
let engine: MemoryEngine;
let clock: VirtualClock;

const bench = new StorageBench(async () => {
  clock = new VirtualClock();
  engine = new MemoryEngine({ clock });
  const info = (message: string, fields: LogFields = {}): void => void logged.push({ message, fields });
  const options = { ...podStoreOptions(engine), kind: 'Pod', clock, logger: { ...silentLogger, info } };
  const storage = new ObjectStore<TestPod>(options);
  const dispose = async (): Promise<void> => {
    await storage.close();
    await engine.close();
  };
  return { storage, engine, clock, isCached: false, dispose };
});

const spans: StoreSpan[] = [];
const listen = (span: unknown): void => void spans.push(span as StoreSpan);
beforeEach(() => {
  spans.length = 0;
  logged.length = 0;
});
afterEach(() => diagnostics.unsubscribe(storeChannelName, listen));

/** Makes each call of the engine take this long. */
function slowBy(ms: number): void {
  engine.beforeOperation = () => clock.advance(ms);
}

const secret = 'do-not-tell';
const stepsOf = (span: StoreSpan | undefined): string[] | undefined => span?.steps.map(({ name }) => name);

async function traced<R>(work: () => Promise<R>): Promise<StoreSpan | undefined> {
  diagnostics.subscribe(storeChannelName, listen);
  spans.length = 0;
  await work().catch(() => undefined);
  diagnostics.unsubscribe(storeChannelName, listen);
  expect(spans).toHaveLength(1);
  return spans[0];
}

const setLabels =
  (storage: Storage<TestPod>, auditId?: string): (() => Promise<unknown>) =>
  () => {
    const change = { object: podOf('a', { labels: { key: secret } }) };
    return storage.guaranteedUpdate(keyOf('a'), () => change, { auditId });
  };

describe('the trace of a call', () => {
  it('Create etcd3 records encoding, transforming, writing and decoding', async () => {
    const span = await traced(() => bench.storage.create(keyOf('a'), podOf('a'), { auditId: 'id-1' }));
    expect(span?.name).toBe('Create etcd3');
    const attributes = { 'audit-id': 'id-1', key: keyOf('a'), type: 'Pod', resource: 'pods' };
    expect(span?.attributes).toEqual(attributes);
    expect(stepsOf(span)).toEqual([
      'About to Encode',
      'Encode succeeded',
      'TransformToStorage succeeded',
      'Txn call succeeded',
      'decode succeeded',
    ]);
    expect(span?.steps[1]?.len).toBeGreaterThan(10);
    expect(span).not.toHaveProperty('error');
  });

  it('GuaranteedUpdate etcd3 records the value with which it began', async () => {
    await bench.create('a');
    const span = await traced(setLabels(bench.storage, 'id-2'));
    expect(span?.name).toBe('GuaranteedUpdate etcd3');
    expect(span?.attributes).toMatchObject({ 'audit-id': 'id-2', key: keyOf('a'), type: 'Pod' });
    expect(stepsOf(span)).toEqual([
      'initial value restored',
      'About to Encode',
      'Encode succeeded',
      'TransformToStorage succeeded',
      'Transaction prepared',
      'Txn call completed',
      'Transaction committed',
      'decode succeeded',
    ]);
  });

  it('GuaranteedUpdate etcd3 records each value with which it began again', async () => {
    await bench.create('a');
    let isRaced = false;
    engine.beforeOperation = async (operation) => {
      if (operation !== 'commit' || isRaced) return;
      isRaced = true;
      const { kv } = await engine.get(keyOf('a'));
      await bench.overwrite('a', kv?.value ?? '');
    };
    const steps = stepsOf(await traced(setLabels(bench.storage)));
    expect(steps?.filter((name) => name.endsWith('restored'))).toEqual([
      'initial value restored',
      'Retry value restored',
    ]);
    expect(steps?.filter((name) => name.startsWith('Transaction'))).toEqual([
      'Transaction prepared',
      'Transaction prepared',
      'Transaction committed',
    ]);
  });

  it.each([true, false])('List(recursive=%s) etcd3 records the request', async (recursive) => {
    const { resourceVersion } = (await bench.create('a')).object.metadata ?? {};
    await bench.create('b');
    const asked = { resourceVersion: String(resourceVersion), resourceVersionMatch: 'NotOlderThan' } as const;
    const key = recursive ? root : keyOf('a');
    const span = await traced(() =>
      bench.storage.getList(key, { ...asked, auditId: 'id-3', recursive, predicate: predicate({ limit: 1 }) }),
    );
    expect(span?.name).toBe(`List(recursive=${recursive}) etcd3`);
    const attributes = { 'audit-id': 'id-3', key, type: 'Pod', resource: 'pods', ...asked, limit: 1, continue: '' };
    expect(span?.attributes).toEqual(attributes);
    expect(stepsOf(span)).toEqual(recursive ? ['page read', 'page decoded'] : ['value read']);
  });

  it('Get etcd3 and Delete etcd3 are reported in the same form', async () => {
    await bench.create('a');
    const got = await traced(() => bench.storage.get(keyOf('a'), { resourceVersion: '1' }));
    expect([got?.name, stepsOf(got), got?.attributes.resourceVersion]).toEqual([
      'Get etcd3',
      ['value read', 'decode succeeded'],
      '1',
    ]);
    const deleted = await traced(() => bench.remove('a'));
    expect([deleted?.name, stepsOf(deleted)]).toEqual([
      'Delete etcd3',
      ['initial value restored', 'Txn call completed'],
    ]);
  });

  it('Get etcd3 is reported once for a known state, whether the engine knew it at once or was read', async () => {
    const known = await bench.create('a');
    const store = bench.storage as ObjectStore<TestPod>;
    const get = async (): Promise<unknown> =>
      store.isNewest(known, { auditId: 'id-4' }) || (await store.get(keyOf('a'), { known, auditId: 'id-4' }));
    const read = await traced(get);
    Object.assign(engine, { isNewest: () => true });
    const seen = await traced(get);
    expect([seen?.name, seen?.attributes, seen?.steps]).toEqual([read?.name, read?.attributes, read?.steps]);
    expect(seen?.attributes).toMatchObject({ 'audit-id': 'id-4', resourceVersion: '' });
  });

  it('records only the code of a failure, because its text may quote stored data', async () => {
    await bench.create('a');
    expect((await traced(() => bench.create('a')))?.error).toBe('KeyExists');
    await bench.overwrite('a', `enc:1:{"${secret}`);
    const span = await traced(() => bench.storage.get(keyOf('a')));
    expect(span?.error).toBe('Corrupt');
    expect(JSON.stringify(span)).not.toContain(secret);
  });
});

describe('the log of slow calls', () => {
  it('has one line with all steps for a call of more than 500 ms, and no value', async () => {
    await bench.create('a');
    slowBy(300);
    await setLabels(bench.storage, 'id-4')();
    expect(logged).toHaveLength(1);
    expect(logged[0]?.message).toBe('Trace "GuaranteedUpdate etcd3" (total time: 600ms)');
    const { steps, ...fields } = logged[0]?.fields ?? {};
    expect(fields).toEqual({ 'audit-id': 'id-4', key: keyOf('a'), type: 'Pod', resource: 'pods' });
    expect(steps).toMatch(
      /^"initial value restored" 300ms, "About to Encode" 0ms, "Encode succeeded" len:\d+ 0ms, .*"Txn call completed" 300ms, .*"END" 0ms$/,
    );
    expect(JSON.stringify(logged)).not.toContain(secret);
  });

  it.each([
    [500, 0],
    [501, 1],
  ])('for a call of %s ms has %s lines', async (ms, lines) => {
    slowBy(ms);
    await bench.create('a');
    expect(logged).toHaveLength(lines);
  });

  it('has a line for slow calls that fail', async () => {
    await bench.create('a');
    slowBy(501);
    await expect(bench.create('a')).rejects.toThrow('key exists');
    expect(logged[0]?.fields).toMatchObject({ error: 'KeyExists', key: keyOf('a') });
  });
});
