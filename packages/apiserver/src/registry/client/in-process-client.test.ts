import { type KubernetesObject, resource, type UnstructuredObject, type WatchEvent } from '@kapstan/api';
import { notFound } from '@kapstan/api/errors';
import type { SlicedWork } from '@kapstan/api/internal';
import { listWatchConformance, type TestConfigMap, testConfigMaps } from '@kapstan/api/testing';
import type { Engine } from '@kapstan/storage';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { refusal, StoreFixture, testDefinition, unconditionalStrategy } from '../../testing/store-fixture.ts';
import { ResourceCatalog } from '../definition/catalog.ts';
import type { Subresource } from '../definition/resource-definition.ts';
import type { AdmissionControl } from '../store/admission-control.ts';
import { ResourceStack } from '../store/resource-stack.ts';
import { InProcessClient, type InProcessClientOptions } from './in-process-client.ts';
import type { ObjectPatching } from './object-writes.ts';

/** ConfigMaps over the embedded engine, with a client. */
async function open(options: {
  readonly watchCache: boolean;
  readonly admission?: AdmissionControl;
  readonly definition?: Parameters<typeof testDefinition>[0];
}) {
  const fixture = await StoreFixture.open(openLmdbEngine);
  const { engine } = fixture;
  const definition = testDefinition({ schema: { preserveUnknownFields: true }, ...options.definition });
  const { watchCache, admission } = options;
  const stack = new ResourceStack(definition, { engine, watchCache, freeze: true, ...(admission && { admission }) });
  await stack.waitUntilReady();
  const catalog = new ResourceCatalog();
  catalog.install(stack.served);
  const client = (more: Partial<InProcessClientOptions> = {}) => new InProcessClient({ catalog, ...more });
  const close = async (): Promise<void> => {
    await stack.close();
    await fixture.close();
  };
  return { catalog, client, close, engine, clock: fixture.clock };
}

const fixtureOver = (watchCache: boolean) => async () => {
  const { client, close, engine } = await open({ watchCache });
  const writer = client();
  return {
    listerWatcher: writer.listerWatcher(testConfigMaps, { namespace: 'default' }),
    create: async (object: TestConfigMap) => void (await writer.create(testConfigMaps, object)),
    update: async (object: TestConfigMap) => void (await writer.update(testConfigMaps, object)),
    delete: async (name: string) => void (await writer.delete(testConfigMaps, { name, namespace: 'default' })),
    ...(watchCache ? {} : { compact: () => compactNow(engine) }),
    close,
  };
};

async function compactNow(engine: Engine): Promise<void> {
  await engine.compact(await engine.currentRevision());
}

await listWatchConformance('in process, from the cache', fixtureOver(true));
await listWatchConformance('in process, from storage', fixtureOver(false));

describe('the in-process client', () => {
  let server: Awaited<ReturnType<typeof open>>;
  const status: Subresource<UnstructuredObject> = {
    type: 'strategy',
    name: 'status',
    verbs: ['get', 'update', 'patch'],
    strategy: {
      ...unconditionalStrategy,
      prepareForUpdate: (next, old) => {
        next.data = structuredClone(old.data);
      },
    },
  };
  const scale: Subresource<UnstructuredObject> = {
    type: 'object',
    name: 'scale',
    kind: { group: 'autoscaling', version: 'v1', kind: 'Scale' },
    verbs: ['get', 'create', 'update', 'patch'],
    get: async (store, context, name) => scaleOf((await store.get(context, name)).object as UnstructuredObject),
    create: async (_store, _context, { name, body, validate }) => {
      await validate();
      return { ...body, metadata: { name } };
    },
    update: async (store, context, { name, change }) => {
      const transform = async (present?: UnstructuredObject): Promise<UnstructuredObject> => {
        const next = await change(scaleOf(present as UnstructuredObject));
        return { ...(present as UnstructuredObject), replicas: (next.spec as { replicas: number }).replicas };
      };
      return scaleOf((await store.update(context, { name, transform })).stored.object as UnstructuredObject);
    },
  };
  const scaleOf = (object: UnstructuredObject): UnstructuredObject => ({
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: { ...object.metadata },
    spec: { replicas: object.replicas ?? 0 },
  });
  const patching: ObjectPatching = {
    prepare: ({ type, body, force }, { context, definition, name }) => {
      const sent = JSON.parse(Buffer.from(body).toString()) as UnstructuredObject;
      // biome-ignore lint/correctness/useYield: this patch is done in one slice.
      return function* (present): SlicedWork<UnstructuredObject> {
        if (type !== 'apply') {
          if (present === undefined) throw notFound(definition, name);
          return { ...present, ...sent } as UnstructuredObject;
        }
        const manager = `${context.fieldManager}${force ? '!' : ''}`;
        const metadata = { ...present?.metadata, ...sent.metadata, managedFields: [{ manager, operation: 'Apply' }] };
        return { ...present, ...sent, metadata } as UnstructuredObject;
      };
    },
  };
  const named = (name: string, more: object = {}): TestConfigMap => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: 'default' },
    ...more,
  });
  const target = { name: 'a', namespace: 'default' };

  beforeEach(async () => {
    server = await open({ watchCache: true, definition: { subresources: [status, scale] } });
  });
  afterEach(() => server.close());

  it('asks admission for what is created through a part', async () => {
    const asked: string[] = [];
    const note =
      (step: string): AdmissionControl['admit'] =>
      async ({ operation, resource, subresource, name, kind }) =>
        void asked.push([step, operation, resource.resource, subresource, name, kind.kind].join(' '));
    const admission = { admit: note('admit'), validate: note('validate'), validates: () => true };
    const admitting = await open({ watchCache: false, admission, definition: { subresources: [scale] } });
    await admitting.client().createSubresource(testConfigMaps, { ...target, subresource: 'scale' }, { body: {} });
    await admitting.close();
    expect(asked).toEqual(['admit CREATE configmaps scale a Scale', 'validate CREATE configmaps scale a Scale']);
  });

  it('creates, reads, updates and deletes', async () => {
    const client = server.client();
    const created = await client.create(testConfigMaps, named('a', { data: { k: '1' } }));
    expect(created.metadata?.uid).toBeDefined();
    created.data = { k: '2' };
    const updated = await client.update(testConfigMaps, created);
    expect((await client.get(testConfigMaps, target)).data).toEqual({ k: '2' });
    const stale = await refusal(client.update(testConfigMaps, created));
    expect(stale.reason).toBe('Conflict');
    const other = { ...updated, metadata: { ...updated.metadata, uid: 'x' } };
    expect((await refusal(client.update(testConfigMaps, other))).message).toContain('UID in precondition: x');
    expect(await client.delete(testConfigMaps, target)).toBeUndefined();
    expect((await refusal(client.get(testConfigMaps, target))).code).toBe(404);
  });

  it('takes nothing that the caller may change later, and gives nothing that it may not', async () => {
    const client = server.client();
    const mine = named('a', { data: { k: '1' } });
    const answer = await client.create(testConfigMaps, mine);
    mine.data = { k: 'changed' };
    answer.data = { k: 'changed' };
    const read = await client.get(testConfigMaps, target);
    read.data = { k: 'changed' };
    expect((await client.get(testConfigMaps, target)).data).toEqual({ k: '1' });
  });

  it('hands its watchers the very objects of the cache', async () => {
    const client = server.client();
    const seen: WatchEvent<TestConfigMap>[][] = [[], []];
    const source = client.listerWatcher(testConfigMaps, {});
    const subscriptions = seen.map((events) => source.watch({ resourceVersion: '0' }).subscribe((e) => events.push(e)));
    await client.create(testConfigMaps, named('a'));
    await client.listPage(testConfigMaps, {});
    const { items } = await source.list({ resourceVersion: '0' });
    for (const [event] of seen) expect(event?.type === 'ADDED' && event.object).toBe(items[0]);
    for (const subscription of subscriptions) subscription.unsubscribe();
  });

  it('ends a watch after its time, and when its signal says so', async () => {
    const client = server.client({ clock: server.clock });
    const ends: unknown[] = [];
    const watch = (options: object) =>
      client
        .listerWatcher(testConfigMaps)
        .watch({ resourceVersion: '0', ...options })
        .subscribe({ error: (error) => ends.push(error), complete: () => ends.push('complete') });
    watch({ timeoutSeconds: 10 });
    const abort = new AbortController();
    watch({ signal: abort.signal });
    abort.abort('enough');
    expect(ends).toEqual(['enough']);
    await server.clock.advance(10_000);
    expect(ends).toEqual(['enough', 'complete']);
  });

  it('does not leave the namespace it was made for', async () => {
    const scoped = server.client().listerWatcher(testConfigMaps, { namespace: 'default' });
    await server.client().create(testConfigMaps, named('a'));
    expect((await scoped.list({})).items).toHaveLength(1);
    expect((await refusal(scoped.list({ namespace: 'other' }))).code).toBe(403);
  });

  it('refuses patches and applies when it was not given how', async () => {
    const client = server.client();
    const patch = await refusal(client.patch(testConfigMaps, target, { type: 'merge', body: {} }));
    const apply = await refusal(client.apply(testConfigMaps, named('a'), { fieldManager: 'm' }));
    expect([patch.code, apply.code]).toEqual([501, 501]);
  });

  it('patches, and applies what need not exist', async () => {
    const client = server.client({ patching });
    const missing = await refusal(client.patch(testConfigMaps, target, { type: 'merge', body: {} }));
    expect(missing.message).toBe('configmaps "a" not found');
    const applied = await client.apply(testConfigMaps, named('a', { data: { k: '1' } }), {
      fieldManager: 'm',
      force: true,
      owner: { apiVersion: 'v1', kind: 'Pod', name: 'o', uid: 'u' },
    });
    expect(applied.metadata).toMatchObject({
      managedFields: [{ manager: 'm!', operation: 'Apply' }],
      ownerReferences: [{ name: 'o' }],
    });
    const patched = await client.patch(testConfigMaps, target, { type: 'merge', body: { data: { k: '2' } } });
    expect(patched.data).toEqual({ k: '2' });
  });

  it('updates through subresources', async () => {
    const client = server.client({ patching });
    const created = await client.create(testConfigMaps, named('a', { data: { k: '1' } }));
    const changed = { ...created, data: { k: 'no' }, status: 'yes' } as TestConfigMap;
    const updated = await client.update(testConfigMaps, changed, { subresource: 'status' });
    expect(updated).toMatchObject({ data: { k: '1' }, status: 'yes' });
    const scaled = resource<KubernetesObject>({ group: '', version: 'v1', kind: 'ConfigMap' });
    const body = { metadata: { ...target }, spec: { replicas: 3 } };
    expect(await client.update(scaled, body, { subresource: 'scale' })).toMatchObject({
      kind: 'Scale',
      spec: { replicas: 3 },
    });
    const patch = { type: 'merge', body: { spec: { replicas: 4 } } } as const;
    expect(await client.patch(scaled, target, patch, { subresource: 'scale' })).toMatchObject({
      spec: { replicas: 4 },
    });
    expect(await client.get(scaled, target, { subresource: 'scale' })).toMatchObject({ spec: { replicas: 4 } });
    const posted = await client.createSubresource(
      scaled,
      { ...target, subresource: 'scale' },
      { body: { kind: 'Scale' } },
    );
    expect(posted.metadata?.name).toBe('a');
    const unknown = await refusal(client.get(scaled, target, { subresource: 'nothing' }));
    expect([unknown.code, unknown.message]).toEqual([404, 'the server could not find the requested resource']);
    const notAllowed = await refusal(
      client.createSubresource(scaled, { ...target, subresource: 'status' }, { body: { kind: 'x' } }),
    );
    expect(notAllowed.code).toBe(405);
  });

  it('reports each write to its observer, except dry runs', async () => {
    const writes: string[] = [];
    const observer = {
      observeWrite: (
        token: { plural: string },
        { namespace, name }: { namespace: string; name: string },
        version: string,
      ) => void writes.push(`${token.plural} ${namespace}/${name} ${Number(version) > 0}`),
    };
    const client = server.client({ observer });
    await client.create(testConfigMaps, named('a'), { dryRun: true });
    await client.create(testConfigMaps, named('a'));
    await client.update(testConfigMaps, named('a', { data: { k: '1' } }));
    await client.delete(testConfigMaps, target);
    expect(writes).toEqual(Array(3).fill('configmaps default/a true'));
  });

  it('answers a delete with the object that stays, and deletes collections', async () => {
    const client = server.client();
    const held = named('a');
    held.metadata = { ...held.metadata, finalizers: ['x.io/f'] };
    await client.create(testConfigMaps, held);
    const answer = await client.delete(testConfigMaps, target, { propagationPolicy: 'Background' });
    expect(answer?.metadata?.deletionTimestamp).toBeDefined();
    await client.create(testConfigMaps, named('b'));
    await client.deleteCollection(testConfigMaps, { namespace: 'default', fieldSelector: 'metadata.name=b' });
    const { items } = await client.listPage(testConfigMaps, { namespace: 'default' });
    expect(items.map((item) => item.metadata?.name)).toEqual(['a']);
  });

  it('answers 404 for a resource that is not served', async () => {
    const client = server.client();
    const nothing = resource({ group: 'x.io', version: 'v1', kind: 'Nothing' });
    expect((await refusal(client.get(nothing, target))).message).toBe(
      'the server could not find the requested resource',
    );
  });

  it('refuses a call on one object that names none, as over HTTP', async () => {
    const client = server.client({ patching });
    await client.create(testConfigMaps, named('a'));
    const body = { kind: 'Scale' };
    const calls: ((wrong: never) => Promise<unknown>)[] = [
      (wrong) => client.get(testConfigMaps, wrong),
      (wrong) => client.delete(testConfigMaps, wrong),
      (wrong) => client.patch(testConfigMaps, wrong, { type: 'merge', body: {} }),
      (wrong) => client.update(testConfigMaps, { metadata: wrong }),
      (wrong) => client.apply(testConfigMaps, { metadata: wrong }, { fieldManager: 'm' }),
      (wrong: object) =>
        client.createSubresource(testConfigMaps, { name: '', ...wrong, subresource: 'scale' }, { body }),
    ];
    const message = expect.stringMatching(
      /name (is required|may not be empty|must be provided|must be a string)|must be an object/,
    );
    for (const call of calls) {
      for (const name of [undefined, null, '', 5])
        await expect(call({ namespace: 'default', name } as never)).rejects.toMatchObject({
          name: 'TypeError',
          message,
        });
      for (const wrong of ['a', undefined, null, {}])
        await expect(call(wrong as never)).rejects.toMatchObject({ name: 'TypeError', message });
    }
    const all = client.deleteCollection(testConfigMaps, 'a' as never);
    await expect(all).rejects.toMatchObject({ name: 'TypeError', message });
    const nothing = client.create(testConfigMaps, undefined as never);
    await expect(nothing).rejects.toMatchObject({ name: 'TypeError', message });
    expect((await client.listPage(testConfigMaps)).items).toHaveLength(1);
  });
});
