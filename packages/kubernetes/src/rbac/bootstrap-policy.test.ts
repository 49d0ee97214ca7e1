import { deepCopy, type KubernetesObject, type Resource, type ResourceClient } from '@kapstan/api';
import { alreadyExists, conflict } from '@kapstan/api/errors';
import { alwaysAllow } from '@kapstan/apiserver';
import { rbacPolicyFacts } from '@kapstan/kinds/facts';
import { ClusterRole, ClusterRoleBinding, Role, RoleBinding } from '@kapstan/kinds/rbac.authorization.k8s.io/v1';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openRbacServer } from '../testing/rbac-fixture.ts';
import { reconcileBootstrapPolicy } from './bootstrap-policy.ts';

let server: Awaited<ReturnType<typeof openRbacServer>>;
let client: ResourceClient;

beforeEach(async () => {
  server = await openRbacServer(openLmdbEngine, alwaysAllow);
  client = server.client();
});
afterEach(() => server.close());

const autoUpdate = 'rbac.authorization.kubernetes.io/autoupdate';
const facts = rbacPolicyFacts();
const expected = <T extends KubernetesObject>(objects: readonly unknown[], name: string): T =>
  deepCopy(objects.find((object) => (object as T).metadata?.name === name)) as T;

const readRole = (name: string): Promise<ClusterRole> => client.get(ClusterRole, { name });
const readBinding = (name: string): Promise<ClusterRoleBinding> => client.get(ClusterRoleBinding, { name });

/** Returns the objects of all four kinds by kind, namespace and name, without the server's metadata. */
async function all(): Promise<Map<string, unknown>> {
  const found = new Map<string, unknown>();
  for (const kind of [Role, ClusterRole, RoleBinding, ClusterRoleBinding] as readonly Resource<KubernetesObject>[]) {
    for await (const { metadata = {}, ...content } of client.list(kind)) {
      const { name, namespace, labels, annotations } = metadata;
      const { kind: _kind, apiVersion: _version, ...rest } = content;
      found.set(`${kind.kind} ${namespace ?? ''} ${name}`, { labels, annotations, ...rest });
    }
  }
  return found;
}

async function versions(): Promise<string[]> {
  const list = await client.listPage(ClusterRole);
  return list.items.map(({ metadata }) => `${metadata?.name} ${metadata?.resourceVersion}`);
}

describe('the default roles and bindings', () => {
  it('are all there after the first start, as a kube-apiserver has them, and untouched by the next', async () => {
    await reconcileBootstrapPolicy(client);
    const found = await all();
    const { clusterRoles, clusterRoleBindings, roles, roleBindings } = facts;
    expect(found.size).toBe(clusterRoles.length + clusterRoleBindings.length + roles.length + roleBindings.length);
    expect([clusterRoles.length, clusterRoleBindings.length, roles.length, roleBindings.length]).toEqual([
      69, 50, 7, 7,
    ]);
    expect(found.get('ClusterRole  cluster-admin')).toEqual({
      labels: { 'kubernetes.io/bootstrapping': 'rbac-defaults' },
      annotations: { [autoUpdate]: 'true' },
      rules: [
        { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
        { verbs: ['*'], nonResourceURLs: ['*'] },
      ],
    });
    const before = await versions();
    await reconcileBootstrapPolicy(client);
    expect(await versions()).toEqual(before);
  });

  it('get back what was taken from them and keep what was added', async () => {
    await reconcileBootstrapPolicy(client);
    const role = await readRole('system:basic-user');
    const [, ...others] = role.rules ?? [];
    const own = { verbs: ['get'], apiGroups: [''], resources: ['own'] };
    const metadata = { ...role.metadata, labels: { mine: 'yes' }, annotations: { [autoUpdate]: 'yes' } };
    await client.update(ClusterRole, { ...role, rules: [own, ...others], metadata });
    const binding = await readBinding('system:basic-user');
    const group = { kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: 'mine' };
    await client.update(ClusterRoleBinding, { ...binding, subjects: [group] });
    await reconcileBootstrapPolicy(client);
    const again = await readRole('system:basic-user');
    expect(again.rules?.[0]).toEqual(own);
    expect(again.rules).toEqual(
      expect.arrayContaining([
        { verbs: ['create'], apiGroups: ['authorization.k8s.io'], resources: ['selfsubjectaccessreviews'] },
      ]),
    );
    expect(again.metadata?.labels).toEqual({ mine: 'yes', 'kubernetes.io/bootstrapping': 'rbac-defaults' });
    expect(again.metadata?.annotations).toEqual({ [autoUpdate]: 'yes' });
    const names = (await readBinding('system:basic-user')).subjects?.map(({ name }) => name);
    expect(names).toEqual(['mine', 'system:authenticated']);
  });

  it('stay as they are where their owner says so', async () => {
    const annotations = { [autoUpdate]: 'false' };
    const role = expected<ClusterRole>(facts.clusterRoles, 'system:basic-user');
    await client.create(ClusterRole, { ...role, metadata: { ...role.metadata, annotations }, rules: [] });
    const binding = expected<ClusterRoleBinding>(facts.clusterRoleBindings, 'system:basic-user');
    const elsewhere = { ...binding.roleRef, name: 'view' };
    await client.create(ClusterRoleBinding, {
      ...binding,
      metadata: { ...binding.metadata, annotations },
      roleRef: elsewhere,
    });
    await reconcileBootstrapPolicy(client);
    expect((await readRole('system:basic-user')).rules ?? []).toEqual([]);
    expect((await readBinding('system:basic-user')).roleRef).toEqual(elsewhere);
  });

  it('are made anew where a binding is to another role', async () => {
    const binding = expected<ClusterRoleBinding>(facts.clusterRoleBindings, 'cluster-admin');
    const old = await client.create(ClusterRoleBinding, { ...binding, roleRef: { ...binding.roleRef, name: 'view' } });
    await reconcileBootstrapPolicy(client);
    const next = await readBinding('cluster-admin');
    expect(next.roleRef.name).toBe('cluster-admin');
    expect(next.metadata?.uid).not.toBe(old.metadata?.uid);
  });

  it('are gathered from others where they should be, and nowhere else', async () => {
    const aggregationRule = { clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] };
    const [view, basic] = ['view', 'system:basic-user'].map((name) => expected<ClusterRole>(facts.clusterRoles, name));
    await client.create(ClusterRole, { ...(view as ClusterRole), aggregationRule });
    await client.create(ClusterRole, { ...(basic as ClusterRole), aggregationRule });
    await reconcileBootstrapPolicy(client);
    expect((await readRole('view')).aggregationRule?.clusterRoleSelectors).toEqual([
      ...aggregationRule.clusterRoleSelectors,
      ...(view?.aggregationRule?.clusterRoleSelectors ?? []),
    ]);
    expect((await readRole('system:basic-user')).aggregationRule).toBeUndefined();
  });
});

describe('of an old cluster', () => {
  it('rules of roles that are gathered now are taken over', async () => {
    const rules = [{ verbs: ['get'], apiGroups: ['old.io'], resources: ['things'] }];
    const { aggregationRule: _none, ...view } = expected<ClusterRole>(facts.clusterRoles, 'view');
    await client.create(ClusterRole, { ...view, rules });
    await reconcileBootstrapPolicy(client);
    const part = await readRole('system:aggregate-to-view');
    expect(part.rules?.[0]).toEqual(rules[0]);
    expect(part.rules?.length).toBeGreaterThan(5);
  });

  it('the subjects of the binding that is two now are in both', async () => {
    const binding = expected<ClusterRoleBinding>(facts.clusterRoleBindings, 'system:discovery');
    const annotations = { [autoUpdate]: 'false' };
    await client.create(ClusterRoleBinding, {
      ...binding,
      metadata: { ...binding.metadata, annotations },
      subjects: [],
    });
    await reconcileBootstrapPolicy(client);
    const next = await readBinding('system:public-info-viewer');
    expect(next).toMatchObject({ metadata: { annotations }, roleRef: { name: 'system:public-info-viewer' } });
    expect(next.subjects ?? []).toEqual([]);
  });
});

describe('beside other servers', () => {
  const resource = { group: 'rbac.authorization.k8s.io', resource: 'clusterroles' };

  /** A client whose first creates and updates fail as if another server had been faster. */
  function raced(failures: number): ResourceClient {
    let left = failures;
    const fail = (error: Error): Promise<never> | undefined => (left-- > 0 ? Promise.reject(error) : undefined);
    return new Proxy(client, {
      get: (target, name) => {
        if (name === 'create') {
          return async (kind: Resource<KubernetesObject>, object: KubernetesObject) => {
            await client.create(kind, object);
            await fail(alreadyExists(resource, object.metadata?.name ?? ''));
          };
        }
        if (name === 'update') {
          return async (kind: Resource<KubernetesObject>, object: KubernetesObject) => {
            await fail(conflict(resource, object.metadata?.name ?? '', 'changed'));
            await client.update(kind, object);
          };
        }
        const member: unknown = Reflect.get(target, name);
        return typeof member === 'function' ? member.bind(target) : member;
      },
    });
  }

  it('are looked at again', async () => {
    await reconcileBootstrapPolicy(raced(30));
    const view = await readRole('system:basic-user');
    await client.update(ClusterRole, { ...view, rules: [] });
    await reconcileBootstrapPolicy(raced(2));
    expect((await readRole('system:basic-user')).rules).not.toEqual([]);
  });

  it('are given up in the end, with the error', async () => {
    await reconcileBootstrapPolicy(client);
    await client.update(ClusterRole, { ...(await readRole('system:basic-user')), rules: [] });
    await expect(reconcileBootstrapPolicy(raced(1000))).rejects.toThrow('Operation cannot be fulfilled');
  });
});
