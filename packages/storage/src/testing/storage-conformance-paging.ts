// Part of storage-conformance.ts: limits and continue tokens.
import { isBadRequest, isExpired } from '@kapstan/api';
import { expect, it } from 'vitest';
import { refusalOf } from './storage-conformance-lists.ts';
import { type ListCall, namesOf, root, type StorageBench } from './storage-fixture.ts';

const decoded = (token: string): unknown => JSON.parse(Buffer.from(token, 'base64url').toString());
/** A cache's start key begins with a slash, a store's does not. */
const startAt = (start: string): unknown => expect.toBeOneOf([start, `/${start}`]);
const tokenOf = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

export function pagingConformance(bench: StorageBench): void {
  pages(bench);
  filteredPages(bench);
  expiredPages(bench);
  badTokens(bench);
}

/** Reads all pages. Resolves to the names on each. */
async function walk(bench: StorageBench, call: ListCall): Promise<string[][]> {
  const pagesSeen: string[][] = [];
  let token = '';
  do {
    const page = await bench.list({ ...call, continue: token });
    pagesSeen.push(namesOf(page));
    token = page.continue;
  } while (token !== '');
  return pagesSeen;
}

function pages(bench: StorageBench): void {
  it('pages through one revision with exact tokens and counts', async () => {
    await bench.createAll('a', 'b', 'c', 'd', 'e');
    const revision = await bench.caughtUp();
    const first = await bench.list({ limit: 2 });
    expect([namesOf(first), first.remainingItemCount, first.resourceVersion]).toEqual([
      ['a', 'b'],
      3,
      String(revision),
    ]);
    expect(decoded(first.continue)).toEqual({ v: 'meta.k8s.io/v1', rv: revision, start: startAt('default/b\0') });
    await bench.create('bb');
    await bench.remove('d');
    const second = await bench.list({ limit: 2, continue: first.continue });
    expect([namesOf(second), second.remainingItemCount, second.resourceVersion]).toEqual([
      ['c', 'd'],
      1,
      String(revision),
    ]);
    const last = await bench.list({ limit: 2, continue: second.continue, resourceVersion: '0' });
    expect([namesOf(last), last.remainingItemCount, last.continue]).toEqual([['e'], undefined, '']);
    expect(namesOf(await bench.list({ continue: first.continue }))).toEqual(['c', 'd', 'e']);
  });

  it.each([1, 2, 3, 6, 7, 1_000])('visits each object once with a limit of %i', async (limit) => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f'];
    await bench.createAll(...names);
    const seen = await walk(bench, { limit });
    expect(seen.flat()).toEqual(names);
    expect(seen).toHaveLength(Math.ceil(names.length / limit));
  });

  it('takes a negative limit for none', async () => {
    await bench.createAll('a', 'b');
    expect(await walk(bench, { limit: -1 })).toEqual([['a', 'b']]);
  });

  it('gives the whole list at version 0 from a cache, a page from the store', async () => {
    await bench.createAll('a', 'b', 'c');
    await bench.caughtUp();
    const list = await bench.list({ limit: 1, resourceVersion: '0' });
    expect(namesOf(list)).toEqual(bench.fixture.isCached ? ['a', 'b', 'c'] : ['a']);
    expect(list.continue === '').toBe(bench.fixture.isCached);
  });

  it('counts and pages within one namespace only', async () => {
    await bench.createAll('a', 'b', 'other/c', 'zoo/d');
    const page = await bench.list({ limit: 1 }, `${root}/default`);
    expect([namesOf(page), page.remainingItemCount]).toEqual([['a'], 1]);
    expect(namesOf(await bench.list({ continue: page.continue }, `${root}/default`))).toEqual(['b']);
  });
}

function filteredPages(bench: StorageBench): void {
  it('fills a page from beyond what does not match, without a remaining count', async () => {
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) {
      await bench.create(name, 'ace'.includes(name) ? { labels: { odd: 'yes' } } : {});
    }
    const page = await bench.list({ limit: 2, labels: 'odd=yes' });
    expect([namesOf(page), page.remainingItemCount]).toEqual([['a', 'c'], undefined]);
    const next = await bench.list({ limit: 2, labels: 'odd=yes', continue: page.continue });
    expect([namesOf(next), next.continue]).toEqual([['e'], '']);
  });

  it('gives a token when unmatched keys remain, and then an empty page', async () => {
    await bench.create('a', { labels: { x: '1' } });
    await bench.createAll('b', 'c');
    const page = await bench.list({ limit: 1, labels: 'x=1' });
    expect(namesOf(page)).toEqual(['a']);
    expect(page.continue).not.toBe('');
    const rest = await bench.list({ limit: 1, labels: 'x=1', continue: page.continue });
    expect([rest.items, rest.continue]).toEqual([[], '']);
  });

  it('finds one object in 300 in one call', async () => {
    const names = Array.from({ length: 300 }, (_, i) => `p${String(i).padStart(3, '0')}`);
    await Promise.all(names.map((name) => bench.create(name, name === 'p299' ? { labels: { rare: 'yes' } } : {})));
    const page = await bench.list({ limit: 1, labels: 'rare=yes' });
    expect([namesOf(page), page.continue]).toEqual([['p299'], '']);
  });

  it('has the right version when nothing matches', async () => {
    const { revision } = await bench.create('a');
    const page = await bench.list({ limit: 1, labels: 'none=yes', resourceVersion: String(revision) });
    expect([page.items, page.resourceVersion]).toEqual([[], String(revision)]);
  });
}

function expiredPages(bench: StorageBench): void {
  it('offers an inconsistent continuation when the revision of the pages is compacted', async () => {
    await bench.createAll('a', 'b', 'c', 'd');
    const first = await bench.list({ limit: 2 });
    await bench.create('bb');
    await bench.remove('c');
    const last = await bench.create('e');
    await bench.engine.compact(last.revision);
    const error = await refusalOf(bench.list({ limit: 2, continue: first.continue }));
    expect(isExpired(error)).toBe(true);
    expect(error.message).toBe(
      'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.',
    );
    const token = error.status.metadata.continue ?? '';
    expect(decoded(token)).toEqual({ v: 'meta.k8s.io/v1', rv: -1, start: 'default/b\u0000' });
    const rest = await bench.list({ limit: 9, continue: token });
    expect([namesOf(rest), rest.resourceVersion]).toEqual([['bb', 'd', 'e'], String(last.revision)]);
    const paged = await bench.list({ limit: 1, continue: token });
    expect(decoded(paged.continue)).toMatchObject({ rv: last.revision, start: startAt('default/bb\0') });
  });
}

function badTokens(bench: StorageBench): void {
  const good = { v: 'meta.k8s.io/v1', rv: 5, start: 'default/a\u0000' };
  it.each([
    ['what is not base64', '%%', /^invalid continue token: continue key is not valid: /],
    ['what is not JSON', 'nothing', /^invalid continue token: continue key is not valid: /],
    [
      'another version of tokens',
      tokenOf({ ...good, v: 'v2' }),
      'invalid continue token: continue key is not valid: server does not recognize this encoded version v2',
    ],
    [
      'no version of tokens',
      tokenOf({}),
      'invalid continue token: continue key is not valid: server does not recognize this encoded version ',
    ],
    [
      'revision 0',
      tokenOf({ ...good, rv: 0 }),
      'invalid continue token: continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)',
    ],
    [
      'an empty start',
      tokenOf({ ...good, start: '' }),
      'invalid continue token: continue key is not valid: encoded start key empty (version meta.k8s.io/v1)',
    ],
    [
      'a climb',
      tokenOf({ ...good, start: '../../secrets/a' }),
      'invalid continue token: continue key is not valid: ../../secrets/a',
    ],
    [
      'a hidden climb',
      tokenOf({ ...good, start: 'a/../../b' }),
      'invalid continue token: continue key is not valid: a/../../b',
    ],
    ['a doubled slash', tokenOf({ ...good, start: '//a' }), 'invalid continue token: continue key is not valid: //a'],
    ['padding', `${tokenOf(good)}==`, /^invalid continue token: continue key is not valid: /],
  ])('refuses a token with %s', async (_what, token, message) => {
    await bench.create('a');
    const error = await refusalOf(bench.list({ limit: 1, continue: token }));
    expect(isBadRequest(error)).toBe(true);
    expect(error.message).toMatch(message);
  });

  it('refuses a version beside a token, and takes a token with a leading slash', async () => {
    await bench.createAll('a', 'b');
    const revision = await bench.caughtUp();
    const token = tokenOf({ v: 'meta.k8s.io/v1', rv: revision, start: '/default/a\u0000' });
    expect(await bench.names({ continue: token })).toEqual(['b']);
    const error = await refusalOf(bench.list({ continue: token, resourceVersion: '5' }));
    expect(error.message).toBe('specifying resource version is not allowed when using continue');
  });
}
