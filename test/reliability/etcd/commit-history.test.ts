import { expect, it } from 'vitest';
import { type CommitHistory, type CommitRecord, problemsOf, type SeenChange } from './commit-history.ts';

const put = (revision: number, key: string, id: string, previousRevision = 0): SeenChange => {
  return { revision, key, type: 'put', id, previousRevision };
};
const commit = (id: string, key: string, outcome: CommitRecord['outcome'], expectedRevision = 0): CommitRecord => {
  return { id, key, type: 'put', expectedRevision, outcome };
};
const acknowledged = (revision: number) => ({ type: 'acknowledged', revision }) as const;

const log = [
  put(2, 'a', 'c1'),
  put(3, 'b', 'c2'),
  put(4, 'a', 'c3', 2),
  { revision: 5, key: 'a', type: 'delete', previousRevision: 4 } as const,
];
const good: CommitHistory = {
  log,
  commits: [
    commit('c1', 'a', acknowledged(2)),
    commit('c2', 'b', { type: 'unknown' }),
    commit('c3', 'a', acknowledged(4), 2),
    commit('c4', 'b', { type: 'refused' }),
    commit('c5', 'b', { type: 'unknown' }, 3),
    { id: 'c6', key: 'a', type: 'delete', expectedRevision: 4, outcome: { type: 'unknown' } },
    { id: 'c7', key: 'a', type: 'delete', expectedRevision: 4, outcome: { type: 'refused' } },
  ],
  watches: [
    { name: 'w', after: 2, seen: log.slice(1) },
    { name: 'ended', after: 0, seen: log.slice(0, 2), error: new Error('compacted') },
  ],
  reads: [{ key: 'a', revision: 4, modRevision: 4, acknowledgedBefore: 4 }],
};

it('finds nothing in a history that is right', () => {
  expect(problemsOf(good)).toEqual([]);
});

it('accepts a missing previous state for a compacted change, and for no other', () => {
  const { previousRevision: _forgotten, ...told } = put(4, 'a', 'c3', 2);
  const watches = [{ name: 'w', after: 3, seen: [told, log[3]!] }];
  expect(problemsOf({ ...good, watches, compactedTo: 4 })).toEqual([]);
  expect(problemsOf({ ...good, watches, compactedTo: 3 }).join()).toMatch(/w: expected put a c3 at 4 over 2/);
  const other = [{ name: 'w', after: 3, seen: [{ ...told, id: 'c1' }, log[3]!] }];
  expect(problemsOf({ ...good, watches: other, compactedTo: 4 }).join()).toMatch(/w: expected put a c3/);
});

const wrongHistories: Readonly<Record<string, [Partial<CommitHistory>, RegExp]>> = {
  'an acknowledged commit that is lost': [
    { commits: [...good.commits, commit('c8', 'd', acknowledged(6))] },
    /c8 was ack/,
  ],
  'a commit at another revision': [{ commits: [commit('c1', 'a', acknowledged(9)), ...good.commits.slice(1)] }, /at 9/],
  'a refused commit that happened': [
    { commits: [commit('c1', 'a', { type: 'refused' }), ...good.commits.slice(1)] },
    /refused/,
  ],
  'a commit that happened twice': [{ log: [...log, put(6, 'a', 'c1')] }, /happened at 2 and 6/],
  'a revision that goes back': [{ log: [...log, put(4, 'b', 'c5', 3)] }, /revision 4 after 5/],
  'a write that nobody made': [{ log: [...log, put(6, 'd', 'c9')] }, /nobody wrote/],
  'a delete that nobody made': [
    { log: [...log, { revision: 6, key: 'b', type: 'delete', previousRevision: 3 }] },
    /nobody deleted/,
  ],
  'a compare that was not made': [{ log: [log[0]!, log[1]!, put(4, 'a', 'c3', 0)] }, /the state before was 2/],
  'a commit over another state than asked': [
    { commits: [...good.commits.slice(0, 2), commit('c3', 'a', acknowledged(4), 1)] },
    /written over/,
  ],
  'a watch with a gap': [{ watches: [{ name: 'w', after: 2, seen: log.slice(2) }] }, /w: expected put b/],
  'a watch that heard something twice': [
    { watches: [{ name: 'w', after: 3, seen: [log[2]!, log[2]!, log[3]!] }] },
    /w: expected/,
  ],
  'a watch that heard too little': [{ watches: [{ name: 'w', after: 2, seen: log.slice(1, 3) }] }, /saw nothing/],
  'a watch that heard too much': [{ watches: [{ name: 'w', after: 5, seen: [put(6, 'z', 'c1')] }] }, /beyond/],
  'an old read': [{ reads: [{ key: 'a', revision: 2, modRevision: 2, acknowledgedBefore: 4 }] }, /after 4/],
  'a read of what never was': [
    { reads: [{ key: 'a', revision: 5, modRevision: 4, acknowledgedBefore: 4 }] },
    /saw 4, not 0/,
  ],
};

it.each(Object.entries(wrongHistories))('finds %s', (_, [wrong, problem]) => {
  expect(problemsOf({ ...good, ...wrong }).join('\n')).toMatch(problem);
});
