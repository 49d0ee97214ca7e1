import type { UnstructuredObject } from '@kapstan/api';
import type { AdmissionAttributes, AdmissionPlugin } from '@kapstan/apiserver';
import { refusal, StoreFixture, testContext } from '@kapstan/apiserver/testing';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AdmissionServer, objection, testAttributes } from '../testing/admission-server.ts';
import { alwaysDeny } from './always.ts';
import { alwaysPullImages } from './always-pull-images.ts';
import { denyServiceExternalIPs } from './deny-service-external-ips.ts';
import { extendedResourceToleration } from './extended-resource-toleration.ts';
import { limitPodHardAntiAffinityTopology } from './limit-pod-hard-anti-affinity-topology.ts';

const core = (resource: string) => ({ group: '', version: 'v1', resource });
const create = { operation: 'CREATE', resource: core('pods') } as const;
const withSpec = (spec: object): UnstructuredObject => ({ metadata: { name: 'x' }, spec });

/** Returns the spec after the plug-in has changed it. */
async function admitted(plugin: AdmissionPlugin, changes: Partial<AdmissionAttributes>): Promise<unknown> {
  const attributes = testAttributes(changes);
  await plugin.admit?.(attributes);
  return (attributes.object as UnstructuredObject).spec;
}
const validated = (plugin: AdmissionPlugin, changes: Partial<AdmissionAttributes>): ReturnType<typeof objection> =>
  objection(() => plugin.validate?.(testAttributes(changes)));

describe('AlwaysPullImages', () => {
  const spec = {
    initContainers: [{ image: 'i', imagePullPolicy: 'Never' }],
    containers: [{ image: 'a', imagePullPolicy: 'IfNotPresent' }, { image: 'b' }],
    ephemeralContainers: [{ image: 'e' }],
    volumes: [{ name: 'v', image: { reference: 'r', pullPolicy: 'Never' } }, { name: 'w' }],
  };
  const pulled = {
    initContainers: [{ image: 'i', imagePullPolicy: 'Always' }],
    containers: [
      { image: 'a', imagePullPolicy: 'Always' },
      { image: 'b', imagePullPolicy: 'Always' },
    ],
    ephemeralContainers: [{ image: 'e', imagePullPolicy: 'Always' }],
    volumes: [{ name: 'v', image: { reference: 'r', pullPolicy: 'Always' } }, { name: 'w' }],
  };
  const update = (images: string[]): Partial<AdmissionAttributes> => ({
    resource: core('pods'),
    oldObject: withSpec({ containers: images.map((image) => ({ image })) }),
  });

  it.each<[string, Partial<AdmissionAttributes>, object]>([
    ['of a new pod', create, pulled],
    ['of an update with a new image', update(['i', 'a', 'b']), pulled],
    ['not of an update without one', update(['i', 'a', 'b', 'e', 'gone']), spec],
    ['not of a status', { ...create, subresource: 'status' }, spec],
    ['not of another kind', { ...create, resource: core('configmaps') }, spec],
  ])('pulls every image %s', async (_case, changes, expected) => {
    expect(await admitted(alwaysPullImages, { ...changes, object: withSpec(structuredClone(spec)) })).toEqual(expected);
  });
});

describe('ExtendedResourceToleration', () => {
  const asking = (...names: string[]): object => ({
    resources: { requests: Object.fromEntries(names.map((name) => [name, '1'])) },
  });
  const tolerated = (key: string): object => ({ key, operator: 'Exists', effect: 'NoSchedule' });

  it.each<[object, object[] | undefined]>([
    [{ containers: [asking('cpu', 'hugepages-2Mi', 'kubernetes.io/x', 'requests.a/b')] }, undefined],
    [
      { containers: [asking('z.com/b', 'cpu')], initContainers: [asking('a.com/c', 'z.com/b'), {}] },
      [tolerated('a.com/c'), tolerated('z.com/b')],
    ],
    [{ containers: [asking('a.com/c')], tolerations: [tolerated('a.com/c')] }, [tolerated('a.com/c')]],
    [
      { containers: [asking('a.com/c')], tolerations: [{ key: 'a.com/c', operator: 'Exists' }] },
      [{ key: 'a.com/c', operator: 'Exists' }, tolerated('a.com/c')],
    ],
  ])('%j tolerates the nodes of what it asks for', async (spec, expected) => {
    const after = await admitted(extendedResourceToleration, { ...create, object: withSpec(spec) });
    expect((after as { tolerations?: unknown }).tolerations).toEqual(expected);
  });
});

describe('LimitPodHardAntiAffinityTopology', () => {
  const apart = (...keys: string[]): UnstructuredObject =>
    withSpec({
      affinity: {
        podAntiAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: keys.map((topologyKey) => ({ topologyKey })),
        },
      },
    });
  const text =
    'pods "x" is forbidden: affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey zone but only key kubernetes.io/hostname is allowed';

  it.each<[UnstructuredObject, Partial<AdmissionAttributes>, unknown]>([
    [apart(), create, undefined],
    [apart('kubernetes.io/hostname'), create, undefined],
    [apart('kubernetes.io/hostname', 'zone'), create, [403, text]],
    [apart('zone'), { resource: core('pods') }, [403, text]],
    [apart('zone'), { ...create, subresource: 'status' }, undefined],
    [withSpec({}), create, undefined],
  ])('%#: lets pods keep others off their node alone', async (object, changes, expected) => {
    expect(await validated(limitPodHardAntiAffinityTopology, { ...changes, object })).toEqual(expected);
  });
});

describe('DenyServiceExternalIPs', () => {
  const service = (...externalIPs: string[]): UnstructuredObject => withSpec({ externalIPs });
  const denied = [403, 'services "x" is forbidden: Use of external IPs is denied by admission control'];

  it.each<[string, UnstructuredObject, UnstructuredObject | undefined, unknown]>([
    ['none', withSpec({}), undefined, undefined],
    ['new ones', service('1.1.1.1'), undefined, denied],
    ['those that are there', service('1.1.1.1'), service('2.2.2.2', '1.1.1.1'), undefined],
    ['one more', service('1.1.1.1', '2.2.2.2'), service('1.1.1.1'), denied],
    ['fewer', service(), service('1.1.1.1'), undefined],
  ])('looks at a service with %s', async (_case, object, oldObject, expected) => {
    const operation = oldObject === undefined ? 'CREATE' : 'UPDATE';
    const changes = { resource: core('services'), operation, object, oldObject } as const;
    expect(await validated(denyServiceExternalIPs, changes)).toEqual(expected);
    expect(await validated(denyServiceExternalIPs, { ...changes, subresource: 'status' })).toBeUndefined();
  });
});

it.each(['CREATE', 'UPDATE', 'DELETE'] as const)('AlwaysDeny refuses every %s', async (operation) => {
  const refused = objection(() => alwaysDeny.admit?.(testAttributes({ operation })));
  expect(await refused).toEqual([403, 'configmaps "x" is forbidden: admission control is denying all modifications']);
});

describe('the plug-ins of namespaces', () => {
  let server: AdmissionServer;
  beforeAll(async () => {
    server = new AdmissionServer(await StoreFixture.open(openLmdbEngine));
    await server.start({ enabled: ['NamespaceAutoProvision', 'NamespaceExists', 'AlwaysAdmit'] });
  });
  afterAll(() => server.close());
  const namespace = (name: string): Promise<unknown> =>
    server.store('namespaces').get(testContext({ namespace: '' }), name);

  it('make the namespace of the first object in it, and live with it being there', async () => {
    await server.create('configmaps', { name: 'a', namespace: 'new' });
    await server.create('configmaps', { name: 'b', namespace: 'new' });
    expect(await namespace('new')).toMatchObject({ object: { metadata: { name: 'new' } } });
  });

  it('make none in a dry run, nor for what is in none', async () => {
    const context = testContext({ namespace: 'dry', dryRun: true });
    const error = await refusal(server.store('configmaps').create(context, { metadata: { name: 'a' } }));
    expect([error.code, error.message]).toEqual([404, 'namespaces "dry" not found']);
    await server.create('nodes', { name: 'n', namespace: '' });
    expect((await refusal(namespace('dry'))).code).toBe(404);
    await server.create('namespaces', { name: 'own', namespace: '' });
  });

  it('refuse to touch what is in a namespace that is gone', async () => {
    await server.create('configmaps', { name: 'a', namespace: 'left' });
    const nowhere = testContext({ namespace: '' });
    await server.store('namespaces').delete(nowhere, 'left', {});
    const finish = { name: 'left', transform: (object?: UnstructuredObject) => ({ ...object, finalized: true }) };
    await server.store('namespaces').update(nowhere, finish);
    // The cache has the namespace now.
    await server.store('namespaces').list(nowhere, {});
    const error = await refusal(server.store('configmaps').delete(testContext({ namespace: 'left' }), 'a', {}));
    expect([error.code, error.message]).toEqual([404, 'namespaces "left" not found']);
  });
});
