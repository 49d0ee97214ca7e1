import { describe, expect, it } from 'vitest';
import type { AuthorizationAttributes, Authorizer } from '../authz/authorizer.ts';
import { mastersAuthorizer } from '../authz/masters-authorizer.ts';
import { unionAuthorizer } from '../authz/union-authorizer.ts';
import type { UserInfo } from '../registry/definition/request-context.ts';
import { readImpersonation } from './impersonation.ts';
import { Impersonator } from './impersonator.ts';

const alice: UserInfo = { name: 'alice', groups: ['system:authenticated'] };
const podAgent: UserInfo = {
  name: 'system:serviceaccount:kube-system:agent',
  groups: [],
  extra: { 'authentication.kubernetes.io/node-name': ['n1'], b: ['2'] },
};

type Headers = Readonly<Record<string, string | readonly string[]>>;

function wantedBy(headers: Headers) {
  return readImpersonation({
    headerNames: () => Object.keys(headers),
    headerValues: (name) => [headers[name] ?? []].flat(),
  });
}

const listConfigMaps = (user: UserInfo): AuthorizationAttributes => {
  const resource = { group: '', version: 'v1', resource: 'configmaps', subresource: '', name: '' };
  return { type: 'resource', user, verb: 'list', namespace: 'ns', ...resource };
};

/** Returns "verb group/resource/subresource/name", the form in which the tests list the allowed requests. */
function textOf(asked: AuthorizationAttributes): string {
  if (asked.type === 'path') return `${asked.verb} ${asked.path}`;
  const { verb, group, namespace, resource, subresource, name } = asked;
  return `${verb} ${[group, namespace, resource, subresource, name].join('/')}`;
}

/** Allows requests that begin with one of these texts, and records the questions. */
function allowing(allowed: readonly string[]): Authorizer & { readonly asked: AuthorizationAttributes[] } {
  const asked: AuthorizationAttributes[] = [];
  return {
    asked,
    authorize: (attributes) => {
      asked.push(attributes);
      const isAllowed = allowed.some((text) => textOf(attributes).startsWith(text));
      return { decision: isAllowed ? 'allow' : 'noOpinion', reason: '' };
    },
  };
}

async function impersonate(authorizer: Authorizer, headers: Headers, requester = alice): Promise<UserInfo> {
  const wanted = wantedBy(headers);
  if (wanted === undefined) throw new TypeError('nobody is wanted');
  return (await new Impersonator(authorizer).impersonate(wanted, listConfigMaps(requester))).user;
}

const bob = { 'impersonate-user': 'bob' };

describe('the headers of impersonation', () => {
  it('are not sent by most', () => expect(wantedBy({})).toBeUndefined());

  it('name a user, and more of him', () => {
    const headers = { ...bob, 'impersonate-group': ['a', 'b'], 'impersonate-uid': '7', 'impersonate-extra-a%2fb': 'v' };
    expect(wantedBy(headers)).toEqual({ name: 'bob', uid: '7', groups: ['a', 'b'], extra: new Map([['a/b', ['v']]]) });
  });

  it('name one user, the first', () => {
    const wanted = wantedBy({ 'impersonate-user': ['a', 'b'], 'impersonate-uid': ['1', '2'] });
    expect([wanted?.name, wanted?.uid]).toEqual(['a', '1']);
  });

  it('need a user', () => {
    expect(() => wantedBy({ 'impersonate-group': 'g' })).toThrow(
      'requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"g"}, Extra:map[string][]string(nil)} without impersonating a user name',
    );
  });
});

describe('impersonation', () => {
  it('in the old mode checks every part by the verb impersonate', async () => {
    const authorizer = allowing(['impersonate ']);
    const headers = {
      ...bob,
      'impersonate-uid': '7',
      'impersonate-group': ['a', ''],
      'impersonate-extra-scopes': 'view',
    };
    expect(await impersonate(authorizer, headers)).toEqual({
      name: 'bob',
      uid: '7',
      groups: ['a', '', 'system:authenticated'],
      extra: { scopes: ['view'] },
    });
    expect(authorizer.asked.map(textOf)).toEqual([
      'impersonate-on:user-info:list /ns/configmaps//',
      'impersonate //users//bob',
      'impersonate authentication.k8s.io//uids//7',
      'impersonate //groups//a',
      'impersonate //groups//',
      'impersonate authentication.k8s.io//userextras/scopes/view',
    ]);
  });

  it('in a mode of its own needs the mode for what is done and for every part', async () => {
    const authorizer = allowing(['impersonate-on:user-info:list', 'impersonate:user-info']);
    const headers = { ...bob, 'impersonate-group': 'g', 'impersonate-extra-example.com%2fk': 'v' };
    expect((await impersonate(authorizer, headers)).groups).toEqual(['g', 'system:authenticated']);
    expect(authorizer.asked.map(textOf)).toEqual([
      'impersonate-on:user-info:list /ns/configmaps//',
      'impersonate:user-info authentication.k8s.io//users//bob',
      'impersonate:user-info authentication.k8s.io//groups//g',
      'impersonate:user-info authentication.k8s.io//userextras/example.com/k/v',
    ]);
  });

  const account = { 'impersonate-user': 'system:serviceaccount:ns:sa' };
  const node = { 'impersonate-user': 'system:node:n1' };
  it.each<[string, Headers, readonly string[], UserInfo, readonly string[]]>([
    ['anonymous', { 'impersonate-user': 'system:anonymous' }, ['impersonate '], alice, ['system:unauthenticated']],
    [
      'anonymous with groups',
      { 'impersonate-user': 'system:anonymous', 'impersonate-group': 'g' },
      ['impersonate '],
      alice,
      ['g', 'system:unauthenticated'],
    ],
    [
      'someone who is not authenticated',
      { ...bob, 'impersonate-group': 'system:unauthenticated' },
      ['impersonate '],
      alice,
      ['system:unauthenticated'],
    ],
    [
      'a service account, in its mode',
      account,
      ['impersonate-on:serviceaccount:list', 'impersonate:serviceaccount authentication.k8s.io/ns/serviceaccounts//sa'],
      alice,
      ['system:serviceaccounts', 'system:serviceaccounts:ns', 'system:authenticated'],
    ],
    [
      'a service account with groups, in the old mode',
      { ...account, 'impersonate-group': 'g' },
      ['impersonate /ns/serviceaccounts//sa', 'impersonate //groups//g'],
      alice,
      ['g', 'system:authenticated'],
    ],
    [
      'a node in the old mode, a user like others',
      node,
      ['impersonate //users//system:node:n1'],
      alice,
      ['system:authenticated'],
    ],
    [
      'any node',
      node,
      ['impersonate-on:arbitrary-node:list', 'impersonate:arbitrary-node authentication.k8s.io//nodes//n1'],
      alice,
      ['system:nodes', 'system:authenticated'],
    ],
    [
      'the node that a pod is on',
      node,
      ['impersonate-on:associated-node:list', 'impersonate:associated-node authentication.k8s.io//nodes//*'],
      podAgent,
      ['system:nodes', 'system:authenticated'],
    ],
  ])('of %s gives the groups that such a user has', async (_name, headers, allowed, requester, groups) => {
    expect((await impersonate(allowing(allowed), headers, requester)).groups).toEqual(groups);
  });

  it('of the own node shows the authorizer the keys of extras alone', async () => {
    const authorizer = allowing(['impersonate-on:associated-node', 'impersonate:associated-node']);
    await impersonate(authorizer, node, podAgent);
    const keys = {
      'authentication.kubernetes.io/associated-node-keys': ['authentication.kubernetes.io/node-name', 'b'],
    };
    expect(authorizer.asked.map(({ user }) => user.extra)).toEqual([keys, keys]);
  });

  it.each<[string, Headers, readonly string[], string]>([
    [
      'nothing',
      bob,
      [],
      'configmaps is forbidden: User "alice" cannot impersonate-on:user-info:list resource "configmaps" in API group "" in the namespace "ns"',
    ],
    [
      'the mode but not the user',
      bob,
      ['impersonate-on:user-info'],
      'users.authentication.k8s.io "bob" is forbidden: User "alice" cannot impersonate:user-info resource "users" in API group "authentication.k8s.io" at the cluster scope',
    ],
    [
      'an account, that is not asked for as a user',
      account,
      [],
      'configmaps is forbidden: User "alice" cannot impersonate-on:serviceaccount:list resource "configmaps" in API group "" in the namespace "ns"',
    ],
    [
      'an account with a uid',
      { ...account, 'impersonate-uid': '7' },
      [],
      'serviceaccounts "sa" is forbidden: User "alice" cannot impersonate resource "serviceaccounts" in API group "" in the namespace "ns"',
    ],
    [
      'the group of masters',
      { ...bob, 'impersonate-group': 'system:masters' },
      ['impersonate-on:', 'impersonate:'],
      'groups.authentication.k8s.io "system:masters" is forbidden: User "alice" cannot impersonate:user-info resource "groups" in API group "authentication.k8s.io" at the cluster scope: impersonating the system:masters group is not allowed',
    ],
    [
      'the empty group',
      { ...bob, 'impersonate-group': '' },
      ['impersonate-on:', 'impersonate:'],
      'groups.authentication.k8s.io is forbidden: User "alice" cannot impersonate:user-info resource "groups" in API group "authentication.k8s.io" at the cluster scope: impersonating the empty string group is not allowed',
    ],
    [
      'an extra without a domain',
      { ...bob, 'impersonate-extra-scopes': 'v' },
      ['impersonate-on:', 'impersonate:'],
      'userextras.authentication.k8s.io is forbidden: User "alice" cannot impersonate:user-info resource "userextras" in API group "authentication.k8s.io" at the cluster scope: impersonating an invalid key in extra is not allowed: extra.key: Invalid value: "scopes": must be a domain-prefixed path (such as "acme.io/foo")',
    ],
    [
      'an extra without a value',
      { ...bob, 'impersonate-extra-a.io%2fb': '' },
      ['impersonate-on:', 'impersonate:'],
      'userextras.authentication.k8s.io is forbidden: User "alice" cannot impersonate:user-info resource "userextras" in API group "authentication.k8s.io" at the cluster scope: impersonating the empty string value in extra is not allowed',
    ],
  ])(
    'with a right to %s is refused in the words of the first mode that fits',
    async (_name, headers, allowed, text) => {
      await expect(impersonate(allowing(allowed), headers)).rejects.toThrow(text);
    },
  );

  it('asks for many groups or extras at once first', async () => {
    const groups = { ...bob, 'impersonate-group': ['a', 'b', 'c', 'd'] };
    const allowed = [
      'impersonate-on:',
      'impersonate:user-info authentication.k8s.io//users',
      'impersonate:user-info authentication.k8s.io//groups//*',
    ];
    expect((await impersonate(allowing(allowed), groups)).groups).toHaveLength(5);
    const three = { ...bob, 'impersonate-group': ['a', 'b', 'c'] };
    await expect(impersonate(allowing(allowed), three)).rejects.toThrow(
      'groups.authentication.k8s.io "a" is forbidden',
    );
    const extras = { ...bob, 'impersonate-extra-a.io%2fb': ['1', '2', '3', '4'] };
    const anyExtra = [...allowed, 'impersonate:user-info authentication.k8s.io//userextras/*/*'];
    expect((await impersonate(allowing(anyExtra), extras)).extra).toEqual({ 'a.io/b': ['1', '2', '3', '4'] });
  });

  it('tries the mode first that worked last for the requester', async () => {
    const authorizer = allowing(['impersonate //users//bob']);
    const impersonator = new Impersonator(authorizer);
    const as = (headers: Headers) =>
      impersonator.impersonate(wantedBy(headers) as NonNullable<ReturnType<typeof wantedBy>>, listConfigMaps(alice));
    await as(bob);
    authorizer.asked.length = 0;
    await as(bob);
    expect(authorizer.asked.map(textOf)).toEqual(['impersonate //users//bob']);
    await expect(as({ 'impersonate-user': 'eve' })).rejects.toThrow(
      'users "eve" is forbidden: User "alice" cannot impersonate resource "users"',
    );
  });

  it('lets system:masters be anyone, also with what the modes take no part in', async () => {
    const masters = { name: 'm', groups: ['system:masters'] };
    const headers = { ...bob, 'impersonate-group': ['system:masters', ''], 'impersonate-extra-scopes': '' };
    const user = await impersonate(unionAuthorizer([mastersAuthorizer]), headers, masters);
    expect(user.groups).toEqual(['system:masters', '', 'system:authenticated']);
  });
});
