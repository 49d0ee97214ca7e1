import type { UnstructuredObject } from '@kapstan/api';
import { formatFieldError } from '@kapstan/api/errors';
import { testContext } from '@kapstan/apiserver/testing';
import { describe, expect, it } from 'vitest';
import { definitionOf } from '../testing/status-endpoint.ts';

/** Returns the errors of an update, without the values shown. */
function refusals(resource: string, name: string, spec: object): string[] {
  const object = { metadata: { name }, spec: structuredClone(spec) } as unknown as UnstructuredObject;
  const { strategy, applyDefaults } = definitionOf(resource);
  applyDefaults(object);
  return strategy
    .validateUpdate(object, object, testContext())
    .map(formatFieldError)
    .map((text) => text.replace(/Invalid value: \{.*\}: /, ''));
}

const everything = {
  resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'], clusterScope: true, namespaces: ['*'] }],
  nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
};
const groups = (...names: string[]): object[] => [
  { subjects: names.map((name) => ({ kind: 'Group', group: { name } })), ...everything },
];
const exempt = {
  priorityLevelConfiguration: { name: 'exempt' },
  matchingPrecedence: 1,
  rules: groups('system:masters'),
};
const catchAll = {
  priorityLevelConfiguration: { name: 'catch-all' },
  matchingPrecedence: 10_000,
  distinguisherMethod: { type: 'ByUser' },
  rules: groups('system:unauthenticated', 'system:authenticated'),
};
const rejecting = { type: 'Limited', limited: { nominalConcurrencyShares: 5, limitResponse: { type: 'Reject' } } };
const limited = (shares: number): object => ({
  ...rejecting,
  limited: { ...rejecting.limited, nominalConcurrencyShares: shares },
});
const isFixed = (name: string): string => `spec: spec of '${name}' must equal the fixed value`;
const otherExempt = "spec: spec of 'exempt' except the 'spec.exempt' field must equal the fixed value";

describe('what every cluster has', () => {
  it.each<readonly [resource: string, name: string, spec: object, refused: readonly string[]]>([
    ['flowschemas', 'exempt', exempt, []],
    ['flowschemas', 'exempt', { ...exempt, matchingPrecedence: 5 }, [isFixed('exempt')]],
    ['flowschemas', 'catch-all', catchAll, []],
    ['flowschemas', 'catch-all', { ...catchAll, rules: groups('system:authenticated') }, [isFixed('catch-all')]],
    ['flowschemas', 'other', { ...catchAll, matchingPrecedence: 5 }, []],
    ['prioritylevelconfigurations', 'exempt', { type: 'Exempt', exempt: { nominalConcurrencyShares: 7 } }, []],
    [
      'prioritylevelconfigurations',
      'exempt',
      rejecting,
      [`spec.type: Invalid value: "Limited": must be 'Exempt' if and only if \`name\` is 'exempt'`, otherExempt],
    ],
    ['prioritylevelconfigurations', 'catch-all', rejecting, []],
    ['prioritylevelconfigurations', 'catch-all', limited(7), [isFixed('catch-all')]],
    ['prioritylevelconfigurations', 'other', limited(7), []],
  ])('%s %s has the spec that it must have: %j', (resource, name, spec, refused) => {
    expect(refusals(resource, name, spec)).toEqual(refused);
  });
});
