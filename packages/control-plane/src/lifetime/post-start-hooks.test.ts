import type { HealthCheck } from '@kapstan/apiserver';
import { describe, expect, it } from 'vitest';
import { hooksOfIdentity, hooksOfResources, inKubernetesOrder, PostStartHooks } from './post-start-hooks.ts';

const names = (hooks: PostStartHooks): string[] =>
  hooks.healthChecks.map(({ name }) => name.replace('poststarthook/', ''));
const unfinished = async (hooks: PostStartHooks): Promise<string[]> => {
  const found = await Promise.all(
    hooks.healthChecks.map(async ({ name, check }) => ((await check()) === undefined ? [] : [name])),
  );
  return found.flat();
};

describe('the hooks of a start', () => {
  it('are those of the parts that the options ask for', () => {
    const least = [
      'start-apiserver-admission-initializer',
      'generic-apiserver-start-informers',
      'priority-and-fairness-config-consumer',
      'priority-and-fairness-filter',
      'storage-object-count-tracker-hook',
      'start-apiextensions-informers',
      'start-apiextensions-controllers',
      'crd-informer-synced',
      'start-system-namespaces-controller',
      'storage-readiness',
      'start-service-ip-repair-controllers',
      'scheduling/bootstrap-system-priority-classes',
      'priority-and-fairness-config-producer',
    ];
    const more = (added: object): string[] => names(new PostStartHooks(added)).filter((name) => !least.includes(name));
    expect(names(new PostStartHooks({}))).toEqual(least);
    expect(more({ identity: 'off', endpointReconciler: 'off' })).toEqual([]);
    expect(more({ identity: 'on' })).toEqual([...hooksOfIdentity]);
    expect(more({ identity: 'without lease' })).toEqual([
      'start-cluster-authentication-info-controller',
      'start-legacy-token-tracking-controller',
    ]);
    const ofService = ['bootstrap-controller', 'start-kubernetes-service-cidr-controller'];
    expect(more({ registersApiServices: true })).toEqual([
      'start-kube-aggregator-informers',
      'apiservice-status-local-available-controller',
      'apiservice-status-remote-available-controller',
      'apiservice-registration-controller',
      'apiservice-discovery-controller',
      'kube-apiserver-autoregistration',
      'apiservice-openapi-controller',
      'apiservice-openapiv3-controller',
    ]);
    expect(more({ hasPriorityAndFairness: false })).toEqual(['max-in-flight-filter']);
    for (const endpointReconciler of ['lease', 'none']) expect(more({ endpointReconciler })).toEqual(ofService);
  });

  it('fail their checks until they are done', async () => {
    const hooks = new PostStartHooks({ identity: 'without lease' });
    expect(await unfinished(hooks)).toHaveLength(15);
    hooks.finish('priority-and-fairness-config-consumer', 'priority-and-fairness-filter');
    hooks.finish('priority-and-fairness-config-producer');
    hooks.finish(...hooksOfResources, 'generic-apiserver-start-informers', 'start-service-ip-repair-controllers');
    hooks.finish('start-system-namespaces-controller', 'scheduling/bootstrap-system-priority-classes');
    expect(await unfinished(hooks)).toEqual([
      'poststarthook/start-cluster-authentication-info-controller',
      'poststarthook/start-legacy-token-tracking-controller',
    ]);
    hooks.finish(...hooksOfIdentity);
    expect(await unfinished(hooks)).toEqual([]);
    expect(names(hooks)).toHaveLength(15);
    expect(hooks.healthChecks.every(({ isPartOfStart, endpoints }) => isPartOfStart && endpoints === undefined)).toBe(
      true,
    );
  });
});

it('checks are listed in the order of kube-apiserver, with others behind', () => {
  const check = (name: string): HealthCheck => ({ name, check: () => undefined });
  const given = [
    'poststarthook/namespace-controller',
    'autoregister-completion',
    'poststarthook/apiservice-openapi-controller',
    'poststarthook/kube-apiserver-autoregistration',
    'poststarthook/bootstrap-controller',
    'kms-provider-0',
    'poststarthook/rbac/bootstrap-roles',
    'informer-sync',
    'etcd',
  ];
  expect(inKubernetesOrder(given.map(check)).map(({ name }) => name)).toEqual([
    'etcd',
    'informer-sync',
    'poststarthook/rbac/bootstrap-roles',
    'poststarthook/bootstrap-controller',
    'poststarthook/kube-apiserver-autoregistration',
    'autoregister-completion',
    'poststarthook/apiservice-openapi-controller',
    'poststarthook/namespace-controller',
    'kms-provider-0',
  ]);
});
