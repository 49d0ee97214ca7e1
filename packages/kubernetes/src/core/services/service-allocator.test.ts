// Addresses and node ports of services, given out by two servers on one store.
import type { KubernetesObject, StatusError, UnstructuredObject } from '@kapstan/api';
import type { RequestContext, ResourceStore } from '@kapstan/apiserver';
import { ResourceCatalog, ResourceStack } from '@kapstan/apiserver';
import type { StrategySubresource } from '@kapstan/apiserver/internal';
import { refusal, StoreFixture, testContext } from '@kapstan/apiserver/testing';
import type { IPAddress, ServiceCIDR } from '@kapstan/kinds/networking.k8s.io/v1';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { NodePortRegistry } from '../../builtin/node-port-registry.ts';
import { builtinResources } from '../../builtin-resources.ts';
import { ownNodePorts } from './node-ports.ts';

let fixture: StoreFixture;
let stacks: ResourceStack[];
beforeEach(async () => {
  fixture = await StoreFixture.open(openLmdbEngine);
  stacks = [];
});
afterEach(async () => {
  for (const stack of stacks) await stack.close();
  await fixture.close();
});

const served = ['services', 'endpoints', 'ipaddresses', 'servicecidrs'];

/** One server. The servers of a test share the store and, if given, the node ports. */
class TestServer {
  readonly catalog = new ResourceCatalog();

  constructor(nodePorts: NodePortRegistry = ownNodePorts(), random: () => number = () => 0) {
    const definitions = builtinResources({
      clock: fixture.clock,
      findStore: (group, version, resource) => this.catalog.find(group, version, resource)?.store,
      serviceClusterIpRange: '10.0.0.0/27',
      serviceNodePortRange: { first: 30_000, last: 30_009 },
      nodePorts,
      random,
    });
    for (const definition of definitions.filter(({ resource }) => served.includes(resource))) {
      const stack = new ResourceStack(definition, { engine: fixture.engine, clock: fixture.clock, watchCache: false });
      stacks.push(stack);
      this.catalog.install(stack.served);
    }
  }

  get services(): ResourceStore {
    return this.store('', 'services');
  }

  store(group: string, resource: string): ResourceStore {
    return this.catalog.find(group, 'v1', resource)!.store;
  }

  async create(name: string, spec: object = {}, context: RequestContext = testContext()): Promise<Given> {
    const service = { ...object('Service', name), spec: { ports: [{ port: 80 }], ...spec } };
    const { definition, store } = this.catalog.find('', 'v1', 'services')!;
    definition.applyDefaults(service);
    return (await store.create(context, service)).object as unknown as Given;
  }

  /** Changes the service, through the subresource if one is named. */
  async change(name: string, spec: object, subresource = ''): Promise<Given> {
    const { definition, store } = this.catalog.find('', 'v1', 'services')!;
    const part = definition.subresources.find(
      (each): each is StrategySubresource<UnstructuredObject> => each.name === subresource,
    );
    const transform = (present: UnstructuredObject | undefined): UnstructuredObject => {
      const next = structuredClone(present!) as UnstructuredObject;
      Object.assign(next.spec as object, spec);
      return next;
    };
    const strategy = part === undefined ? {} : { strategy: part.strategy, subresource };
    return (await store.update(testContext(), { name, transform, ...strategy })).stored.object as unknown as Given;
  }

  /** Returns the taken addresses with the names of their services. */
  async taken(): Promise<Record<string, string | undefined>> {
    const { items } = await this.store('networking.k8s.io', 'ipaddresses').list(testContext({ namespace: '' }), {});
    return Object.fromEntries(
      items.map(({ object: each }) => [each.metadata?.name, (each as unknown as IPAddress).spec?.parentRef?.name]),
    );
  }

  async addNetwork(name: string, cidr: string, changes: Partial<ServiceCIDR> = {}): Promise<void> {
    const conditions = [{ type: 'Ready', status: 'True', reason: 'x', message: '', lastTransitionTime: '' }];
    const store = this.store('networking.k8s.io', 'servicecidrs');
    const context = testContext({ namespace: '' });
    const network = { ...object('ServiceCIDR', name), ...changes, spec: { cidrs: [cidr] } };
    await store.create(context, network as unknown as UnstructuredObject);
    const { definition } = this.catalog.find('networking.k8s.io', 'v1', 'servicecidrs')!;
    const status = definition.subresources[0] as StrategySubresource<UnstructuredObject>;
    const transform = (present: UnstructuredObject | undefined): UnstructuredObject => ({
      ...(structuredClone(present!) as UnstructuredObject),
      status: changes.status ?? { conditions },
    });
    await store.update(context, { name, transform, strategy: status.strategy, subresource: 'status' });
  }
}

interface Given extends KubernetesObject {
  readonly spec: { readonly clusterIP: string; readonly ports: { readonly nodePort: number }[] };
}

function object(kind: string, name: string): UnstructuredObject {
  const apiVersion = kind === 'ServiceCIDR' ? 'networking.k8s.io/v1' : 'v1';
  return { apiVersion, kind, metadata: { name } };
}

const why = async (promise: Promise<unknown>): Promise<string> => {
  const error: StatusError = await refusal(promise);
  return `${error.code} ${error.message}`;
};

describe('the address of a service', () => {
  it('is an IPAddress of its name, which points to the service', async () => {
    const server = new TestServer();
    expect((await server.create('web')).spec.clusterIP).toBe('10.0.0.17');
    const { object: address } = await server
      .store('networking.k8s.io', 'ipaddresses')
      .get(testContext({ namespace: '' }), '10.0.0.17');
    expect(address).toMatchObject({
      metadata: {
        labels: {
          'ipaddress.kubernetes.io/ip-family': 'IPv4',
          'ipaddress.kubernetes.io/managed-by': 'ipallocator.k8s.io',
        },
      },
    });
    expect(address.spec).toEqual({ parentRef: { resource: 'services', namespace: 'default', name: 'web' } });
  });

  it('is another for each, though two servers begin their search at the same one', async () => {
    const [one, two] = [new TestServer(), new TestServer()];
    const created = await Promise.all([one.create('a'), two.create('b'), one.create('c'), two.create('d')]);
    expect(created.map(({ spec }) => spec.clusterIP).sort()).toEqual([
      '10.0.0.17',
      '10.0.0.18',
      '10.0.0.19',
      '10.0.0.20',
    ]);
  });

  it('is had by one alone of those who ask for it', async () => {
    const [one, two] = [new TestServer(), new TestServer()];
    await one.create('a', { clusterIP: '10.0.0.5' });
    expect(await why(two.create('b', { clusterIP: '10.0.0.5' }))).toBe(
      '422 Service "b" is invalid: spec.clusterIPs: Invalid value: ["10.0.0.5"]: failed to allocate IP 10.0.0.5: provided IP is already allocated',
    );
    expect(await two.taken()).toEqual({ '10.0.0.5': 'a' });
  });

  it('comes from the upper band of the range first, then from the lower, until none is left', async () => {
    const server = new TestServer(undefined, () => 0.5);
    const given: string[] = [];
    for (let made = 0; made < 30; made++) given.push((await server.create(`s${made}`)).spec.clusterIP);
    expect(new Set(given).size).toBe(30);
    expect(given.slice(0, 2)).toEqual(['10.0.0.24', '10.0.0.25']);
    expect(given.slice(13, 16)).toEqual(['10.0.0.23', '10.0.0.9', '10.0.0.10']);
    expect(await why(server.create('late'))).toBe(
      '500 Internal error occurred: failed to allocate a serviceIP for Service "late": range is full',
    );
    await server.services.delete(testContext(), 's3', {});
    expect((await server.create('later')).spec.clusterIP).toBe(given[3]);
  });

  it.each([
    ['the service is deleted', (server: TestServer) => server.services.delete(testContext(), 'web', {})],
    [
      'the service needs none any more',
      (server: TestServer) =>
        server.change('web', { type: 'ExternalName', externalName: 'x.example', clusterIP: '', clusterIPs: undefined }),
    ],
  ])('goes when %s', async (_when, act) => {
    const server = new TestServer();
    await server.create('web');
    await act(server);
    expect(await server.taken()).toEqual({});
  });

  it.each([
    ['a create that is refused', (server: TestServer) => server.create('b', { sessionAffinity: 'Foo' })],
    ['a create under a name that is there', (server: TestServer) => server.create('a')],
    [
      'a change that is refused',
      (server: TestServer) =>
        server.change('external', { type: 'ClusterIP', externalName: undefined, sessionAffinity: 'Foo' }),
    ],
  ])('is not kept by %s', async (_what, act) => {
    const server = new TestServer();
    const { spec } = await server.create('a');
    await server.create('external', { type: 'ExternalName', externalName: 'x.example' });
    await refusal(act(server));
    expect(await server.taken()).toEqual({ [spec.clusterIP]: 'a' });
  });

  it('is not looked at by a write of the status', async () => {
    const server = new TestServer();
    const { spec } = await server.create('a', { type: 'NodePort' });
    const changed = await server.change('a', { clusterIP: '10.0.0.9', clusterIPs: ['10.0.0.9'] }, 'status');
    expect(changed.spec).toEqual(spec);
    expect(await server.taken()).toEqual({ [spec.clusterIP]: 'a' });
  });

  it('takes the endpoints of a deleted service along', async () => {
    const server = new TestServer();
    await server.create('a');
    await server.store('', 'endpoints').create(testContext(), object('Endpoints', 'a'));
    await server.services.delete(testContext(), 'a', {});
    expect((await refusal(server.store('', 'endpoints').get(testContext(), 'a'))).code).toBe(404);
  });
});

describe('a dry run', () => {
  const dry = testContext({ dryRun: true });

  it('takes nothing and does not know what is taken', async () => {
    const server = new TestServer();
    await server.create('a', { clusterIP: '10.0.0.5' });
    const { spec } = await server.create('b', { type: 'NodePort' }, dry);
    expect([spec.clusterIP, spec.ports[0]?.nodePort]).toEqual(['10.0.0.0', 30_000]);
    await server.create('c', { clusterIP: '10.0.0.5' }, dry);
    await server.services.delete(dry, 'a', {});
    expect(await server.taken()).toEqual({ '10.0.0.5': 'a' });
    expect((await server.create('d', { type: 'NodePort' })).spec.ports[0]?.nodePort).toBe(30_000);
  });

  it('knows the range', async () => {
    expect(await why(new TestServer().create('a', { clusterIP: '10.0.1.5' }, dry))).toBe(
      '422 Service "a" is invalid: spec.clusterIPs: Invalid value: ["10.0.1.5"]: failed to allocate IP 10.0.1.5: the provided IP (10.0.1.5) is not in the valid range. The range of valid IPs is 10.0.0.0/27',
    );
  });
});

describe('the networks of services', () => {
  const mismatch = 'the provided network does not match the current range';

  it('are those of all ServiceCIDRs that are ready', async () => {
    const server = new TestServer();
    await server.addNetwork('kubernetes', '10.0.0.0/30');
    await server.addNetwork('more', '10.9.0.0/30');
    await server.addNetwork('six', 'fd00::/112');
    const given = [];
    for (let made = 0; made < 4; made++) given.push((await server.create(`s${made}`)).spec.clusterIP);
    expect(given).toEqual(['10.0.0.1', '10.0.0.2', '10.9.0.1', '10.9.0.2']);
    expect(await why(server.create('late'))).toContain('range is full');
  });

  it('are not those of a ServiceCIDR that is not ready', async () => {
    const server = new TestServer();
    await server.addNetwork('more', '10.9.0.0/24', { status: { conditions: [] } });
    expect(await why(server.create('a', { clusterIP: '10.9.0.5' }))).toContain(mismatch);
  });

  it('are those of a ServiceCIDR that is being deleted no more', async () => {
    const server = new TestServer();
    await server.addNetwork('more', '10.9.0.0/24', { metadata: { name: 'more', finalizers: ['x.io/y'] } });
    await server.create('a', { clusterIP: '10.9.0.5' });
    const context = testContext({ namespace: '' });
    await server.store('networking.k8s.io', 'servicecidrs').delete(context, 'more', {});
    expect(await why(server.create('b', { clusterIP: '10.9.0.6' }))).toContain(mismatch);
  });

  it('hold the own range of the server only until its ServiceCIDR says another', async () => {
    const server = new TestServer();
    await server.create('a', { clusterIP: '10.0.0.5' });
    await server.addNetwork('kubernetes', '10.9.0.0/24');
    expect(await why(server.create('b', { clusterIP: '10.0.0.6' }))).toContain(mismatch);
    await server.create('c', { clusterIP: '10.9.0.6' });
  });

  it.each(['10.0.0.0', '10.0.0.31', '10.0.0.32'])('do not give out %s', async (clusterIP) => {
    expect(await why(new TestServer().create('a', { clusterIP }))).toContain(mismatch);
  });
});
