import type { DeepReadonly, KubernetesObject, Resource } from '@kapstan/api';
import type { AdmissionAttributes, Authorizer, UserInfo } from '@kapstan/apiserver';
import { refusal } from '@kapstan/apiserver/testing';
import {
  ClusterRole,
  ClusterRoleBinding,
  type PolicyRule,
  Role,
  RoleBinding,
} from '@kapstan/kinds/rbac.authorization.k8s.io/v1';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openRbacServer } from '../testing/rbac-fixture.ts';

const alice: UserInfo = { name: 'alice', groups: ['dev', 'system:authenticated'] };
const group = 'rbac.authorization.k8s.io';

/**
 * Questions to the authorizer, and the permissions that it grants: "escalate roles name", "bind clusterroles name ns".
 */
let asked: string[];
let allowed: string | undefined;
/** Rules that mutating admission adds to each role. */
let added: PolicyRule[];
let server: Awaited<ReturnType<typeof openRbacServer>>;

beforeEach(async () => {
  asked = [];
  allowed = undefined;
  added = [];
  const adding = {
    name: 'Adding',
    admit: ({ object }: AdmissionAttributes) => {
      if (added.length > 0) (object as Role | undefined)?.rules?.push(...added);
    },
  };
  const authorizer: Authorizer = {
    authorize: (attributes) => {
      if (attributes.type === 'path') throw new TypeError('paths are not asked for');
      const { verb, resource, name, namespace } = attributes;
      const text = `${verb} ${resource} ${name} ${namespace}`.trim();
      asked.push(text);
      return { decision: text === allowed ? 'allow' : 'noOpinion', reason: '' };
    },
  };
  server = await openRbacServer(openLmdbEngine, authorizer, [adding]);
  const admin = server.client();
  await admin.create(ClusterRole, role('ClusterRole', 'reads', [configMaps('get', 'list')]));
  await admin.create(ClusterRole, role('ClusterRole', 'writes', [configMaps('create')]));
  await admin.create(Role, { ...role('Role', 'strong', [secrets]), metadata: { name: 'strong', namespace: 'ns' } });
  await bind('reads', alice.name);
});
afterEach(() => server.close());

const configMaps = (...verbs: string[]): PolicyRule => ({ verbs, apiGroups: [''], resources: ['configmaps'] });
const secrets: PolicyRule = { verbs: ['get'], apiGroups: [''], resources: ['secrets'] };
const everything: PolicyRule = { verbs: ['*'], apiGroups: ['*'], resources: ['*'] };
const everyPath: PolicyRule = { verbs: ['*'], nonResourceURLs: ['*'] };

function role(kind: string, name: string, rules: PolicyRule[]) {
  return { apiVersion: `${group}/v1`, kind, metadata: { name }, rules };
}

const bindingTo = (roleKind: string, roleName: string, metadata: NonNullable<KubernetesObject['metadata']>) => ({
  apiVersion: `${group}/v1`,
  metadata,
  roleRef: { apiGroup: group, kind: roleKind, name: roleName },
});

/** Binds the role in the cluster, as an admin. */
function bind(roleName: string, userName: string): Promise<unknown> {
  const subjects = [{ kind: 'User', apiGroup: group, name: userName }];
  const metadata = { name: `${roleName}-${userName}` };
  const head = bindingTo('ClusterRole', roleName, metadata);
  return server.client().create(ClusterRoleBinding, { ...head, kind: 'ClusterRoleBinding', subjects });
}

const createRole = (name: string, rules: PolicyRule[]) =>
  server.client(alice).create(Role, { ...role('Role', name, rules), metadata: { name, namespace: 'ns' } });

const createBinding = (roleKind: string, roleName: string) =>
  server.client(alice).create(RoleBinding, {
    ...bindingTo(roleKind, roleName, { name: 'b', namespace: 'ns' }),
    kind: 'RoleBinding',
  });

const notHeld = (who: string, ...lines: string[]): string =>
  `${who} is forbidden: user "alice" (groups=["dev" "system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n${lines.join('\n')}`;

describe('a role', () => {
  it('may hold what its writer has', async () => {
    await createRole('ok', [configMaps('list')]);
    expect(asked).toEqual(['escalate roles  ns']);
  });

  it('is refused for each rule beyond it', async () => {
    const error = await refusal(createRole('more', [configMaps('get', 'create', 'delete'), secrets]));
    expect([error.code, error.message]).toEqual([
      403,
      notHeld(
        'roles.rbac.authorization.k8s.io "more"',
        '{APIGroups:[""], Resources:["configmaps"], Verbs:["create" "delete"]}',
        '{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}',
      ),
    ]);
  });

  it('may hold anything for those who may escalate, by name where it has one', async () => {
    allowed = 'escalate roles  ns';
    await createRole('free', [secrets]);
    allowed = 'escalate roles strong ns';
    const target = { name: 'strong', namespace: 'ns' };
    const present = await server.client().get(Role, target);
    await server.client(alice).update(Role, { ...present, rules: [everything] });
    const other = { ...present, metadata: { name: 'free', namespace: 'ns' }, rules: [everything] };
    expect((await refusal(server.client(alice).update(Role, other))).code).toBe(403);
  });

  it('counts what was granted a moment ago, and no more what was taken', async () => {
    await bind('writes', alice.name);
    await createRole('fresh', [configMaps('create')]);
    await server.client().delete(ClusterRoleBinding, { name: 'writes-alice' });
    await expect(createRole('stale', [configMaps('create')])).rejects.toThrow('not currently held');
  });

  it('reports roles that could not be found meanwhile', async () => {
    await bind('none', alice.name);
    await expect(createRole('more', [secrets])).rejects.toThrow(
      'Verbs:["get"]}; resolution errors: [roles.rbac.authorization.k8s.io "none" not found]',
    );
  });

  it('may change for the garbage collector without the rights, and in no other way', async () => {
    const patch = (metadata: unknown) =>
      server.client(alice).patch(Role, { name: 'strong', namespace: 'ns' }, { type: 'merge', body: { metadata } });
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'o', uid: 'u' };
    await patch({ finalizers: ['example.com/f'], ownerReferences: [owner] });
    await expect(patch({ labels: { a: 'b' } })).rejects.toThrow('not currently held');
    await expect(patch({ finalizers: null, annotations: { a: 'b' } })).rejects.toThrow('not currently held');
  });
});

describe('a cluster role', () => {
  const gathering = { aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] } };
  const create = (object: DeepReadonly<ClusterRole>) => server.client(alice).create(ClusterRole, object as ClusterRole);
  const onlyAdmins = 'must have cluster-admin privileges to use the aggregationRule';

  it('that gathers others needs every right there is', async () => {
    const sum = { ...role('ClusterRole', 'sum', []), ...gathering };
    await expect(create(sum)).rejects.toThrow(
      `clusterroles.rbac.authorization.k8s.io "sum" is forbidden: ${onlyAdmins}`,
    );
    await server.client().create(ClusterRole, role('ClusterRole', 'all', [everything, everyPath]));
    await bind('all', alice.name);
    await create(sum);
  });

  it('may not stop gathering others by less', async () => {
    const present = await server.client().create(ClusterRole, { ...role('ClusterRole', 'sum', []), ...gathering });
    const { aggregationRule: _gone, ...plain } = present;
    await expect(server.client(alice).update(ClusterRole, plain)).rejects.toThrow(onlyAdmins);
  });
});

describe('a binding', () => {
  it('may be to a role whose rules its writer has', async () => {
    await createBinding('ClusterRole', 'reads');
    expect(asked).toEqual(['bind clusterroles reads ns']);
  });

  it('is refused to a role beyond them', async () => {
    const error = await refusal(createBinding('Role', 'strong'));
    const line = '{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}';
    expect(error.message).toBe(notHeld('rolebindings.rbac.authorization.k8s.io "b"', line));
    expect(asked).toEqual(['bind roles strong ns']);
  });

  it('may be to the role that its writer may bind', async () => {
    allowed = 'bind roles strong ns';
    await createBinding('Role', 'strong');
    await expect(createBinding('ClusterRole', 'writes')).rejects.toThrow('not currently held');
  });

  it.each([
    ['Role', 'none', 404, 'rolebindings.rbac.authorization.k8s.io "none" not found'],
    ['Role', 'no\u200bne', 404, 'rolebindings.rbac.authorization.k8s.io "no\\u200bne" not found'],
    ['Foo', 'x', 500, 'unsupported role reference kind: "Foo"'],
    ['Role', '', 400, 'Name parameter required.'],
    ['ClusterRole', '', 400, 'Name parameter required.'],
    ['Role', 'a/b', 400, 'Name parameter invalid: "a/b": may not contain \'/\''],
  ])('to %s %s is answered with %i', async (roleKind, roleName, code, message) => {
    const error = await refusal(createBinding(roleKind, roleName));
    expect([error.code, error.message]).toEqual([code, message]);
  });

  it('to a role without a name is refused by validation for those who may bind anything', async () => {
    const object = { ...bindingTo('Role', '', { name: 'b', namespace: 'ns' }), kind: 'RoleBinding' };
    const error = await refusal(server.client().create(RoleBinding, object));
    expect([error.code, error.message]).toEqual([
      422,
      'RoleBinding.rbac.authorization.k8s.io "b" is invalid: roleRef.name: Required value',
    ]);
  });

  it('of the cluster knows no roles of namespaces', async () => {
    const object = { ...bindingTo('Role', 'strong', { name: 'b' }), kind: 'ClusterRoleBinding' };
    const error = await refusal(server.client(alice).create(ClusterRoleBinding, object));
    expect([error.code, error.message]).toEqual([400, 'Namespace parameter required.']);
    expect(asked).toEqual(['bind roles strong']);
  });

  it('is looked at again when its subjects change', async () => {
    const head = bindingTo('Role', 'strong', { name: 'b', namespace: 'ns' });
    const present = await server.client().create(RoleBinding, { ...head, kind: 'RoleBinding' });
    const subjects = [{ kind: 'User', apiGroup: group, name: 'alice' }];
    await expect(server.client(alice).update(RoleBinding, { ...present, subjects })).rejects.toThrow(
      'not currently held',
    );
    allowed = 'bind roles strong ns';
    await server.client(alice).update(RoleBinding, { ...present, subjects });
  });
});

it('lets system:masters write anything without a question, and everybody read and delete', async () => {
  await server.client().create(ClusterRole, role('ClusterRole', 'all', [everything]));
  const reader = server.client(alice);
  const kinds: readonly Resource<KubernetesObject>[] = [Role, ClusterRole, RoleBinding, ClusterRoleBinding];
  for (const kind of kinds) await reader.list(kind);
  await reader.delete(ClusterRole, { name: 'all' });
  expect(asked).toEqual([]);
});

describe('rules that mutating admission adds', () => {
  const message = 'is attempting to grant RBAC permissions not currently held';

  it('count in a role that is created', async () => {
    added = [secrets];
    expect((await refusal(createRole('r', [configMaps('get')]))).message).toContain(message);
    added = [];
    await createRole('r', [configMaps('get')]);
  });

  it('count in a role that is changed, and one that applies creates', async () => {
    await createRole('r', [configMaps('get')]);
    added = [secrets];
    const client = server.client(alice);
    const body = { metadata: { labels: { a: 'b' } } };
    const patched = client.patch(Role, { name: 'r', namespace: 'ns' }, { type: 'merge', body });
    expect((await refusal(patched)).message).toContain(message);
    const applied = { ...role('Role', 's', [configMaps('get')]), metadata: { name: 's', namespace: 'ns' } };
    expect((await refusal(client.apply(Role, applied, { fieldManager: 'm' }))).message).toContain(message);
  });
});
