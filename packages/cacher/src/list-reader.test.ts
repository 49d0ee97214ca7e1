// Tests which lists reach the storage below, and the cost of lists. Covers TestShouldDelegateList, TestLists with
// snapshots, TestMatchExactResourceVersionFallback, TestConsistentReadFallback, TestListMetrics, TestComputeListLimit
// and TestListIndexer of the Go library.
import { isExpired, isTooLargeResourceVersion, type StatusError } from '@kapstan/api';
import { settle, type TestPod } from '@kapstan/api/testing';
import { type Storage, StorageError, type StorageListOptions } from '@kapstan/storage';
import { keyOf, namesOf, podOf, predicate } from '@kapstan/storage/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { openCacherBench } from './testing/cacher-bench.ts';

const root = '/registry/pods';
const { bench, parts } = openCacherBench();

/** Returns the operations that reach the storage below while a call runs. */
async function asked(call: () => Promise<unknown>): Promise<string[]> {
  const operations: string[] = [];
  parts().engine.beforeOperation = (operation) => void operations.push(operation);
  await call();
  parts().engine.beforeOperation = () => undefined;
  return operations;
}

const exactly = (revision: number) => ({ resourceVersion: String(revision), resourceVersionMatch: 'Exact' as const });

/** Returns the content of a list, or its refusal. */
async function outcome(storage: Storage<TestPod>, key: string, options: StorageListOptions<TestPod>): Promise<unknown> {
  try {
    const { items, ...list } = await storage.getList(key, options);
    const names = items.map((item) => `${item.object.metadata?.name}@${item.revision}`);
    // kube-apiserver has this one difference too: a cache's token begins with a slash, the storage's does not.
    const next = Buffer.from(list.continue, 'base64url').toString().replace('"start":"/', '"start":"');
    return { names, ...list, continue: next };
  } catch (error) {
    return { code: (error as StatusError).code, message: (error as Error).message };
  }
}

/** Makes the storage's lists lack their first object. */
function hideFirst(storage: Storage<TestPod>): () => void {
  const original = storage.getList.bind(storage);
  storage.getList = async (key, options) => {
    const list = await original(key, options);
    return { ...list, items: list.items.slice(1) };
  };
  return () => {
    storage.getList = original;
  };
}

describe('lists of a past state', () => {
  beforeEach(() => parts().start());

  it('are answered from memory: exact ones, pages at a version, and continue tokens', async () => {
    const [a] = await bench.createAll('a', 'b', 'c');
    const revision = await bench.caughtUp();
    await bench.remove('b');
    await bench.caughtUp();
    expect(
      await asked(async () => {
        expect(await bench.names(exactly(a?.revision ?? 0))).toEqual(['a']);
        expect(await bench.names(exactly(revision))).toEqual(['a', 'b', 'c']);
        const page = await bench.list({ resourceVersion: String(revision), limit: 1 });
        expect([namesOf(page), page.remainingItemCount, page.resourceVersion]).toEqual([['a'], 2, String(revision)]);
        const next = await bench.list({ continue: page.continue, limit: 1 });
        expect([namesOf(next), next.remainingItemCount, next.resourceVersion]).toEqual([['b'], 1, String(revision)]);
        const rest = await bench.list({ continue: page.continue, limit: 1, resourceVersion: '0' });
        expect([namesOf(rest), rest.continue]).toEqual([['b', 'c'], '']);
      }),
    ).toEqual([]);
  });

  it('select by label and field in the state of that time', async () => {
    await bench.create('a', { node: 'n1', labels: { app: 'web' } });
    await bench.create('b', { node: 'n1' });
    const before = await bench.caughtUp();
    await bench.update('a', { node: 'n2' });
    await bench.update('b', { node: 'n2', labels: { app: 'web' } });
    await bench.caughtUp();
    expect(
      await asked(async () => {
        expect(await bench.names({ ...exactly(before), fields: 'spec.nodeName=n1' })).toEqual(['a', 'b']);
        expect(await bench.names({ ...exactly(before), labels: 'app=web' })).toEqual(['a']);
      }),
    ).toEqual([]);
  });

  it('wait for a revision that is still to come, and are refused with 504 after 3 s', async () => {
    const { clock, cacher } = parts();
    await bench.create('a');
    const next = Number(await cacher.currentResourceVersion()) + 1;
    const listing = bench.names(exactly(next));
    await settle();
    expect(cacher.inspect().waiting).toBe(1);
    await bench.create('b');
    expect(await listing).toEqual(['a', 'b']);
    const refused = bench.list(exactly(next + 10)).catch((error: unknown) => error);
    await clock.advance(3_000);
    expect(isTooLargeResourceVersion(await refused)).toBe(true);
  });

  it('go to the storage when the history does not reach back so far', async () => {
    const { store } = parts();
    await bench.createAll('a', 'b');
    const past = await bench.caughtUp();
    await bench.create('c');
    await parts().relist();
    await store.create(keyOf('d'), podOf('d'));
    expect(await asked(async () => expect(await bench.names(exactly(past))).toEqual(['a', 'b']))).toEqual(['range']);
  });

  it('give the whole rest to a client that takes any version, also when the storage has to answer', async () => {
    await bench.createAll('a', 'b', 'c', 'd');
    const page = await bench.list({ resourceVersion: String(await bench.caughtUp()), limit: 1 });
    await parts().store.create(keyOf('e'), podOf('e'));
    await parts().relist();
    const rest = async (resourceVersion: string) =>
      namesOf(await bench.list({ continue: page.continue, limit: 1, resourceVersion }));
    expect(await asked(async () => expect(await rest('0')).toEqual(['b', 'c', 'd']))).toEqual(['range']);
    expect(await rest('')).toEqual(['b']);
  });

  it('ask the storage once more when the state is lost while the cache catches up', async () => {
    const { cacher, clock, engine } = parts();
    await bench.create('a');
    await bench.caughtUp();
    const next = Number(await cacher.currentResourceVersion()) + 1;
    const listing = bench.names(exactly(next));
    await settle();
    engine.breakWatches(new StorageError({ code: 'Compacted', revision: 1 }));
    await bench.createAll('b', 'c');
    await clock.advance(200);
    expect(await listing).toEqual(['a', 'b']);
    expect(cacher.inspect().counters.exactReadFallbacks).toBe(1);
  });

  it('end with the storage: what is compacted is gone here at once', async () => {
    const { engine } = parts();
    const [a, b] = await bench.createAll('a', 'b', 'c');
    const page = await bench.list({ limit: 1, resourceVersion: String(b?.revision) });
    await bench.caughtUp();
    await engine.compact((await bench.create('d')).revision);
    for (const call of [exactly(a?.revision ?? 0), { continue: page.continue }]) {
      expect(isExpired(await bench.list(call).catch((error: unknown) => error))).toBe(true);
    }
    expect(await bench.names({ resourceVersion: String(a?.revision) })).toEqual(['a', 'b', 'c', 'd']);
  });
});

describe('every kind of list', () => {
  beforeEach(() => parts().start());

  it.each(['history', 'no history', 'distrusted history'])(
    'is answered as the storage would answer it, with %s',
    async (mode) => {
      const { cacher, store } = parts();
      const created = await bench.createAll('a', 'b', 'c', 'd');
      await bench.update('b', { labels: { app: 'web' } });
      await bench.remove('c');
      const current = await bench.caughtUp();
      if (mode === 'no history') await parts().relist();
      if (mode === 'distrusted history') {
        const restore = hideFirst(store);
        await cacher.checkConsistency();
        restore();
      }
      const { continue: token } = await store.getList(root, { predicate: predicate({ limit: 1 }), recursive: true });
      const start = JSON.parse(Buffer.from(token, 'base64url').toString());
      const inconsistent = Buffer.from(JSON.stringify({ ...start, rv: -1 })).toString('base64url');
      const versions = ['', '0', String(created[1]?.revision), String(current), 'x'];
      const matches = ['', 'Exact', 'NotOlderThan', 'Roughly'] as const;
      let compared = 0;
      for (const resourceVersion of versions)
        for (const resourceVersionMatch of matches)
          for (const continueToken of ['', token, inconsistent, '%'])
            for (const limit of [0, 1])
              for (const labels of ['', 'app=web'])
                for (const recursive of [true, false]) {
                  // A cache sends the whole list to clients that accept any version.
                  const pageSize = resourceVersion === '0' ? 0 : limit;
                  const options = { resourceVersion, resourceVersionMatch: resourceVersionMatch as 'Exact', recursive };
                  const call = {
                    ...options,
                    predicate: predicate({ labels, limit: pageSize, continue: continueToken }),
                  };
                  const key = recursive ? root : keyOf('b');
                  const [ours, theirs] = [await outcome(cacher, key, call), await outcome(store, key, call)];
                  expect(ours, JSON.stringify({ ...call, predicate: { labels, limit, continueToken } })).toEqual(
                    theirs,
                  );
                  compared++;
                }
      expect(compared).toBe(5 * 4 * 4 * 2 * 2 * 2);
    },
  );
});

describe('consistent lists', () => {
  beforeEach(() => parts().start());

  it('go on at a start with a slash, and those of the storage at one without, as in kube-apiserver', async () => {
    const { cacher, store } = parts();
    await bench.createAll('a', 'b');
    const call = { predicate: predicate({ limit: 1 }), recursive: true };
    const starts = [cacher, store].map(async (storage) => {
      const page = await storage.getList(root, call);
      return JSON.parse(Buffer.from(page.continue, 'base64url').toString()).start;
    });
    expect(await Promise.all(starts)).toEqual(['/default/a\0', 'default/a\0']);
  });

  it('name the version of a token as it stands there, whether the cache or the storage refuses it', async () => {
    const { cacher, clock, store } = parts();
    await bench.create('a');
    await bench.caughtUp();
    const token = Buffer.from('{"v":"meta.k8s.io/v1","rv":9223372036854775807,"start":"a"}').toString('base64url');
    const call = { predicate: predicate({ continue: token }), recursive: true };
    const answers = Promise.all([outcome(cacher, root, call), outcome(store, root, call)]);
    await settle();
    await clock.advance(3_000);
    const message = expect.stringMatching(/Too large resource version: 9223372036854775807, current: /);
    expect(await answers).toMatchObject([
      { code: 504, message },
      { code: 504, message },
    ]);
  });

  it('go on at the newest state with an inconsistent token, from memory', async () => {
    await bench.createAll('a', 'b', 'c');
    const page = await bench.list({ limit: 1 });
    const { start } = JSON.parse(Buffer.from(page.continue, 'base64url').toString());
    const token = Buffer.from(JSON.stringify({ v: 'meta.k8s.io/v1', rv: -1, start })).toString('base64url');
    await bench.remove('b');
    expect(await asked(async () => expect(await bench.names({ continue: token })).toEqual(['c']))).toEqual([]);
  });

  it('answer with the failure of the storage when that has to stand in and fails too', async () => {
    const { cacher, clock, engine } = parts();
    await bench.create('a');
    await bench.caughtUp();
    parts().loseProgress();
    await parts().store.create(keyOf('b'), podOf('b'));
    engine.beforeOperation = (operation) => {
      if (operation === 'range') throw new StorageError({ code: 'Unreachable' });
    };
    const [failure] = await Promise.all([bench.list().catch((error: unknown) => error), clock.advance(3_000)]);
    expect(failure).toMatchObject({ code: 'Unreachable' });
    expect(cacher.inspect().counters).toMatchObject({ consistentReads: 0, consistentReadFallbacks: 1 });
  });
});

describe('the cost of lists', () => {
  beforeEach(() => parts().start());

  it.each([
    ['all of them for a client that takes any version', { resourceVersion: '0', limit: 2 }, 3],
    ['the page for one that wants the newest', { limit: 2 }, 2],
    ['all of them without a limit', {}, 3],
    ['one for one key, whatever the limit', { limit: 2, recursive: false }, 1],
  ])('%s', async (_what, call, expected) => {
    await bench.createAll('a', 'b', 'c');
    await bench.caughtUp();
    const key = 'recursive' in call ? keyOf('a') : undefined;
    expect((await bench.list(call, key)).items).toHaveLength(expected);
  });

  it('is counted by index: lists, objects looked at, objects returned', async () => {
    const { cacher } = parts();
    for (let i = 0; i < 6; i++) await bench.create(`p${i}`, { node: `n${i % 2}`, labels: { odd: String(i % 2) } });
    await bench.caughtUp();
    const before = cacher.inspect().counters.lists.find(({ index }) => index === '');
    await bench.list({ resourceVersion: '0', fields: 'spec.nodeName=n1' });
    await bench.list({ resourceVersion: '0', fields: 'spec.nodeName=n1', labels: 'odd=0' });
    await bench.list({ resourceVersion: '0', labels: 'odd=1' });
    await bench.list({ limit: 2 });
    const counts = new Map(cacher.inspect().counters.lists.map(({ index, ...rest }) => [index, rest]));
    expect(counts.get('f:spec.nodeName')).toEqual({ lists: 2, fetched: 6, returned: 3 });
    const plain = counts.get('');
    expect([
      (plain?.lists ?? 0) - (before?.lists ?? 0),
      (plain?.fetched ?? 0) - (before?.fetched ?? 0),
      (plain?.returned ?? 0) - (before?.returned ?? 0),
    ]).toEqual([2, 8, 5]);
  });

  it('does not use an index where a token says where to begin', async () => {
    const { cacher } = parts();
    for (const name of ['a', 'b', 'c']) await bench.create(name, { node: 'n1' });
    await bench.caughtUp();
    const page = await bench.list({ limit: 1, fields: 'spec.nodeName=n1' });
    expect(await bench.names({ continue: page.continue, fields: 'spec.nodeName=n1' })).toEqual(['b', 'c']);
    const { start } = JSON.parse(Buffer.from(page.continue, 'base64url').toString());
    const newest = Buffer.from(JSON.stringify({ v: 'meta.k8s.io/v1', rv: -1, start })).toString('base64url');
    expect(await bench.names({ continue: newest, fields: 'spec.nodeName=n1' })).toEqual(['b', 'c']);
    const indexed = cacher.inspect().counters.lists.find(({ index }) => index === 'f:spec.nodeName');
    expect(indexed?.lists).toBe(1);
  });
});
