// Part of storage-conformance.ts: which state a list shows, at which version, for which selectors.
import { isBadRequest, isExpired, isTooLargeResourceVersion, type StatusError } from '@kapstan/api';
import { expect, it } from 'vitest';
import { keyOf, namesOf, root, type StorageBench } from './storage-fixture.ts';

export async function refusalOf(work: Promise<unknown>): Promise<StatusError> {
  return work.then(
    () => expect.fail('was not refused'),
    (error: StatusError) => error,
  );
}

export function listConformance(bench: StorageBench): void {
  versionedLists(bench);
  exactLists(bench);
  selectedLists(bench);
  singleKeyLists(bench);
  prefixLists(bench);
  corruptLists(bench);
}

function versionedLists(bench: StorageBench): void {
  it('shows the newest state without a version, and one at least as new with one', async () => {
    const [first] = await bench.createAll('a', 'b');
    const last = await bench.create('c');
    const newest = await bench.list();
    expect(namesOf(newest)).toEqual(['a', 'b', 'c']);
    expect(newest.resourceVersion).toBe(String(last.revision));
    expect(newest.continue).toBe('');
    // The list was answered by the store, so the cache may still lag behind.
    if (bench.isCacheWithoutProgress) await bench.caughtUp();
    for (const resourceVersionMatch of ['', 'NotOlderThan'] as const) {
      for (const resourceVersion of ['0', String(first?.revision), String(last.revision)]) {
        const list = await bench.list({ resourceVersion, resourceVersionMatch });
        expect(namesOf(list), `${resourceVersion} ${resourceVersionMatch}`).toEqual(['a', 'b', 'c']);
        expect(Number(list.resourceVersion)).toBeGreaterThanOrEqual(Number(resourceVersion));
      }
    }
  });

  it('has a version and no items when there is nothing', async () => {
    const list = await bench.list();
    expect(list.items).toEqual([]);
    expect(Number(list.resourceVersion)).toBeGreaterThan(0);
  });

  it('has the version of the whole store, not of its newest item', async () => {
    await bench.create('a');
    const later = await bench.create('other/b');
    const list = await bench.list({}, `${root}/default`);
    expect(namesOf(list)).toEqual(['a']);
    expect(list.resourceVersion).toBe(String(later.revision));
  });

  it('sees each write in a consistent list that begins after it', async () => {
    for (let i = 0; i < 20; i++) {
      const { revision } = i === 0 ? await bench.create('a') : await bench.update('a', { labels: { i: String(i) } });
      const list = await bench.list();
      expect(list.items[0]?.revision).toBe(revision);
      if (bench.isCacheWithoutProgress) continue;
      const old = await bench.list({ resourceVersion: '0' });
      expect(Number(old.resourceVersion)).toBeGreaterThanOrEqual(Number(list.resourceVersion));
    }
  });

  it('refuses a version of the future after 3 s at most', async () => {
    await bench.create('a');
    const current = await bench.caughtUp();
    for (const resourceVersionMatch of ['', 'NotOlderThan', 'Exact'] as const) {
      const asked = refusalOf(bench.list({ resourceVersion: String(current + 5), resourceVersionMatch }));
      const [error] = await Promise.all([asked, bench.fixture.clock.advance(3_000)]);
      expect(isTooLargeResourceVersion(error)).toBe(true);
      expect(error.message).toBe(`Timeout: Too large resource version: ${current + 5}, current: ${current}`);
      // A cache whose storage reports no progress does not wait for an exact version, but asks the store below.
      const isAskedBelow = resourceVersionMatch === 'Exact' && bench.isCacheWithoutProgress;
      const isFromCache = bench.fixture.isCached && !isAskedBelow;
      expect(error.details?.retryAfterSeconds ?? 0).toBe(isFromCache ? 1 : 0);
    }
  });

  it('names a version of the future in full, also one that no double holds', async () => {
    const current = await bench.caughtUp();
    for (const match of ['NotOlderThan', 'Exact'] as const) {
      const asked = { resourceVersion: '018446744073709551615', resourceVersionMatch: match };
      const [error] = await Promise.all([refusalOf(bench.list(asked)), bench.fixture.clock.advance(3_000)]);
      expect(error.message).toBe(`Timeout: Too large resource version: 18446744073709551615, current: ${current}`);
    }
  });

  it.each([
    [
      { resourceVersion: 'abc' },
      'invalid resource version: resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax',
    ],
    [
      { resourceVersion: '-1' },
      'invalid resource version: resourceVersion: Invalid value: "-1": strconv.ParseUint: parsing "-1": invalid syntax',
    ],
    [
      { resourceVersion: '99999999999999999999' },
      'invalid resource version: resourceVersion: Invalid value: "99999999999999999999": strconv.ParseUint: parsing "99999999999999999999": value out of range',
    ],
  ])('refuses %j with 400', async (call, message) => {
    const error = await refusalOf(bench.list(call));
    expect(isBadRequest(error)).toBe(true);
    expect(error.message).toBe(message);
  });

  it('refuses an unknown match', async () => {
    const error = await refusalOf(bench.list({ resourceVersion: '1', resourceVersionMatch: 'Roughly' as 'Exact' }));
    expect(error.message).toBe('unknown ResourceVersionMatch value: Roughly');
  });
}

function exactLists(bench: StorageBench): void {
  it('shows the state exactly as it was after each write', async () => {
    const at = async (revision: number): Promise<string[]> =>
      bench.names({ resourceVersion: String(revision), resourceVersionMatch: 'Exact' });
    const a = await bench.create('a');
    const b = await bench.create('b');
    const updated = await bench.update('a', { labels: { v: '2' } });
    const gone = await bench.remove('a');
    expect(await at(a.revision)).toEqual(['a']);
    expect(await at(b.revision)).toEqual(['a', 'b']);
    expect(await at(gone.revision)).toEqual(['b']);
    const list = await bench.list({ resourceVersion: String(updated.revision), resourceVersionMatch: 'Exact' });
    expect(list.items[0]?.object.metadata?.labels).toEqual({ v: '2' });
    expect(list.resourceVersion).toBe(String(updated.revision));
    const limited = await bench.list({ resourceVersion: String(b.revision), limit: 1 });
    expect([namesOf(limited), limited.resourceVersion, limited.remainingItemCount]).toEqual([
      ['a'],
      String(b.revision),
      1,
    ]);
  });

  it('says 410 for a compacted version and learns of the compaction', async () => {
    const a = await bench.create('a');
    const b = await bench.create('b');
    expect(bench.storage.compactRevision()).toBe(0);
    await bench.engine.compact(b.revision);
    expect(bench.storage.compactRevision()).toBe(b.revision);
    const error = await refusalOf(bench.list({ resourceVersion: String(a.revision), resourceVersionMatch: 'Exact' }));
    expect(isExpired(error)).toBe(true);
    expect(error.message).toBe('The resourceVersion for the provided list is too old.');
    expect(await bench.names({ resourceVersion: String(a.revision) })).toEqual(['a', 'b']);
  });
}

function selectedLists(bench: StorageBench): void {
  it.each([
    [{ labels: 'app=web' }, root, ['a', 'c']],
    [{ labels: 'app!=web' }, root, ['b', 'd']],
    [{ labels: 'app in (web,db)' }, root, ['a', 'b', 'c']],
    [{ fields: 'spec.nodeName=n1' }, root, ['a', 'b']],
    [{ fields: 'spec.nodeName=' }, root, ['d']],
    [{ fields: 'metadata.name=b' }, root, ['b']],
    [{ fields: 'metadata.namespace=other' }, root, ['c', 'd']],
    [{ fields: 'metadata.namespace=other' }, `${root}/default`, []],
    [{ fields: 'spec.nodeName=n1', labels: 'app=web' }, root, ['a']],
    [{ fields: 'spec.nodeName=n2' }, `${root}/other`, ['c']],
    [{ labels: 'app=none' }, root, []],
  ])('selects by %j under %s', async (selection, key, expected) => {
    await bench.create('a', { labels: { app: 'web' }, node: 'n1' });
    await bench.create('b', { labels: { app: 'db' }, node: 'n1' });
    await bench.create('other/c', { labels: { app: 'web' }, node: 'n2' });
    await bench.create('other/d');
    await bench.caughtUp();
    for (const resourceVersion of ['', '0'])
      expect(await bench.names({ ...selection, resourceVersion }, key)).toEqual(expected);
  });
}

function singleKeyLists(bench: StorageBench): void {
  it('lists one key, with a version, whatever limit and token say', async () => {
    const first = await bench.create('a');
    const second = await bench.update('a', { node: 'n1' });
    await bench.create('b');
    await bench.caughtUp();
    const one = (call: object, key = keyOf('a')) => bench.list({ recursive: false, ...call }, key);
    for (const call of [
      {},
      { resourceVersion: '0' },
      { resourceVersion: String(first.revision) },
      { limit: 1, continue: 'x' },
    ]) {
      const list = await one(call);
      expect(list.items.map((item) => item.revision)).toEqual([second.revision]);
      expect([list.continue, list.remainingItemCount]).toEqual(['', undefined]);
    }
    const exact = await one({ resourceVersion: String(first.revision), resourceVersionMatch: 'Exact' });
    expect([exact.items[0]?.revision, exact.resourceVersion]).toEqual([first.revision, String(first.revision)]);
    const missing = await one({}, keyOf('none'));
    expect([missing.items, Number(missing.resourceVersion) > 0]).toEqual([[], true]);
    expect((await one({ fields: 'spec.nodeName=n1' })).items).toHaveLength(1);
    expect((await one({ fields: 'spec.nodeName=n2' })).items).toHaveLength(0);
  });
}

function prefixLists(bench: StorageBench): void {
  it.each(['', '0'])('ends prefixes on path boundaries (version %j)', async (resourceVersion) => {
    await bench.createAll('ns/a', 'ns/aa', 'nsx/b');
    await bench.caughtUp();
    const names = (key: string, recursive: boolean) => bench.names({ recursive, resourceVersion }, key);
    expect(await names(`${root}/ns`, true)).toEqual(['a', 'aa']);
    expect(await names(`${root}/ns/`, true)).toEqual(['a', 'aa']);
    expect(await names(root, true)).toEqual(['a', 'aa', 'b']);
    expect(await names(`${root}/ns/a`, true)).toEqual([]);
    expect(await names(`${root}/n`, true)).toEqual([]);
    expect(await names(`${root}/ns/`, false)).toEqual([]);
    expect(await names(`${root}/ns/a`, false)).toEqual(['a']);
  });

  it.each(['', '0'])('orders by the bytes of the keys (version %j)', async (resourceVersion) => {
    await bench.createAll('b', 'B', 'é', 'a-b', 'a.b', 'ab', '\u{1F600}', '\uFFEE', '10', '9');
    await bench.caughtUp();
    expect(await bench.names({ resourceVersion })).toEqual([
      '10',
      '9',
      'B',
      'a-b',
      'a.b',
      'ab',
      'b',
      'é',
      '\uFFEE',
      '\u{1F600}',
    ]);
  });
}

function corruptLists(bench: StorageBench): void {
  it('names all unreadable objects of a list', async () => {
    await bench.createAll('a', 'b', 'c');
    await bench.caughtUp();
    await bench.overwrite('a', 'garbage');
    const revision = await bench.overwrite('c', 'garbage');
    // Every storage reads an exact version from the stored data.
    const error = await refusalOf(
      bench
        .list({ resourceVersion: String(revision), resourceVersionMatch: 'Exact', limit: 3 })
        .finally(() => undefined),
    );
    expect([error.code, error.reason]).toEqual([500, 'StorageReadError']);
    expect(error.message).toMatch(
      /^failed to read one or more pods from the storage: StorageError: corrupt object, Code: 7.* \(and 1 more\)$/,
    );
    expect(error.details).toMatchObject({ name: 'list', kind: 'pods' });
    expect(error.details?.causes?.map(({ reason, field }) => [reason, field])).toEqual([
      ['UnexpectedServerResponse', keyOf('a')],
      ['UnexpectedServerResponse', keyOf('c')],
    ]);
  });
}
