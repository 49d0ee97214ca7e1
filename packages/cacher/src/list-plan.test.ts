import type { Revision } from '@kapstan/api';
import type { TestPod } from '@kapstan/api/testing';
import { encodeContinue, type StorageListOptions, validateListOptions } from '@kapstan/storage';
import { predicate } from '@kapstan/storage/testing';
import { describe, expect, it } from 'vitest';
import { planList } from './list-plan.ts';

const prefix = '/registry/pods/';
const token = encodeContinue(`${prefix}a\u0000`, prefix, 5);
const inconsistent = encodeContinue(`${prefix}a\u0000`, prefix, -1);

interface Row {
  readonly resourceVersion?: string;
  readonly match?: 'Exact' | 'NotOlderThan';
  readonly limit?: number;
  readonly continue?: string;
}

function plan(row: Row, recursive: boolean, progressRequests: boolean): string {
  const options: StorageListOptions<TestPod> = {
    resourceVersion: row.resourceVersion ?? '',
    resourceVersionMatch: row.match ?? '',
    predicate: predicate({ limit: row.limit ?? 0, continue: row.continue ?? '' }),
    recursive,
  };
  const answer = planList(options, validateListOptions(prefix, options), { progressRequests });
  if (answer.source === 'storage')
    return answer.notBefore === (0 as Revision) ? 'storage' : `storage from ${answer.notBefore}`;
  return answer.isConsistent ? 'consistent' : 'cache';
}

describe('planList', () => {
  it.each<[Row, string, string]>([
    // [options, answer, answer without progress requests]; the table of spec/storage.md §3.8 without snapshots.
    [{}, 'consistent', 'storage'],
    [{ limit: 5 }, 'consistent', 'storage'],
    [{ resourceVersion: '0' }, 'cache', 'cache'],
    [{ resourceVersion: '0', limit: 5 }, 'cache', 'cache'],
    [{ resourceVersion: '7' }, 'cache', 'cache'],
    [{ resourceVersion: '7', limit: 5 }, 'storage from 7', 'storage'],
    [{ resourceVersion: '7', match: 'Exact' }, 'storage from 7', 'storage'],
    [{ resourceVersion: '7', match: 'Exact', limit: 5 }, 'storage from 7', 'storage'],
    [{ resourceVersion: '0', match: 'NotOlderThan' }, 'cache', 'cache'],
    [{ resourceVersion: '7', match: 'NotOlderThan', limit: 5 }, 'cache', 'cache'],
    [{ continue: token }, 'storage', 'storage'],
    [{ continue: token, resourceVersion: '0', limit: 5 }, 'storage', 'storage'],
    [{ continue: inconsistent }, 'storage', 'storage'],
  ])('%j: %s, without progress requests %s', (row, expected, withoutProgress) => {
    expect(plan(row, true, true)).toBe(expected);
    expect(plan(row, true, false)).toBe(withoutProgress);
  });

  it.each<[Row, string]>([
    [{}, 'consistent'],
    [{ resourceVersion: '0' }, 'cache'],
    [{ resourceVersion: '7' }, 'cache'],
    [{ resourceVersion: '7', limit: 5 }, 'storage'],
    [{ resourceVersion: '7', match: 'Exact' }, 'storage'],
    [{ continue: 'x' }, 'storage'],
  ])('for one key, %j: %s', (row, expected) => {
    expect(plan(row, false, true)).toBe(expected);
  });
});
