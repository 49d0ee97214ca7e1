// Part of storage-conformance.ts: lists as tables, with the cases of RunTestList and its neighbours in the Go library.
import { isTooLargeResourceVersion } from '@kapstan/api';
import { expect, it } from 'vitest';
import { encodeContinue } from '../continue-token.ts';
import { refusalOf } from './storage-conformance-lists.ts';
import { keyOf, type ListCall, namesOf, root, type StorageBench } from './storage-fixture.ts';

const prefix = `${root}/`;

export function listTableConformance(bench: StorageBench): void {
  emptyPrefix(bench);
  limitsAtVersions(bench);
  filteredPages(bench);
  tokensOfRevisions(bench);
  singleKey(bench);
  exactPrefixes(bench);
  scopedLists(bench);
}

/**
 * Returns every version and match that can be requested: the present and the past with "" and "NotOlderThan", the past
 * with "Exact".
 */
function versionCalls(...revisions: readonly number[]): ListCall[] {
  const versions = ['0', ...revisions.map(String)];
  return [
    { resourceVersion: '' },
    ...versions.flatMap((resourceVersion): ListCall[] => [
      { resourceVersion },
      { resourceVersion, resourceVersionMatch: 'NotOlderThan' },
      ...(resourceVersion === '0' ? [] : [{ resourceVersion, resourceVersionMatch: 'Exact' } as const]),
    ]),
  ];
}

function emptyPrefix(bench: StorageBench): void {
  it('finds nothing under an absent prefix, at the right version, whatever is asked', async () => {
    const [first, last] = await bench.createAll('a', 'b');
    const current = await bench.caughtUp();
    for (const call of versionCalls(first?.revision ?? 0, last?.revision ?? 0)) {
      const list = await bench.list(call, `${root}/none`);
      const what = JSON.stringify(call);
      expect([list.items, list.continue, list.remainingItemCount], what).toEqual([[], '', undefined]);
      const expected = call.resourceVersionMatch === 'Exact' ? Number(call.resourceVersion) : current;
      expect(Number(list.resourceVersion), what).toBe(expected);
    }
  });
}

function limitsAtVersions(bench: StorageBench): void {
  it('limits a list at the asked version: pinned by Exact or by the version alone, else the newest', async () => {
    const [, b, c] = await bench.createAll('a', 'b', 'c');
    const [old, current] = [b?.revision ?? 0, c?.revision ?? 0];
    await bench.caughtUp();
    for (const call of versionCalls(old, current)) {
      const what = JSON.stringify(call);
      const list = await bench.list({ ...call, limit: 1 });
      const revision = isPinned(call) ? Number(call.resourceVersion) : current;
      const names = revision === old ? ['a', 'b'] : ['a', 'b', 'c'];
      expect(list.resourceVersion, what).toBe(String(revision));
      // A list that need not be fresh comes from a cache's memory, unpaged.
      if (bench.fixture.isCached && isFromMemory(call) && list.continue === '') {
        expect(namesOf(list), what).toEqual(names);
        continue;
      }
      expect([namesOf(list), list.remainingItemCount], what).toEqual([['a'], names.length - 1]);
      expect(await bench.names({ continue: list.continue }), what).toEqual(names.slice(1));
    }
  });
}

const isPinned = ({ resourceVersion = '', resourceVersionMatch = '' }: ListCall): boolean =>
  resourceVersionMatch === 'Exact' || (Number(resourceVersion) > 0 && resourceVersionMatch === '');
const isFromMemory = (call: ListCall): boolean => !isPinned(call) && call.resourceVersion !== '';

function filteredPages(bench: StorageBench): void {
  it.each([
    ['one on the first page', 'x.....', 2, [['a']]],
    ['one on the last page', '.....x', 2, [['f']]],
    ['two on two pages', 'x....x', 2, [['a', 'f']]],
    ['two, the first as the last of a page', '.x...x', 2, [['b', 'f']]],
    ['two that fill the first page', 'xx....', 2, [['a', 'b'], []]],
    ['two that fill the last page', '....xx', 2, [['e', 'f']]],
    ['two in the middle', '..xx..', 2, [['c', 'd'], []]],
    ['one a page', 'x.x.x.', 1, [['a'], ['c'], ['e'], []]],
    [
      'all',
      'xxxxxx',
      4,
      [
        ['a', 'b', 'c', 'd'],
        ['e', 'f'],
      ],
    ],
    ['none', '......', 2, [[]]],
  ])('pages through %s of those that match (%s, limit %i)', async (...row) => {
    const [, layout, limit, expected] = row;
    for (const [index, mark] of [...layout].entries())
      await bench.create('abcdef'.charAt(index), mark === 'x' ? { labels: { x: 'yes' } } : {});
    await bench.caughtUp();
    const pages: string[][] = [];
    let token = '';
    do {
      const page = await bench.list({ labels: 'x=yes', limit, continue: token });
      expect(page.remainingItemCount).toBeUndefined();
      pages.push(namesOf(page));
      token = page.continue;
    } while (token !== '');
    expect(pages).toEqual(expected);
  });
}

function tokensOfRevisions(bench: StorageBench): void {
  it('goes on from a token at each revision, and with -1 at the newest one', async () => {
    const [a, b, c] = await bench.createAll('a', 'b', 'c');
    const gone = await bench.remove('b');
    await bench.caughtUp();
    const from = async (revision: number): Promise<[string[], string]> => {
      const token = encodeContinue(`${prefix}default/a\u0000`, prefix, revision);
      const list = await bench.list({ continue: token });
      return [namesOf(list), list.resourceVersion];
    };
    const expected: [number | undefined, string[]][] = [
      [a?.revision, []],
      [b?.revision, ['b']],
      [c?.revision, ['b', 'c']],
      [gone.revision, ['c']],
    ];
    for (const [revision = 0, names] of expected) expect(await from(revision)).toEqual([names, String(revision)]);
    const last = await bench.create('d');
    expect(await from(-1)).toEqual([['c', 'd'], String(last.revision)]);
    const [error] = await Promise.all([refusalOf(from(last.revision + 5)), bench.fixture.clock.advance(3_000)]);
    expect(isTooLargeResourceVersion(error)).toBe(true);
  });
}

function singleKey(bench: StorageBench): void {
  it('lists one key at each version with each match, there or not, and by its name', async () => {
    const first = await bench.create('a');
    const second = await bench.update('a', { node: 'n1' });
    const current = (await bench.create('b')).revision;
    await bench.caughtUp();
    for (const call of versionCalls(first.revision, second.revision, current)) {
      const what = JSON.stringify(call);
      const isExact = call.resourceVersionMatch === 'Exact';
      const list = await bench.list({ ...call, recursive: false }, keyOf('a'));
      const shown = isExact && Number(call.resourceVersion) === first.revision ? first : second;
      expect(
        list.items.map((item) => item.revision),
        what,
      ).toEqual([shown.revision]);
      const version = isExact ? Number(call.resourceVersion) : current;
      expect(Number(list.resourceVersion), what).toBe(version);
      const absent = await bench.list({ ...call, recursive: false }, keyOf('none'));
      expect([absent.items, Number(absent.resourceVersion)], what).toEqual([[], version]);
      const named = (name: string) =>
        bench.names({ ...call, recursive: false, fields: `metadata.name=${name}` }, keyOf('a'));
      expect([await named('a'), await named('b')], what).toEqual([['a'], []]);
    }
  });

  it.each(['', 'NotOlderThan', 'Exact'] as const)('refuses one key at a version of the future (%j)', async (match) => {
    await bench.create('a');
    const future = { resourceVersion: String((await bench.caughtUp()) + 7), resourceVersionMatch: match };
    const asked = refusalOf(bench.list({ ...future, recursive: false }, keyOf('a')));
    const [error] = await Promise.all([asked, bench.fixture.clock.advance(3_000)]);
    expect(isTooLargeResourceVersion(error)).toBe(true);
  });
}

function exactPrefixes(bench: StorageBench): void {
  it('ends prefixes on path boundaries at an exact version', async () => {
    await bench.createAll('ns/a', 'ns/aa', 'nsx/b');
    const exact = { resourceVersion: String(await bench.caughtUp()), resourceVersionMatch: 'Exact' } as const;
    await bench.create('ns/later');
    const names = (key: string, recursive: boolean) => bench.names({ ...exact, recursive }, key);
    expect(await names(`${root}/ns`, true)).toEqual(['a', 'aa']);
    expect(await names(`${root}/ns/`, true)).toEqual(['a', 'aa']);
    expect(await names(root, true)).toEqual(['a', 'aa', 'b']);
    expect(await names(`${root}/ns/a`, true)).toEqual([]);
    expect(await names(`${root}/n`, true)).toEqual([]);
    expect(await names(`${root}/ns/`, false)).toEqual([]);
    expect(await names(`${root}/ns/a`, false)).toEqual(['a']);
  });
}

/** Key below the root, or the key of one object; selector; which of the four pods must be found. */
const scopes: readonly (readonly [scope: string, fields: string, found: readonly string[]])[] = [
  ['', '', ['ns1/a', 'ns1/b', 'ns2/a', 'ns2/c']],
  ['', 'metadata.namespace=ns1', ['ns1/a', 'ns1/b']],
  ['', 'metadata.namespace=none', []],
  ['', 'metadata.name=a', ['ns1/a', 'ns2/a']],
  ['', 'metadata.name=c,metadata.namespace=ns2', ['ns2/c']],
  ['', 'metadata.name=c,metadata.namespace=ns1', []],
  ['', 'spec.nodeName=n1', ['ns1/a', 'ns2/a']],
  ['', 'spec.nodeName=n1,metadata.namespace=ns2', ['ns2/a']],
  ['', 'spec.nodeName=n2,metadata.name=a', []],
  ['ns1', '', ['ns1/a', 'ns1/b']],
  ['ns1', 'metadata.namespace=ns1', ['ns1/a', 'ns1/b']],
  ['ns1', 'metadata.namespace=ns2', []],
  ['ns1', 'metadata.name=b', ['ns1/b']],
  ['ns1', 'metadata.name=c', []],
  ['ns1', 'spec.nodeName=n2', ['ns1/b']],
  ['ns1', 'spec.nodeName=n2,metadata.name=a', []],
  ['none', '', []],
];

function scopedLists(bench: StorageBench): void {
  it('finds within a scope what the fields select', async () => {
    await bench.create('ns1/a', { node: 'n1' });
    await bench.create('ns1/b', { node: 'n2' });
    await bench.create('ns2/a', { node: 'n1' });
    await bench.create('ns2/c', { node: 'n2' });
    await bench.caughtUp();
    for (const [scope, fields, found] of scopes) {
      for (const resourceVersion of ['', '0']) {
        const list = await bench.list({ fields, resourceVersion }, scope === '' ? root : `${root}/${scope}`);
        const keys = list.items.map((item) => item.key.slice(prefix.length));
        expect(keys, `${scope} ${fields} at "${resourceVersion}"`).toEqual(found);
      }
    }
  });
}
