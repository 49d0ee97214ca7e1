import type { Revision } from '@kapstan/api';
import type { TestPod } from '@kapstan/api/testing';
import { encodeContinue, type StorageListOptions, validateListOptions } from '@kapstan/storage';
import { predicate } from '@kapstan/storage/testing';
import { describe, expect, it } from 'vitest';
import { planList } from './list-plan.ts';

const prefix = '/registry/pods/';
const tokens = {
  'of revision 5': encodeContinue(`${prefix}a\u0000`, prefix, 5),
  inconsistent: encodeContinue(`${prefix}a\u0000`, prefix, -1),
};

interface Row {
  readonly resourceVersion?: string;
  readonly match?: 'Exact' | 'NotOlderThan';
  readonly limit?: number;
  /** Name of a token in `tokens`. */
  readonly continue?: keyof typeof tokens;
}

/** Plans a list. `past` lists the known past revisions: from 5 on, none, or none because they are not trusted. */
function plan(
  row: Row,
  recursive: boolean,
  support: { progress: boolean; past?: 'known' | 'unknown' | 'distrusted' },
): string {
  const options: StorageListOptions<TestPod> = {
    resourceVersion: row.resourceVersion ?? '',
    resourceVersionMatch: row.match ?? '',
    predicate: predicate({ limit: row.limit ?? 0, continue: row.continue === undefined ? '' : tokens[row.continue] }),
    recursive,
  };
  const { progress, past = 'known' } = support;
  const answer = planList(options, validateListOptions(prefix, options), {
    progressRequests: progress,
    revision: 8 as Revision,
    pastStates: past !== 'distrusted',
    knowsState: (revision) => past === 'known' && revision >= 5,
  });
  if (answer.source === 'storage') return 'storage';
  return answer.state === 'exact' ? `exact ${answer.revision}` : answer.state;
}

describe('planList (ShouldDelegateList)', () => {
  it.each<[Row, string, string]>([
    // [options, answer, answer without progress requests]
    [{}, 'newest', 'storage'],
    [{ limit: 5 }, 'newest', 'storage'],
    [{ resourceVersion: '0' }, 'present', 'present'],
    [{ resourceVersion: '0', limit: 5 }, 'present', 'present'],
    [{ resourceVersion: '7' }, 'present', 'present'],
    [{ resourceVersion: '9' }, 'present', 'present'],
    [{ resourceVersion: '7', limit: 5 }, 'exact 7', 'exact 7'],
    [{ resourceVersion: '7', match: 'Exact' }, 'exact 7', 'exact 7'],
    [{ resourceVersion: '7', match: 'Exact', limit: 5 }, 'exact 7', 'exact 7'],
    [{ resourceVersion: '4', match: 'Exact' }, 'storage', 'storage'],
    [{ resourceVersion: '4', limit: 5 }, 'storage', 'storage'],
    // Only a cache that gets progress reports can tell when a future revision has been reached.
    [{ resourceVersion: '9', match: 'Exact' }, 'exact 9', 'storage'],
    [{ resourceVersion: '9', limit: 5 }, 'exact 9', 'storage'],
    [{ resourceVersion: '0', match: 'NotOlderThan' }, 'present', 'present'],
    [{ resourceVersion: '7', match: 'NotOlderThan', limit: 5 }, 'present', 'present'],
    [{ continue: 'of revision 5' }, 'exact 5', 'exact 5'],
    [{ continue: 'of revision 5', resourceVersion: '0', limit: 5 }, 'exact 5', 'exact 5'],
    [{ continue: 'inconsistent' }, 'newest', 'storage'],
    [{ continue: 'inconsistent', resourceVersion: '0' }, 'newest', 'storage'],
  ])('%j: %s, without progress requests %s', (row, expected, withoutProgress) => {
    expect(plan(row, true, { progress: true })).toBe(expected);
    expect(plan(row, true, { progress: false })).toBe(withoutProgress);
  });

  it.each<[Row, string, string]>([
    // [options, answer when no past state is known, answer when none is trusted]
    [{ resourceVersion: '7', match: 'Exact' }, 'storage', 'storage'],
    [{ resourceVersion: '9', match: 'Exact' }, 'exact 9', 'storage'],
    [{ resourceVersion: '7', limit: 5 }, 'storage', 'storage'],
    [{ continue: 'of revision 5' }, 'storage', 'storage'],
    [{ continue: 'inconsistent' }, 'newest', 'storage'],
    [{ resourceVersion: '7' }, 'present', 'present'],
    [{}, 'newest', 'newest'],
  ])('without the past, %j: %s; with one that is not trusted: %s', (row, unknown, distrusted) => {
    expect(plan(row, true, { progress: true, past: 'unknown' })).toBe(unknown);
    expect(plan(row, true, { progress: true, past: 'distrusted' })).toBe(distrusted);
  });

  it.each<[Row, string]>([
    [{}, 'newest'],
    [{ resourceVersion: '0' }, 'present'],
    [{ resourceVersion: '7' }, 'present'],
    [{ resourceVersion: '7', match: 'NotOlderThan' }, 'present'],
    [{ resourceVersion: '7', limit: 5 }, 'storage'],
    [{ resourceVersion: '7', match: 'Exact' }, 'storage'],
    [{ continue: 'of revision 5' }, 'storage'],
  ])('for one key, %j: %s', (row, expected) => {
    expect(plan(row, false, { progress: true })).toBe(expected);
  });
});
