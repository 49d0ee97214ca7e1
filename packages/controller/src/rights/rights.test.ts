import { defineResource } from '@kapstan/api';
import { Deployment } from '@kapstan/kinds/apps/v1';
import { ConfigMap, Namespace, Secret } from '@kapstan/kinds/core/v1';
import { describe, expect, it } from 'vitest';
import { controller } from '../builder/controller-builder.ts';
import type { NeedsOptions } from '../builder/needed-rights.ts';
import { type RightsOptions, rightsOf } from './rights.ts';
import { roleRules, rolesOf } from './roles.ts';

const Echo = defineResource({
  group: 'demo.dev',
  version: 'v1',
  kind: 'Echo',
  spec: { type: 'object' },
  status: { type: 'object' },
});
const none = async (): Promise<void> => undefined;
const echo = controller(Echo)
  .owns(ConfigMap)
  .watches(Secret, () => [])
  .finalize('demo.dev/bye', none)
  .needs(Secret, ['delete'], { names: ['b', 'a'] })
  .needs(Deployment, ['apply', 'delete'])
  .reconcile(none);

/** Returns one line for each rule: "namespace: group resource [names]: verbs". */
function lines(controllers: Parameters<typeof rightsOf>[0], options?: RightsOptions): readonly string[] {
  return roleRules(rightsOf(controllers, options)).flatMap(({ namespace = '*', rules }) =>
    rules.map(
      ({ apiGroups: [group], resources: [resource], resourceNames = [], verbs }) =>
        `${namespace}: ${group} ${resource} ${resourceNames.length === 0 ? '' : `[${resourceNames}] `}${verbs}`,
    ),
  );
}

describe('rights of a controller', () => {
  it('are those that its declarations need, and no others', () => {
    expect(lines([echo])).toEqual([
      '*:  configmaps get,list,watch,create,patch',
      '*:  events create,patch',
      '*:  secrets get,list,watch',
      '*:  secrets [a,b] delete',
      '*: apps deployments create,patch,delete',
      '*: demo.dev echos get,list,watch,patch',
      '*: demo.dev echos/finalizers update',
      '*: demo.dev echos/status patch',
    ]);
  });

  it('are to read its kind and to record events when it owns nothing and has no definition', () => {
    expect(lines([controller(Deployment).reconcile(none)])).toEqual([
      '*:  events create,patch',
      '*: apps deployments get,list,watch',
    ]);
  });

  it('are in the namespaces of its manager, except those for cluster-scoped kinds', () => {
    const one = controller(ConfigMap)
      .watches(Namespace, () => [])
      .reconcile(none);
    expect(lines([one], { namespaces: ['a', 'b'] })).toEqual([
      '*:  namespaces get,list,watch',
      'a:  configmaps get,list,watch',
      'a:  events create,patch',
      'b:  configmaps get,list,watch',
      'b:  events create,patch',
    ]);
  });

  it('let it record events of a cluster-scoped kind in the namespace that keeps them', () => {
    expect(lines([controller(Namespace).reconcile(none)])).toEqual([
      '*:  namespaces get,list,watch',
      'default:  events create,patch',
    ]);
  });

  it('include its lease and its definitions by name', () => {
    const options = { leaderElection: { name: 'echo', namespace: 'system' }, installCrds: true, namespaces: ['a'] };
    expect(lines([controller(Echo).reconcile(none)], options)).toEqual([
      '*: apiextensions.k8s.io customresourcedefinitions [echos.demo.dev] get,list,watch,create,patch',
      'a:  events create,patch',
      'a: demo.dev echos get,list,watch',
      'a: demo.dev echos/status patch',
      'system:  events create,patch',
      'system: coordination.k8s.io leases create',
      'system: coordination.k8s.io leases [echo] get,update',
    ]);
  });

  describe('with webhooks', () => {
    const Old = defineResource({ group: 'demo.dev', version: 'v1beta1', kind: 'Echo', spec: { type: 'object' } });
    const hooked = controller(Echo)
      .defaults(() => undefined)
      .converts({ v1beta1: { resource: Old, to: (one) => one as never, from: (one) => one as never } })
      .reconcile(none);
    const service = { name: 'hooks', namespace: 'system' };
    const more = (options: RightsOptions): readonly string[] => {
      const without = lines([hooked]);
      return lines([hooked], options).filter((line) => !without.includes(line));
    };

    it('are to share certificates, to configure the API servers, and to remove what is no longer declared', () => {
      expect(more({ webhooks: { service } })).toEqual([
        '*: admissionregistration.k8s.io mutatingwebhookconfigurations [echo-webhooks] get,list,watch,create,patch',
        '*: admissionregistration.k8s.io validatingwebhookconfigurations [echo-webhooks] get,delete',
        '*: apiextensions.k8s.io customresourcedefinitions [echos.demo.dev] get,list,watch,patch',
        'system:  secrets create',
        'system:  secrets [hooks-webhook-certificates] get,list,watch,update',
      ]);
      const plain = controller(Echo).reconcile(none);
      expect(lines([plain], { webhooks: { service } })).toContain(
        '*: apiextensions.k8s.io customresourcedefinitions [echos.demo.dev] get,patch',
      );
    });

    it('use the names that the program chose', () => {
      const secret = { name: 'own', namespace: 'vault' };
      const own = { service, name: 'mine', certificates: { secret } };
      expect(more({ webhooks: own, leaderElection: { name: 'echo', namespace: 'system' } })).toEqual(
        expect.arrayContaining([
          '*: admissionregistration.k8s.io mutatingwebhookconfigurations [mine] get,list,watch,create,patch',
          'vault:  secrets [own] get,list,watch,update',
        ]),
      );
      expect(more({ webhooks: { service }, leaderElection: { name: 'lease', namespace: 'system' } })).toContain(
        '*: admissionregistration.k8s.io mutatingwebhookconfigurations [lease-webhooks] get,list,watch,create,patch',
      );
    });

    it('leave out what others do', () => {
      const certificates = { certFile: '/a/tls.crt', keyFile: '/a/tls.key' };
      expect(more({ webhooks: { service, certificates, configurations: false } })).toEqual([]);
      expect(more({ webhooks: { service, configurations: false } })).toHaveLength(2);
      expect(more({ webhooks: { url: 'https://127.0.0.1' } }).filter((line) => line.includes('secrets'))).toEqual([]);
      expect(more({ webhooks: false })).toEqual([]);
    });
  });

  it('of several controllers are joined, with all reasons', () => {
    const other = controller(ConfigMap, { name: 'other' })
      .needs(ConfigMap, ['update'], { subresource: 'x' })
      .reconcile(none);
    const [role] = roleRules(rightsOf([echo, other]));
    expect(role?.rules[0]).toEqual({
      apiGroups: [''],
      resources: ['configmaps'],
      verbs: ['get', 'list', 'watch', 'create', 'patch'],
      why: ['echo owns ConfigMap', 'other reconciles ConfigMap'],
    });
    expect(lines([other])).toContain('*:  configmaps/x update');
  });

  it('may be declared for one namespace', () => {
    const one = controller(ConfigMap).needs(Secret, ['get'], { namespace: 'vault' }).reconcile(none);
    expect(lines([one])).toContain('vault:  secrets get');
  });
});

describe('roles', () => {
  it('are bound to the service account', () => {
    const serviceAccount = { name: 'echo', namespace: 'system' };
    const objects = rolesOf(rightsOf([echo], { leaderElection: { name: 'echo', namespace: 'system' } }), {
      name: 'echo-role',
      serviceAccount,
    });
    expect(objects.map(({ kind, metadata }) => `${kind} ${metadata?.namespace ?? ''}/${metadata?.name}`)).toEqual([
      'ClusterRole /echo-role',
      'ClusterRoleBinding /echo-role',
      'Role system/echo-role',
      'RoleBinding system/echo-role',
    ]);
    expect(objects[3]).toEqual({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata: { name: 'echo-role', namespace: 'system' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'echo-role' },
      subjects: [{ kind: 'ServiceAccount', ...serviceAccount }],
    });
  });
});

describe('needs()', () => {
  it.each([
    [() => controller(Echo).needs(undefined as never, ['get']), 'needs()'],
    [() => controller(Echo).needs(Secret, []), 'needs() takes at least one verb, such as ["get"]'],
    [() => controller(Echo).needs(Secret, 'get' as never), "the verbs of needs() must be a list of texts, not 'get'"],
    [() => controller(Echo).needs(Secret, ['get'], { name: ['a'] } as never), 'name'],
    [() => controller(Echo).needs(Secret, ['get'], { names: [] }), 'needs(): names must have at least one name'],
    [
      () => rolesOf([{ group: '', resource: 'secrets', names: [], verbs: ['get'], why: 'x' } as never], { name: 'a' }),
      'the right on secrets (x) has an empty list of names',
    ],
    [() => controller(Echo).needs(Secret, ['get'], { names: 'a' as never }), "names must be a list of texts, not 'a'"],
    [
      () => needs(['lits']),
      `needs(): unknown verb 'lits'; did you mean "list"? it takes read, apply, get, list, watch,`,
    ],
    [() => needs(['delete', 'deleteCollection']), 'did you mean "deletecollection"?'],
    [() => needs(['List']), 'did you mean "list"?'],
    [() => needs(['updates']), 'did you mean "update"?'],
    [() => needs(['PUT']), 'did you mean "update"?'],
    [() => needs(['post']), 'did you mean "create"?'],
    [() => needs(['impersonat']), 'did you mean "impersonate"?'],
    [() => needs(['get,list']), "needs(): unknown verb 'get,list'; it takes read"],
    [
      () => needs(['get'], { subresource: 'Status' }),
      `subresource must be the name of a subresource, such as "status"`,
    ],
    [() => needs(['get'], { subresource: '/status' }), "not '/status'"],
    [() => needs(['get'], { subresource: '*' }), "not '*'"],
    [() => needs(['get'], { subresource: '' }), "not ''"],
    [() => needs(['get'], { names: ['*'] }), 'leave names out for all objects'],
    [() => needs(['get'], { namespace: 'My_Space' }), "namespace must be the name of a namespace, not 'My_Space'"],
    [() => needs(['get'], { namespace: '' }), "namespace must be the name of a namespace, not ''"],
  ])('refuses wrong arguments: %s', (call, message) => {
    expect(call).toThrow(message);
    expect(call).toThrow(TypeError);
  });

  it.each(['use', 'bind', 'escalate', 'approve', 'sign', 'attest', '*', 'associated-node:update', 'manage-members'])(
    'takes the verb %s',
    (verb) => {
      expect(needs([verb], { subresource: 'proxy', names: ['system:a', 'a.b'] }).reconcile(none).needs).toMatchObject([
        { verbs: [verb] },
      ]);
    },
  );
});

function needs(verbs: readonly string[], options?: NeedsOptions) {
  return controller(Echo).needs(Secret, verbs, options);
}
