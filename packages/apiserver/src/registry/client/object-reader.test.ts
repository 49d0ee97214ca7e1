import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { configMap, StoreFixture, testContext, testDefinition } from '../../testing/store-fixture.ts';
import { ResourceCatalog } from '../definition/catalog.ts';
import { ObjectReader } from './object-reader.ts';

let fixture: StoreFixture;
beforeEach(async () => {
  fixture = await StoreFixture.open(openLmdbEngine);
});
afterEach(() => fixture.close());

describe('a look of the server at one object', () => {
  it('finds it, or nothing, without an error that is made for nobody', async () => {
    const store = fixture.store();
    await store.create(testContext(), configMap('a'));
    const get = vi.spyOn(store, 'get');
    const catalog = new ResourceCatalog();
    catalog.install({ definition: testDefinition(), store });
    const reader = new ObjectReader(catalog);
    const configMaps = { group: '', version: 'v1', resource: 'configmaps' };
    const find = (name: string) => reader.get(configMaps, { namespace: 'default', name }, 'live');
    expect((await find('a'))?.metadata?.name).toBe('a');
    expect(await find('b')).toBeUndefined();
    expect(get).not.toHaveBeenCalled();
    expect(await reader.get({ ...configMaps, resource: 'none' }, { namespace: '', name: 'a' }, 'live')).toBeUndefined();
  });
});
