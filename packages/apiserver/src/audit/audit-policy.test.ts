import { describe, expect, it } from 'vitest';
import { type AuditedRequest, type AuditRule, decideAudit, isAtLeast } from './audit-policy.ts';

const tim = { name: 'tim@k8s.io', groups: ['humans'] };
const resource = (more: object = {}): AuditedRequest => ({
  type: 'resource',
  user: tim,
  verb: 'get',
  group: '',
  version: 'v1',
  namespace: 'default',
  resource: 'pods',
  subresource: '',
  name: 'busybox',
  ...more,
});
const path = (text: string): AuditedRequest => ({ type: 'path', user: tim, verb: 'get', path: text });
const cases: readonly (readonly [why: string, rule: Omit<AuditRule, 'level'>, request: AuditedRequest, boolean])[] = [
  ['nothing said', {}, resource(), true],
  ['nothing said, of a path', {}, path('/logs'), true],
  ['the user', { users: ['tim@k8s.io'] }, resource(), true],
  ['another user', { users: ['ann'] }, resource(), false],
  ['a user, of nobody', { users: ['tim@k8s.io'] }, resource({ user: undefined }), false],
  ['a group', { userGroups: ['x', 'humans'] }, resource(), true],
  ['another group', { userGroups: ['x'] }, resource(), false],
  ['a group, of nobody', { userGroups: ['humans'] }, resource({ user: undefined }), false],
  ['the user, not in the group', { users: ['tim@k8s.io'], userGroups: ['x'] }, resource(), false],
  ['the verb', { verbs: ['list', 'get'] }, resource(), true],
  ['another verb', { verbs: ['create'] }, resource(), false],
  ['the namespace', { namespaces: ['default'] }, resource(), true],
  ['another namespace', { namespaces: ['kube-system'] }, resource(), false],
  ['no namespace', { namespaces: [''] }, resource({ namespace: '', resource: 'nodes' }), true],
  ['a namespace, of a path', { namespaces: ['default'] }, path('/logs'), false],
  ['the group of the API', { resources: [{ group: '' }] }, resource(), true],
  ['another group of the API', { resources: [{ group: 'apps' }] }, resource(), false],
  ['all groups of the API', { resources: [{ group: '*' }] }, resource({ group: 'apps' }), true],
  ['all groups, another resource', { resources: [{ group: '*', resources: ['services'] }] }, resource(), false],
  ['the resource', { resources: [{ resources: ['services', 'pods'] }] }, resource(), true],
  [
    'the resource, of its subresource',
    { resources: [{ resources: ['pods'] }] },
    resource({ subresource: 'log' }),
    false,
  ],
  ['the subresource', { resources: [{ resources: ['pods/log'] }] }, resource({ subresource: 'log' }), true],
  ['another subresource', { resources: [{ resources: ['pods/exec'] }] }, resource({ subresource: 'log' }), false],
  ['all of the resource', { resources: [{ resources: ['pods/*'] }] }, resource({ subresource: 'log' }), true],
  ['all of the resource, itself', { resources: [{ resources: ['pods/*'] }] }, resource(), true],
  ['one subresource of all', { resources: [{ resources: ['*/log'] }] }, resource({ subresource: 'log' }), true],
  ['one subresource of all, of none', { resources: [{ resources: ['*/'] }] }, resource(), false],
  ['all resources', { resources: [{ resources: ['*'] }] }, resource({ subresource: 'log' }), true],
  ['the name', { resources: [{ resources: ['pods'], resourceNames: ['a', 'busybox'] }] }, resource(), true],
  ['another name', { resources: [{ resources: ['pods'], resourceNames: ['a'] }] }, resource(), false],
  ['the second of two', { resources: [{ group: 'apps' }, { resources: ['pods'] }] }, resource(), true],
  ['a resource, of a path', { resources: [{}] }, path('/logs'), false],
  ['the path', { nonResourceURLs: ['/logs'] }, path('/logs'), true],
  ['another path', { nonResourceURLs: ['/logs'] }, path('/logs/a'), false],
  ['the beginning of the path', { nonResourceURLs: ['/logs*'] }, path('/logs/a'), true],
  ['all paths', { nonResourceURLs: ['*'] }, path('/logs/a'), true],
  ['all paths, of a resource', { nonResourceURLs: ['*'] }, resource(), false],
];

describe('a rule of an audit policy', () => {
  it.each(cases)('that names %s', (_, rule, request, isMatch) => {
    const policy = { rules: [{ level: 'Request', ...rule }] } as const;
    expect(decideAudit(policy, request).level).toBe(isMatch ? 'Request' : 'None');
  });

  it('counts when it is the first that matches, and without one nothing is recorded', () => {
    const rules = [
      { level: 'Metadata', verbs: ['get'] },
      { level: 'RequestResponse', users: ['tim@k8s.io'] },
    ] as const;
    expect(decideAudit({ rules }, resource()).level).toBe('Metadata');
    expect(decideAudit({ rules }, resource({ verb: 'list' })).level).toBe('RequestResponse');
    expect(decideAudit({ rules }, resource({ verb: 'list', user: undefined })).level).toBe('None');
  });

  it('leaves out its stages and those of the policy', () => {
    const rules = [{ level: 'Metadata', omitStages: ['Panic'] }] as const;
    const { omitStages } = decideAudit({ rules, omitStages: ['RequestReceived', 'Panic'] }, resource());
    expect([...omitStages]).toEqual(['RequestReceived', 'Panic']);
  });

  it.each([
    [undefined, undefined, false],
    [true, undefined, true],
    [true, false, false],
    [false, true, true],
  ])('decides on managed fields before the policy does: %s and %s', (all, own, expected) => {
    const rules = [{ level: 'Request', ...(own !== undefined && { omitManagedFields: own }) }] as const;
    const policy = { rules, ...(all !== undefined && { omitManagedFields: all }) };
    expect(decideAudit(policy, resource()).omitManagedFields).toBe(expected);
  });
});

it('knows which level holds more', () => {
  expect(isAtLeast('Request', 'Metadata')).toBe(true);
  expect(isAtLeast('Request', 'Request')).toBe(true);
  expect(isAtLeast('Metadata', 'Request')).toBe(false);
});
