import type { UserInfo } from '@kapstan/apiserver';
import { rbacAuthorizer } from '@kapstan/apiserver';
import { joinErrors } from '@kapstan/apiserver/internal';
import { describe, expect, it } from 'vitest';
import { policyOf } from '../testing/rbac-fixture.ts';
import type { RbacKind, RbacPolicy } from './rbac-policy.ts';

const alice: UserInfo = { name: 'alice', groups: ['dev', 'system:authenticated'] };
const robot: UserInfo = { name: 'system:serviceaccount:ns:robot', groups: ['system:serviceaccounts'] };

const role = (kind: 'Role' | 'ClusterRole', name: string, verb: string, namespace?: string) => ({
  kind,
  metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
  rules: [{ verbs: [verb], apiGroups: [''], resources: ['pods'] }],
});

/** "ClusterRole/name", "User/name", "ServiceAccount/namespace/name" */
function binding(kind: RbacKind, name: string, [to, ...whom]: readonly string[], namespace?: string) {
  const [roleKind = '', roleName = ''] = (to ?? '').split('/');
  const subjects = whom.map((text) => {
    const [subject = '', ...path] = text.split('/');
    return path.length === 2 ? { kind: subject, namespace: path[0], name: path[1] } : { kind: subject, name: path[0] };
  });
  const metadata = { name, ...(namespace === undefined ? {} : { namespace }) };
  return { kind, metadata, roleRef: { kind: roleKind, name: roleName }, subjects };
}

function ask(policy: RbacPolicy, user: UserInfo, verb: string, namespace = 'ns') {
  const where = { group: '', version: 'v1', namespace, resource: 'pods', subresource: '', name: '' };
  return rbacAuthorizer(policy).authorize({ type: 'resource', user, verb, ...where });
}

const roles = [role('Role', 'r', 'get', 'ns'), role('Role', 'r', 'list', 'other'), role('ClusterRole', 'c', 'watch')];

describe('RBAC', () => {
  it.each<[string, ReturnType<typeof binding>, UserInfo, string, string, string | undefined]>([
    [
      'a user',
      binding('RoleBinding', 'b', ['Role/r', 'User/alice'], 'ns'),
      alice,
      'get',
      'ns',
      'RoleBinding "b/ns" of Role "r" to User "alice"',
    ],
    ['a user elsewhere', binding('RoleBinding', 'b', ['Role/r', 'User/alice'], 'ns'), alice, 'get', 'other', undefined],
    [
      'a user across namespaces',
      binding('RoleBinding', 'b', ['Role/r', 'User/alice'], 'ns'),
      alice,
      'get',
      '',
      undefined,
    ],
    [
      'the role of the own namespace',
      binding('RoleBinding', 'b', ['Role/r', 'User/alice'], 'other'),
      alice,
      'list',
      'other',
      'RoleBinding "b/other" of Role "r" to User "alice"',
    ],
    [
      'a group',
      binding('RoleBinding', 'b', ['ClusterRole/c', 'User/eve', 'Group/dev', 'User/alice'], 'ns'),
      alice,
      'watch',
      'ns',
      'RoleBinding "b/ns" of ClusterRole "c" to Group "dev"',
    ],
    [
      'a group of the cluster',
      binding('ClusterRoleBinding', 'b', ['ClusterRole/c', 'Group/dev']),
      alice,
      'watch',
      '',
      'ClusterRoleBinding "b" of ClusterRole "c" to Group "dev"',
    ],
    [
      'a group of the cluster, asked for in a namespace',
      binding('ClusterRoleBinding', 'b', ['ClusterRole/c', 'Group/dev']),
      alice,
      'watch',
      'ns',
      'ClusterRoleBinding "b" of ClusterRole "c" to Group "dev"',
    ],
    [
      'a group named as the user',
      binding('ClusterRoleBinding', 'b', ['ClusterRole/c', 'Group/alice']),
      alice,
      'watch',
      '',
      undefined,
    ],
    [
      'a user named as the group',
      binding('ClusterRoleBinding', 'b', ['ClusterRole/c', 'User/dev']),
      alice,
      'watch',
      '',
      undefined,
    ],
    [
      'an account',
      binding('RoleBinding', 'b', ['Role/r', 'ServiceAccount/ns/robot'], 'ns'),
      robot,
      'get',
      'ns',
      'RoleBinding "b/ns" of Role "r" to ServiceAccount "robot/ns"',
    ],
    [
      'an account of the own namespace',
      binding('RoleBinding', 'b', ['Role/r', 'ServiceAccount/robot'], 'ns'),
      robot,
      'get',
      'ns',
      'RoleBinding "b/ns" of Role "r" to ServiceAccount "robot/ns"',
    ],
    [
      'an account as a user',
      binding('RoleBinding', 'b', ['Role/r', 'User/system:serviceaccount:ns:robot'], 'ns'),
      robot,
      'get',
      'ns',
      'RoleBinding "b/ns" of Role "r" to User "system:serviceaccount:ns:robot"',
    ],
    [
      'an account of another namespace',
      binding('RoleBinding', 'b', ['Role/r', 'ServiceAccount/other/robot'], 'ns'),
      robot,
      'get',
      'ns',
      undefined,
    ],
    [
      'an account of no namespace',
      binding('ClusterRoleBinding', 'b', ['ClusterRole/c', 'ServiceAccount/robot']),
      robot,
      'watch',
      '',
      undefined,
    ],
    [
      'a subject of an unknown kind',
      binding('ClusterRoleBinding', 'b', ['ClusterRole/c', 'Robot/alice']),
      alice,
      'watch',
      '',
      undefined,
    ],
  ])('by a binding to %s', (_name, bound, user, verb, namespace, source) => {
    const answer = ask(policyOf([...roles, bound]), user, verb, namespace);
    if (source === undefined) expect(answer).toEqual({ decision: 'noOpinion', reason: '' });
    else expect(answer).toEqual({ decision: 'allow', reason: `RBAC: allowed by ${source}` });
  });

  it('names as the reason the first by name of what is for the cluster, then of the namespace', () => {
    const policy = policyOf([
      ...roles,
      binding('RoleBinding', 'a', ['ClusterRole/c', 'User/alice'], 'ns'),
      binding('ClusterRoleBinding', 'z', ['ClusterRole/c', 'User/alice']),
      binding('ClusterRoleBinding', 'y', ['ClusterRole/c', 'Group/dev']),
    ]);
    expect(ask(policy, alice, 'watch')).toMatchObject({ reason: expect.stringContaining('"y" of') });
  });

  it('reports missing roles when nothing else allows the request', () => {
    const policy = policyOf([
      ...roles,
      binding('ClusterRoleBinding', 'a', ['ClusterRole/none', 'User/alice']),
      binding('RoleBinding', 'b', ['Role/none', 'User/alice'], 'ns'),
      binding('RoleBinding', 'c', ['Role/none', 'Group/dev'], 'ns'),
      binding('RoleBinding', 'd', ['Odd/x', 'User/alice'], 'ns'),
      binding('RoleBinding', 'e', ['Role/r', 'User/alice'], 'ns'),
    ]);
    expect(ask(policy, alice, 'get')).toMatchObject({ decision: 'allow' });
    expect(ask(policy, alice, 'delete')).toEqual({
      decision: 'noOpinion',
      reason:
        'RBAC: [clusterrole.rbac.authorization.k8s.io "none" not found, role.rbac.authorization.k8s.io "none" not found, unsupported role reference kind: "Odd"]',
    });
    expect(rbacAuthorizer(policy).rulesFor?.(alice, 'other')).toEqual({
      resourceRules: [],
      nonResourceRules: [],
      incomplete: false,
      evaluationError: 'clusterrole.rbac.authorization.k8s.io "none" not found',
    });
  });

  it('lists the rules of resources and of paths apart', () => {
    const rules = [
      { verbs: ['get'], nonResourceURLs: ['/x'] },
      { verbs: ['get'], apiGroups: [''], resources: ['pods'], resourceNames: ['a'] },
    ];
    const bound = binding('ClusterRoleBinding', 'b', ['ClusterRole/mixed', 'User/alice']);
    const policy = policyOf([{ kind: 'ClusterRole', metadata: { name: 'mixed' }, rules }, bound]);
    expect(rbacAuthorizer(policy).rulesFor?.(alice, 'ns')).toEqual({
      resourceRules: [rules[1]],
      nonResourceRules: [rules[0]],
      incomplete: false,
    });
  });
});

describe('a change of the policy', () => {
  const bound = binding('RoleBinding', 'b', ['Role/r', 'User/alice', 'Group/dev', 'User/eve'], 'ns');
  const eve = { name: 'eve', groups: [] };

  it('holds at once: subjects taken out, the role changed, the binding or the role gone', () => {
    const policy = policyOf([...roles, bound]);
    expect(ask(policy, eve, 'get')).toMatchObject({ decision: 'allow' });
    policy.set('RoleBinding', { ...bound, subjects: bound.subjects.slice(0, 2) } as typeof bound);
    expect(ask(policy, eve, 'get')).toMatchObject({ decision: 'noOpinion' });
    policy.set('Role', role('Role', 'r', 'list', 'ns'));
    expect(ask(policy, alice, 'get')).toMatchObject({ decision: 'noOpinion' });
    expect(ask(policy, alice, 'list')).toMatchObject({ decision: 'allow' });
    policy.delete('Role', role('Role', 'r', 'list', 'ns'));
    expect(ask(policy, alice, 'list')).toMatchObject({ reason: expect.stringContaining('not found') });
    policy.delete('RoleBinding', bound);
    expect(ask(policy, alice, 'list')).toEqual({ decision: 'noOpinion', reason: '' });
    policy.delete('RoleBinding', bound);
  });

  it('as a whole leaves nothing of the old state of that kind', () => {
    const cluster = binding('ClusterRoleBinding', 'b', ['ClusterRole/c', 'User/eve']);
    const policy = policyOf([...roles, bound, cluster]);
    policy.replace('RoleBinding', []);
    policy.replace('ClusterRoleBinding', [binding('ClusterRoleBinding', 'd', ['ClusterRole/c', 'User/alice'])]);
    expect(ask(policy, eve, 'get')).toEqual({ decision: 'noOpinion', reason: '' });
    expect(ask(policy, eve, 'watch')).toEqual({ decision: 'noOpinion', reason: '' });
    expect(ask(policy, alice, 'watch')).toMatchObject({ decision: 'allow' });
    policy.replace('ClusterRole', []);
    expect(ask(policy, alice, 'watch')).toMatchObject({ decision: 'noOpinion' });
  });

  it('survives names that objects have of their own', () => {
    const policy = policyOf([
      role('ClusterRole', '__proto__', 'get'),
      binding('ClusterRoleBinding', 'constructor', ['ClusterRole/__proto__', 'User/toString']),
    ]);
    expect(ask(policy, { name: 'toString', groups: [] }, 'get')).toMatchObject({ decision: 'allow' });
    expect(ask(policy, { name: 'valueOf', groups: ['__proto__'] }, 'get')).toEqual({
      decision: 'noOpinion',
      reason: '',
    });
  });
});

it('joins errors as Go does', () => {
  expect(joinErrors(['a', 'a'])).toBe('a');
  expect(joinErrors(['a', 'b', 'a'])).toBe('[a, b]');
});
