// Programs about discovery, the REST mapper and kinds that are known by name only.
import { ExactNumber, isInvalid, type Resource, resource } from '@kapstan/api';
import { expect } from 'vitest';
import { failure } from './client-programs.ts';
import { dynamicGadget, Gadget, installGadget } from './gadget.ts';
import type { Programs } from './scene.ts';

const plain = ({ group, version, kind, plural, scope }: Resource): string =>
  [group, version, kind, plural, scope].join(' ');

export const discoveryPrograms: Programs = {
  'discovers groups, versions, resources and subresources': async ({ client }) => {
    expect((await client.discovery.serverVersion()).minor).toBe('36');
    const { groups, resources, failures } = await client.discovery.catalog();
    expect([...failures]).toEqual([]);
    expect(groups.slice(0, 4).map(({ name }) => name)).toEqual(['', 'apiregistration.k8s.io', 'apps', 'events.k8s.io']);
    expect(groups.find(({ name }) => name === 'autoscaling')).toMatchObject({
      versions: ['v2', 'v1'],
      preferredVersion: 'v2',
    });
    expect(resources.find(({ group, resource: plural }) => group === 'apps' && plural === 'deployments')).toEqual({
      group: 'apps',
      version: 'v1',
      resource: 'deployments',
      kind: 'Deployment',
      isNamespaced: true,
      singularName: 'deployment',
      shortNames: ['deploy'],
      categories: ['all'],
      verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
      subresources: ['scale', 'status'],
    });
  },

  'maps words of a command line to resources': async ({ client: { mapper } }) => {
    const found = await Promise.all(
      ['po', 'deploy', 'services', 'ConfigMap', 'events', 'hpa', 'no', 'ev.events.k8s.io'].map((word) =>
        mapper.forName(word),
      ),
    );
    expect(found.map(plain)).toEqual([
      ' v1 Pod pods Namespaced',
      'apps v1 Deployment deployments Namespaced',
      ' v1 Service services Namespaced',
      ' v1 ConfigMap configmaps Namespaced',
      ' v1 Event events Namespaced',
      'autoscaling v2 HorizontalPodAutoscaler horizontalpodautoscalers Namespaced',
      ' v1 Node nodes Cluster',
      'events.k8s.io v1 Event events Namespaced',
    ]);
    expect(plain(await mapper.forKind('policy/v1', 'PodDisruptionBudget'))).toContain('poddisruptionbudgets');
    await expect(mapper.forName('nonsense')).rejects.toThrow('the server doesn\'t have a resource type "nonsense"');
    const all = (await mapper.forCategory('all')).map(({ plural }) => plural);
    expect(all.filter((plural) => plural !== 'gadgets')).toEqual([
      'pods',
      'replicationcontrollers',
      'services',
      'daemonsets',
      'deployments',
      'replicasets',
      'statefulsets',
      'horizontalpodautoscalers',
      'cronjobs',
      'jobs',
    ]);
  },

  'finds a kind that was defined since it looked, and uses it by name': async ({ client, namespace }) => {
    await client.discovery.catalog();
    await installGadget(client);
    const found = await client.mapper.forName('gdg');
    expect(plain(found)).toBe('sdk.example.com v1 Gadget gadgets Namespaced');
    const object = { metadata: { namespace, name: 'a' }, spec: { image: 'i', unknown: 1 } };
    const made = await client.create(found as typeof dynamicGadget, object);
    expect([made.kind, made.spec]).toEqual(['Gadget', { image: 'i', replicas: 1 }]);
  },

  'keeps numbers and names of custom resources, and is told what the schema refuses': async ({ client, namespace }) => {
    await installGadget(client);
    const exact = new ExactNumber('9007199254740993');
    const extra = { big: exact, ['__proto__']: { a: 1 }, list: [null, 1.5, 'ü'] };
    const object = { metadata: { namespace, name: 'exact' }, spec: { image: 'i', extra } };
    await client.create(dynamicGadget, object);
    const { spec } = await client.get(dynamicGadget, { namespace, name: 'exact' });
    const kept = (spec as { extra: Record<string, unknown> }).extra;
    expect(String(kept.big)).toBe('9007199254740993');
    expect(Object.getOwnPropertyDescriptor(kept, '__proto__')?.value).toEqual({ a: 1 });
    expect(kept.list).toEqual([null, 1.5, 'ü']);
    const bad = { metadata: { namespace, name: 'bad' }, spec: { image: 'i', replicas: 11 } };
    const refused = await failure(client.create(Gadget, bad));
    expect([isInvalid(refused), refused.message]).toEqual([
      true,
      'Gadget.sdk.example.com "bad" is invalid: spec.replicas: Invalid value: 11: spec.replicas in body should be less than or equal to 10',
    ]);
    const nothing = await failure(client.list(resource({ group: 'sdk.example.com', version: 'v1', kind: 'Nothing' })));
    expect([nothing.code, nothing.message]).toEqual([
      404,
      'the server could not find the requested resource (get nothings.sdk.example.com)',
    ]);
  },
};
