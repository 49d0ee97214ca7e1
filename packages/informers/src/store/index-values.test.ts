import { pod, type TestPod } from '@kapstan/api/testing';
import { describe, expect, it } from 'vitest';
import { Indexer } from './indexer.ts';

describe('an index function', () => {
  it.each([
    ['a text', 'node', "'node'"],
    ['nothing', undefined, 'undefined'],
    ['a number', 5, '5'],
    ['a list with a number', [5], '[ 5 ]'],
    ['a list with null', ['node', null], "[ 'node', null ]"],
  ])('that gives no list of strings fails, by the name of its index: %s', (_, values, shown) => {
    const told: string[] = [];
    const byNode = { node: () => values as readonly string[] };
    const indexer = new Indexer<TestPod>(byNode, { onIndexError: ({ message }) => void told.push(message) });
    indexer.add(pod({ name: 'a', namespace: 'default', resourceVersion: '1' }));
    expect(told).toEqual([
      `unable to calculate an index entry for key "default/a" on index "node": an index function must return a list of strings, not ${shown}`,
    ]);
    expect(indexer.indexValues('node')).toEqual([]);
    expect(indexer.size).toBe(1);
  });

  // The rejection would, unhandled, end the process and with it this test run.
  it('that is async fails, whatever its promise comes to', () => {
    const told: string[] = [];
    const byNode = { node: () => Promise.reject(new Error('mine')) as never };
    new Indexer<TestPod>(byNode, { onIndexError: ({ message }) => void told.push(message) }).add(pod({ name: 'a' }));
    expect(told).toEqual([
      expect.stringContaining('on index "node": the values of an index must be there at once, it is a promise'),
    ]);
  });
});
