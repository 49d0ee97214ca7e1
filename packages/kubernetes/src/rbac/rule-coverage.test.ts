import type { Rule } from '@kapstan/apiserver/internal';
import { describe, expect, it } from 'vitest';
import { describeRules, quotedList, uncoveredRules } from './rule-coverage.ts';

const pods = (verbs: string[], rest: Partial<Rule> = {}): Rule => ({
  verbs,
  apiGroups: [''],
  resources: ['pods'],
  ...rest,
});

const everything: Rule = { verbs: ['*'], apiGroups: ['*'], resources: ['*'] };

describe('what rules do not cover', () => {
  it.each<[string, Rule[], Rule[], string[]]>([
    ['nothing owned', [], [pods(['get'])], ['{APIGroups:[""], Resources:["pods"], Verbs:["get"]}']],
    ['the same', [pods(['get', 'list'])], [pods(['list', 'get'])], []],
    [
      'one verb of two',
      [pods(['get'])],
      [pods(['get', 'list'])],
      ['{APIGroups:[""], Resources:["pods"], Verbs:["list"]}'],
    ],
    ['split over two rules', [pods(['get']), pods(['list'])], [pods(['get', 'list'])], []],
    ['all by stars', [everything], [pods(['get'], { resources: ['pods', 'pods/log', '*'] })], []],
    [
      'a star by single ones',
      [pods(['get', 'list'])],
      [pods(['*'])],
      ['{APIGroups:[""], Resources:["pods"], Verbs:["*"]}'],
    ],
    [
      'the star of a group',
      [pods(['get'])],
      [pods(['get'], { apiGroups: ['*'] })],
      ['{APIGroups:["*"], Resources:["pods"], Verbs:["get"]}'],
    ],
    [
      'a subresource by that of all',
      [pods(['get'], { resources: ['*/log'] })],
      [pods(['get'], { resources: ['pods/log'] })],
      [],
    ],
    [
      'a resource by a subresource of all',
      [pods(['get'], { resources: ['*/log'] })],
      [pods(['get'])],
      ['{APIGroups:[""], Resources:["pods"], Verbs:["get"]}'],
    ],
    [
      'a subresource by its resource',
      [pods(['get'])],
      [pods(['get'], { resources: ['pods/log'] })],
      ['{APIGroups:[""], Resources:["pods/log"], Verbs:["get"]}'],
    ],
    ['names by all names', [pods(['get'])], [pods(['get'], { resourceNames: ['a'] })], []],
    [
      'all names by names',
      [pods(['get'], { resourceNames: ['a'] })],
      [pods(['get'])],
      ['{APIGroups:[""], Resources:["pods"], Verbs:["get"]}'],
    ],
    [
      'one name of two',
      [pods(['get'], { resourceNames: ['a'] })],
      [pods(['get'], { resourceNames: ['a', 'b'] })],
      ['{APIGroups:[""], Resources:["pods"], ResourceNames:["b"], Verbs:["get"]}'],
    ],
    [
      'paths',
      [{ verbs: ['get'], nonResourceURLs: ['/a/*'] }],
      [{ verbs: ['get'], nonResourceURLs: ['/a/b', '/b'] }],
      ['{NonResourceURLs:["/b"], Verbs:["get"]}'],
    ],
    [
      'paths by resources',
      [everything],
      [{ verbs: ['get'], nonResourceURLs: ['/b'] }],
      ['{NonResourceURLs:["/b"], Verbs:["get"]}'],
    ],
    ['no verbs at all', [], [{ verbs: null, apiGroups: [''], resources: ['pods'] } as unknown as Rule], []],
  ])('%s', (_name, owned, wanted, lines) => {
    expect(describeRules(uncoveredRules(owned, wanted))).toEqual(lines);
  });

  it('are reported in sorted lines; rules that differ in the verb alone become one', () => {
    const wanted: Rule[] = [
      pods(['list', 'get'], { resources: ['pods', 'nodes'] }),
      pods(['get'], { resourceNames: ['b', 'a'] }),
      pods(['watch']),
      { verbs: ['get', 'put'], nonResourceURLs: ['/x'] },
    ];
    expect(describeRules(uncoveredRules([], wanted))).toEqual([
      '{APIGroups:[""], Resources:["nodes"], Verbs:["list" "get"]}',
      '{APIGroups:[""], Resources:["pods"], ResourceNames:["a"], Verbs:["get"]}',
      '{APIGroups:[""], Resources:["pods"], ResourceNames:["b"], Verbs:["get"]}',
      '{APIGroups:[""], Resources:["pods"], Verbs:["list" "get" "watch"]}',
      '{NonResourceURLs:["/x"], Verbs:["get"]}',
      '{NonResourceURLs:["/x"], Verbs:["put"]}',
    ]);
  });

  it('quotes as Go does', () => {
    expect(quotedList(['a', '', 'b"c'])).toBe('["a" "" "b\\"c"]');
    expect(quotedList(['\u0007ü\u200b'])).toBe('["\\aü\\u200b"]');
  });
});
