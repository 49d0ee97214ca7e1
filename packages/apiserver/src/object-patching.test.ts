import type { KubernetesObject } from '@kapstan/api';
import { type TestConfigMap, testConfigMaps } from '@kapstan/api/testing';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FieldManager } from './fieldmanager/field-manager.ts';
import { objectPatching } from './object-patching.ts';
import { InProcessClient } from './registry/client/in-process-client.ts';
import { ResourceCatalog } from './registry/definition/catalog.ts';
import { ResourceStack } from './registry/store/resource-stack.ts';
import { factDefinitions } from './testing/fact-kinds.ts';
import { refusal, StoreFixture } from './testing/store-fixture.ts';

let fixture: StoreFixture;
let stack: ResourceStack;
let client: InProcessClient;
beforeEach(async () => {
  fixture = await StoreFixture.open(openLmdbEngine);
  const { clock, engine } = fixture;
  const managedFields = new FieldManager({ clock });
  const definition = factDefinitions().find(({ resource }) => resource === 'configmaps');
  if (definition === undefined) throw new Error('no configmaps');
  stack = new ResourceStack(definition, { engine, clock, managedFields, freeze: true });
  const catalog = new ResourceCatalog();
  catalog.install(stack.served);
  await stack.waitUntilReady();
  client = new InProcessClient({ catalog, clock, patching: objectPatching(managedFields) });
});
afterEach(async () => {
  await stack.close();
  await fixture.close();
});

const target = { name: 'a', namespace: 'default' };
const configMap = (data: Record<string, string>): TestConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { ...target },
  data,
});
const managers = ({ metadata }: KubernetesObject) =>
  (metadata?.managedFields ?? []).map(({ manager, operation, fieldsV1 }) => [manager, operation, fieldsV1]);

describe('patches in process', () => {
  it.each([
    [{ type: 'merge', body: { data: { a: null, b: '2' } } }, { b: '2' }],
    [
      { type: 'strategic', body: { data: { b: '2' } } },
      { a: '1', b: '2' },
    ],
    [{ type: 'json', body: [{ op: 'replace', path: '/data/a', value: '3' }] }, { a: '3' }],
  ] as const)('%j', async (patch, data) => {
    await client.create(testConfigMaps, configMap({ a: '1' }), { fieldManager: 'maker' });
    const patched = await client.patch(testConfigMaps, target, patch, { fieldManager: 'patcher' });
    expect(patched.data).toEqual(data);
    expect(managers(patched).map(([manager]) => manager)).toContain('patcher');
  });

  it('are refused as over HTTP', async () => {
    await client.create(testConfigMaps, configMap({ a: '1' }));
    const error = await refusal(client.patch(testConfigMaps, target, { type: 'merge', body: { data: { a: 1 } } }));
    expect([error.code, error.reason]).toEqual([422, 'Invalid']);
  });
});

describe('server-side apply in process', () => {
  it('creates, shares, conflicts and takes over', async () => {
    const one = await client.apply(testConfigMaps, configMap({ a: '1' }), { fieldManager: 'one' });
    expect(managers(one)).toEqual([['one', 'Apply', { 'f:data': { 'f:a': {} } }]]);
    const same = await client.apply(testConfigMaps, configMap({ a: '1' }), { fieldManager: 'one' });
    expect(same.metadata?.resourceVersion).toBe(one.metadata?.resourceVersion);
    const two = client.apply(testConfigMaps, configMap({ a: '2' }), { fieldManager: 'two' });
    expect((await refusal(two)).message).toBe('Apply failed with 1 conflict: conflict with "one": .data.a');
    const forced = await client.apply(testConfigMaps, configMap({ a: '2' }), { fieldManager: 'two', force: true });
    expect(forced.data).toEqual({ a: '2' });
    expect(managers(forced)).toEqual([['two', 'Apply', { 'f:data': { 'f:a': {} } }]]);
  });

  it('of an object with a uid makes none', async () => {
    const sent = { ...configMap({ a: '1' }), metadata: { ...target, uid: 'x' } };
    const error = await refusal(client.apply(testConfigMaps, sent, { fieldManager: 'one' }));
    expect(error.status).toMatchObject({
      code: 409,
      reason: 'Conflict',
      message:
        'Operation cannot be fulfilled on configmaps "a": uid mismatch: the provided object specified uid x, and no existing object was found',
      details: { name: 'a', kind: 'configmaps' },
    });
    expect((await refusal(client.get(testConfigMaps, target))).code).toBe(404);
  });
});

describe('an update with an empty list of managedFields', () => {
  const emptied = { ...configMap({ a: '2' }), metadata: { ...target, managedFields: [] } };
  const create = () => client.create(testConfigMaps, configMap({ a: '1' }), { fieldManager: 'maker' });

  it('ends the tracking of the object', async () => {
    expect(managers(await create())).toHaveLength(1);
    expect((await client.update(testConfigMaps, emptied)).metadata?.managedFields).toBeUndefined();
    const later = await client.update(testConfigMaps, configMap({ a: '3' }));
    expect(later.metadata?.managedFields).toBeUndefined();
  });

  it('does so as a patch', async () => {
    await create();
    const patch = { type: 'merge', body: { metadata: { managedFields: [] } } } as const;
    expect((await client.patch(testConfigMaps, target, patch)).metadata?.managedFields).toBeUndefined();
  });

  it('does not as a create', async () => {
    expect(managers(await client.create(testConfigMaps, emptied))).toHaveLength(1);
  });
});
