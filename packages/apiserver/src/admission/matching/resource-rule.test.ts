import { describe, expect, it } from 'vitest';
import { type ResourceRule, type RuledRequest, ruleMatches } from './resource-rule.ts';

const rule: ResourceRule = { operations: ['CREATE'], apiGroups: ['g'], apiVersions: ['v1'], resources: ['things'] };
const request: RuledRequest = {
  operation: 'CREATE',
  resource: { group: 'g', version: 'v1', resource: 'things' },
  subresource: '',
  isNamespaced: true,
};

describe('a rule', () => {
  it.each<[string, ResourceRule, Partial<RuledRequest>, boolean]>([
    ['all words agree', rule, {}, true],
    ['another operation', rule, { operation: 'UPDATE' }, false],
    ['any operation', { ...rule, operations: ['*'] }, { operation: 'CONNECT' }, true],
    ['another group', { ...rule, apiGroups: [''] }, {}, false],
    ['another version', { ...rule, apiVersions: ['v2'] }, {}, false],
    ['any group and version', { ...rule, apiGroups: ['*'], apiVersions: ['*'] }, {}, true],
    ['a subresource of a resource that is named alone', rule, { subresource: 'status' }, false],
    ['a subresource by its name', { ...rule, resources: ['things/status'] }, { subresource: 'status' }, true],
    ['the object where a subresource is named', { ...rule, resources: ['things/status'] }, {}, false],
    ['any subresource', { ...rule, resources: ['things/*'] }, { subresource: 'scale' }, true],
    ['the object itself where any subresource is meant', { ...rule, resources: ['things/*'] }, {}, true],
    ['one subresource of everything', { ...rule, resources: ['*/scale'] }, { subresource: 'scale' }, true],
    ['all resources', { ...rule, resources: ['*'] }, {}, true],
    ['a subresource where all resources are meant', { ...rule, resources: ['*'] }, { subresource: 'status' }, false],
    ['everything', { ...rule, resources: ['*/*'] }, { subresource: 'status' }, true],
    ['scope Namespaced in a namespace', { ...rule, scope: 'Namespaced' }, {}, true],
    ['scope Namespaced outside', { ...rule, scope: 'Namespaced' }, { isNamespaced: false }, false],
    ['scope Cluster in a namespace', { ...rule, scope: 'Cluster' }, {}, false],
    ['scope Cluster outside', { ...rule, scope: 'Cluster' }, { isNamespaced: false }, true],
    ['any scope', { ...rule, scope: '*' }, { isNamespaced: false }, true],
  ])('%s', (_, given, changes, matches) => {
    expect(ruleMatches(given, { ...request, ...changes })).toBe(matches);
  });
});
