// Covers TestConsistencyCheckerDigest, TestConsistencyCheckerListOpts, TestConsistencyCheckerDigestMatches and
// TestMarkConsistent of the Go library.

import { expired } from '@kapstan/api/errors';
import type { TestPod } from '@kapstan/api/testing';
import type { Storage, StorageListOptions } from '@kapstan/storage';
import { StorageError } from '@kapstan/storage';
import { keyOf } from '@kapstan/storage/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { FnvHash } from './fnv-hash.ts';
import { openCacherBench } from './testing/cacher-bench.ts';

describe('FnvHash', () => {
  it.each([
    // Vectors of draft-eastlake-fnv, FNV-1 with 64 bits.
    ['', 'cbf29ce484222325'],
    ['a', 'af63bd4c8601b7be'],
    ['foobar', '340d8765a4dda9c2'],
  ])('of %j is %s', (text, hex) => {
    const hash = new FnvHash();
    hash.put(text);
    expect(hash.hex).toBe(hex);
  });

  it('does not depend on how a text is cut, and takes UTF-8 bytes', () => {
    const whole = new FnvHash();
    whole.put('default/é/12');
    const parts = new FnvHash();
    for (const part of ['default/', 'é', '/1', '2']) parts.put(part);
    expect(parts.hex).toBe(whole.hex);
    let expected = 0xcbf29ce484222325n;
    for (const byte of Buffer.from('default/é/12')) {
      expected = ((expected * 0x100000001b3n) & 0xffffffffffffffffn) ^ BigInt(byte);
    }
    expect(whole.hex).toBe(expected.toString(16));
  });
});

const { bench, parts } = openCacherBench();
const exactly = (revision: number) => ({ resourceVersion: String(revision), resourceVersionMatch: 'Exact' as const });

/** Makes the storage's lists lack an object, as if the cache had missed its deletion. */
function hideFromLists(storage: Storage<TestPod>, key: string): () => void {
  const original = storage.getList.bind(storage);
  storage.getList = async (prefix, options) => {
    const list = await original(prefix, options);
    return { ...list, items: list.items.filter((item) => item.key !== key) };
  };
  return () => {
    storage.getList = original;
  };
}

describe('the consistency check of a Cacher', () => {
  beforeEach(() => parts().start());

  it('succeeds when cache and storage hold the same objects at the same revisions', async () => {
    const { cacher } = parts();
    await bench.createAll('a', 'other/a', 'b');
    await bench.update('a', { node: 'n1' });
    await bench.caughtUp();
    expect(await cacher.checkConsistency()).toBe('success');
    expect(cacher.inspect().counters.consistencyChecks).toEqual({ success: 1, failure: 0, error: 0 });
  });

  it('reads the storage at the very revision of the cache, in pages of 10,000', async () => {
    const { cacher, store } = parts();
    await bench.create('a');
    const revision = await bench.caughtUp();
    const calls: StorageListOptions<TestPod>[] = [];
    const original = store.getList.bind(store);
    store.getList = (key, options) => {
      calls.push(options);
      return original(key, options);
    };
    await cacher.checkConsistency();
    expect(calls).toHaveLength(1);
    expect(calls[0]).toMatchObject({
      ...exactly(revision),
      recursive: true,
      predicate: { limit: 10_000, continue: '' },
    });
  });

  it('compares all pages of the storage', async () => {
    const { cacher, store } = parts();
    await bench.createAll('a', 'b', 'c', 'd', 'e');
    await bench.caughtUp();
    const original = store.getList.bind(store);
    let pages = 0;
    store.getList = (key, options) => {
      pages++;
      return original(key, { ...options, predicate: { ...options.predicate, limit: 2 } });
    };
    expect([await cacher.checkConsistency(), pages]).toEqual(['success', 3]);
    const restore = hideFromLists(store, keyOf('e'));
    expect(await cacher.checkConsistency()).toBe('failure');
    restore();
  });

  it('fails on a difference: lists of the past then go to the storage, until a check succeeds again', async () => {
    const { cacher, store } = parts();
    const [a] = await bench.createAll('a', 'b');
    await bench.caughtUp();
    const asked: string[] = [];
    const restore = hideFromLists(store, keyOf('b'));
    expect(await cacher.checkConsistency()).toBe('failure');
    restore();
    parts().engine.beforeOperation = (operation) => void asked.push(operation);
    expect(await bench.names(exactly(a?.revision ?? 0))).toEqual(['a']);
    expect([asked, cacher.inspect().pastStates]).toEqual([['range'], undefined]);
    expect(await bench.names()).toEqual(['a', 'b']);
    await bench.create('c');
    const revision = await bench.caughtUp();
    expect(cacher.inspect().pastStates).toBeUndefined();
    expect(await cacher.checkConsistency()).toBe('success');
    asked.length = 0;
    expect(await bench.names(exactly(revision))).toEqual(['a', 'b', 'c']);
    expect([asked, cacher.inspect().pastStates]).toEqual([[], { oldest: revision, newest: revision }]);
  });

  it('is an error, and changes nothing, when the storage fails or answers at another revision', async () => {
    const { cacher, engine, store } = parts();
    await bench.create('a');
    await bench.caughtUp();
    engine.beforeOperation = (operation) => {
      if (operation === 'range') throw new StorageError({ code: 'Unreachable' });
    };
    expect(await cacher.checkConsistency()).toBe('error');
    engine.beforeOperation = () => undefined;
    const original = store.getList.bind(store);
    store.getList = async (key, options) => ({ ...(await original(key, options)), resourceVersion: '1' as never });
    expect(await cacher.checkConsistency()).toBe('error');
    expect(cacher.inspect().counters.consistencyChecks).toEqual({ success: 0, failure: 0, error: 2 });
    expect(cacher.inspect().pastStates).toBeDefined();
  });

  it('runs by itself every five minutes, and not after close (I9)', async () => {
    const { cacher, clock } = parts();
    await clock.advance(299_000);
    expect(cacher.inspect().counters.consistencyChecks.success).toBe(0);
    await clock.advance(2_000);
    await clock.advance(300_000);
    expect(cacher.inspect().counters.consistencyChecks).toEqual({ success: 2, failure: 0, error: 0 });
    await cacher.close();
    expect(clock.pendingTimers).toBe(0);
  });
});

describe('the consistency check of a Cacher with a late draw', () => {
  const late = openCacherBench({ random: () => 0.999 });

  it('runs up to half of its period later', async () => {
    const { cacher, clock, start } = late.parts();
    await start();
    await clock.advance(449_000);
    expect(cacher.inspect().counters.consistencyChecks.success).toBe(0);
    await clock.advance(2_000);
    expect(cacher.inspect().counters.consistencyChecks.success).toBe(1);
  });
});

describe('the consistency check of a Cacher that is not ready', () => {
  it('is an error', async () => {
    expect(await parts().cacher.checkConsistency()).toBe('error');
  });
});

describe('the consistency check of an idle Cacher whose revision is compacted', () => {
  const log: string[] = [];
  const note = (level: string) => (message: string) => void log.push(`${level}: ${message}`);
  const logger = { debug: note('debug'), info: note('info'), warn: note('warn'), error: note('error') };
  const idle = openCacherBench({ logger });

  it('is an error that is logged at debug level only', async () => {
    const { cacher, store, start } = idle.parts();
    await start();
    store.getList = () => Promise.reject(expired('The provided continue parameter is too old'));
    log.length = 0;
    expect(await cacher.checkConsistency()).toBe('error');
    expect(log).toEqual(['debug: the watch cache could not be compared with the storage']);
  });
});
