// A caller goes away while its write waits for the engine. The test checks that the engine is told, and nothing is
// written.
import type { Revision } from '@kapstan/api';
import { settle, type TestPod } from '@kapstan/api/testing';
import { beforeEach, expect, it } from 'vitest';
import { MemoryEngine } from './memory-engine.ts';
import { ObjectStore } from './object-store.ts';
import { keyOf, podOf, podStoreOptions } from './testing/storage-fixture.ts';

type PodStore = ObjectStore<TestPod>;
interface Call {
  readonly signal: AbortSignal;
}

let engine: MemoryEngine;
let store: PodStore;

beforeEach(async () => {
  engine = new MemoryEngine();
  store = new ObjectStore<TestPod>(podStoreOptions(engine));
  await store.create(keyOf('old'), podOf('old'));
  const change = { type: 'put', value: Buffer.from('garbage') } as const;
  await engine.commit({ key: keyOf('unreadable'), expectedRevision: 0 as Revision, change });
});

it.each<[string, (call: Call) => Promise<unknown>]>([
  ['create', (call) => store.create(keyOf('new'), podOf('new'), call)],
  ['create of what expires', (call) => store.create(keyOf('new'), podOf('new'), { ...call, ttlSeconds: 60 })],
  [
    'guaranteedUpdate',
    (call) => store.guaranteedUpdate(keyOf('old'), () => ({ object: podOf('old', { labels: { a: 'b' } }) }), call),
  ],
  ['delete', (call) => store.delete(keyOf('old'), call)],
  ['deleteUnreadable', (call) => store.deleteUnreadable(keyOf('unreadable'), call)],
])('%s takes its commit back when the signal aborts meanwhile', async (_what, write) => {
  const stop = new AbortController();
  const before = await engine.currentRevision();
  engine.beforeOperation = (operation) => {
    if (operation === 'commit') stop.abort(new Error('the client is gone'));
  };
  await expect(write({ signal: stop.signal })).rejects.toThrow('the client is gone');
  await settle();
  expect(stop.signal.aborted).toBe(true);
  expect(await engine.currentRevision()).toBe(before);
});
