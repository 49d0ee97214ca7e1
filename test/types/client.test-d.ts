// Tests the types of @kapstan/client: its verbs, streams and configuration.
import {
  type DeepReadonly,
  type ListResult,
  type Resource,
  type ResourceClient,
  resource,
  type WatchEvent,
} from '@kapstan/api';
import {
  type Client,
  type ConnectOptions,
  connect,
  createToken,
  evict,
  getScale,
  isTransportError,
} from '@kapstan/client';
import { ConfigMap, type Pod } from '@kapstan/kinds/core/v1';
import type { Observable } from 'rxjs';
import { describe, expectTypeOf, it } from 'vitest';

declare const client: Client;
const at = { namespace: 'default', name: 'a' };

describe('verbs', () => {
  it('give the objects of their resource', () => {
    expectTypeOf(client.get(ConfigMap, at)).resolves.toEqualTypeOf<ConfigMap>();
    expectTypeOf(client.create(ConfigMap, { metadata: at })).resolves.toEqualTypeOf<ConfigMap>();
    expectTypeOf(client.update(ConfigMap, { metadata: at })).resolves.toEqualTypeOf<ConfigMap>();
    expectTypeOf(client.delete(ConfigMap, at)).resolves.toEqualTypeOf<ConfigMap | undefined>();
    expectTypeOf(client.listPage(ConfigMap)).resolves.toEqualTypeOf<ListResult<ConfigMap>>();
  });

  it('take objects of their resource alone', () => {
    // @ts-expect-error: a ConfigMap holds texts
    client.create(ConfigMap, { metadata: at, data: { a: 1 } });
    // @ts-expect-error: a ConfigMap has no spec
    client.update(ConfigMap, { metadata: at, spec: {} });
    // @ts-expect-error: whoever applies has a name
    client.apply(ConfigMap, { metadata: at });
  });

  it('take options by their names', () => {
    client.create(ConfigMap, { metadata: at }, { dryRun: true, fieldManager: 'me', timeoutMs: 5 });
    // @ts-expect-error: there is no such option
    client.create(ConfigMap, { metadata: at }, { dryrun: true });
    // @ts-expect-error: milliseconds are a number
    client.get(ConfigMap, at, { timeoutMs: '5s' });
    // @ts-expect-error: three words are known
    client.delete(ConfigMap, at, { propagationPolicy: 'Later' });
  });

  it('list as a whole, or one by one', async () => {
    expectTypeOf(await client.list(ConfigMap)).toEqualTypeOf<DeepReadonly<ConfigMap>[]>();
    for await (const map of client.list(ConfigMap)) expectTypeOf(map).toEqualTypeOf<DeepReadonly<ConfigMap>>();
  });

  it('take a resource whose objects nobody knows', () => {
    const any: Resource = ConfigMap;
    expectTypeOf(client.get(any, at)).resolves.toHaveProperty('metadata');
    expectTypeOf(
      client.get(resource<Pod>({ group: '', version: 'v1', kind: 'Pod' }), at),
    ).resolves.toEqualTypeOf<Pod>();
  });
});

describe('patches', () => {
  it('say their format, and take options as other verbs do', () => {
    expectTypeOf(client.patch(ConfigMap, at, { type: 'merge', body: {} })).resolves.toEqualTypeOf<ConfigMap>();
    client.patch(ConfigMap, at, { type: 'merge', body: {} }, { dryRun: true, subresource: 'status' });
    expectTypeOf(client.jsonPatch(ConfigMap, at, [], { fieldManager: 'me' })).resolves.toEqualTypeOf<ConfigMap>();
    // @ts-expect-error: options are the argument after it
    client.patch(ConfigMap, at, { type: 'merge', body: {}, dryRun: true });
    // @ts-expect-error: there are three formats
    client.patch(ConfigMap, at, { type: 'yaml', body: {} });
    // @ts-expect-error: a JSON patch is a list
    client.patch(ConfigMap, at, { type: 'json', body: {} });
  });
});

describe('streams', () => {
  it('are observables, or iterables that pause the socket', () => {
    expectTypeOf(client.watch(ConfigMap)).toEqualTypeOf<Observable<WatchEvent<ConfigMap>>>();
    expectTypeOf(client.watchEvents(ConfigMap)).toEqualTypeOf<AsyncGenerator<WatchEvent<ConfigMap>, void, undefined>>();
  });
});

describe('a client', () => {
  it('is a resource client, from the first call on', () => {
    expectTypeOf<Client>().toExtend<ResourceClient>();
    expectTypeOf(connect).returns.resolves.toEqualTypeOf<Client>();
    expectTypeOf<ConnectOptions['kubeconfig']>().toEqualTypeOf<string | undefined>();
    expectTypeOf<Client>().toExtend<AsyncDisposable>();
  });

  it('is enough for the subresources', () => {
    expectTypeOf(evict).parameter(0).toExtend<Pick<ResourceClient, 'createSubresource'>>();
    expectTypeOf(getScale).toBeFunction();
    expectTypeOf(createToken).toBeFunction();
    expectTypeOf(isTransportError).parameter(0).toEqualTypeOf<unknown>();
  });
});
