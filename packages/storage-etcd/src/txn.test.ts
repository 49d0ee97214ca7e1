import { toRevision } from '@kapstan/api';
import { describe, expect, it } from 'vitest';
import { toCommitResult, toTxn } from './txn.ts';
import { compareMod, type WireKeyValue } from './wire.ts';

const key = Buffer.from('/a');
const value = Buffer.from('v');
const put = { type: 'put', value } as const;
const wireKv: WireKeyValue = { key, value, createRevision: 3, modRevision: 5, lease: 0 };
const kv = { key: '/a', value, createRevision: 3, modRevision: 5, lease: 0 };
const header = { revision: 9 };

describe('a commit as a transaction', () => {
  it('compares the revision of the key, and reads the key where that is another', () => {
    const txn = toTxn({ key: '/a', expectedRevision: toRevision(5), change: put });
    expect(txn.compare).toEqual([{ target: compareMod, key, modRevision: 5 }]);
    expect(txn.failure).toEqual([{ requestRange: { key } }]);
  });

  it.each([
    ['writes a new key, which has no state before', 0, put, { requestPut: { key, value, lease: 0, prevKv: false } }],
    ['writes a key and asks for its state before', 5, put, { requestPut: { key, value, lease: 0, prevKv: true } }],
    ['binds a key to a lease', 0, { ...put, lease: 77 }, { requestPut: { key, value, lease: 77, prevKv: false } }],
    [
      'deletes a key and asks for its state before',
      5,
      { type: 'delete' } as const,
      { requestDeleteRange: { key, prevKv: true } },
    ],
  ])('%s', (_, expected, change, operation) => {
    expect(toTxn({ key: '/a', expectedRevision: toRevision(expected), change }).success).toEqual([operation]);
  });
});

describe('the answer to a transaction as the result of a commit', () => {
  it.each([
    ['a new key', [{ responsePut: { prevKv: null } }], {}],
    ['a key that was written again', [{ responsePut: { prevKv: wireKv } }], { previous: kv }],
    ['a deleted key', [{ responseDeleteRange: { prevKvs: [wireKv] } }], { previous: kv }],
  ])('tells the revision and the state before of %s', (_, responses, rest) => {
    expect(toCommitResult({ header, succeeded: true, responses })).toEqual({ succeeded: true, revision: 9, ...rest });
  });

  it.each([
    ['with the key as it is', [wireKv], { current: kv }],
    ['without a key where there is none', [], {}],
  ])('tells a refusal %s', (_, kvs, rest) => {
    const responses = [{ responseRange: { kvs } }];
    expect(toCommitResult({ header, succeeded: false, responses })).toEqual({ succeeded: false, revision: 9, ...rest });
  });
});
