import type { ManagedFieldsEntry } from '@kapstan/api/internal';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AdmissionControl } from '../registry/store/admission-control.ts';
import { configMap, StoreFixture, testContext } from '../testing/store-fixture.ts';
import { FieldManager } from './field-manager.ts';

const time = '2026-01-01T00:00:00Z';
const good: ManagedFieldsEntry = {
  manager: 'admitted',
  operation: 'Apply',
  apiVersion: 'v1',
  time,
  fieldsType: 'FieldsV1',
  fieldsV1: { 'f:metadata': { 'f:labels': { 'f:test-label': {} } } },
};
const { apiVersion: _, ...versionless } = good;

let fixture: StoreFixture;
beforeEach(async () => {
  fixture = await StoreFixture.open(openLmdbEngine);
});
afterEach(() => fixture.close());

/** Makes a store whose admission leaves these entries on every object. */
function storeLeaving(entries: readonly unknown[]) {
  const admission: AdmissionControl = {
    admit: async ({ object }) => {
      if (object !== undefined)
        object.metadata = { ...object.metadata, managedFields: entries as ManagedFieldsEntry[] };
    },
    validates: () => false,
    validate: async () => undefined,
  };
  return fixture.store({}, { admission, managedFields: new FieldManager({ clock: fixture.clock }) });
}

describe('managed fields that an admission has made unreadable', () => {
  it.each([
    ['without a version', versionless, 'apiVersion must not be empty'],
    ['of an unknown operation', { ...good, operation: 'invalid operation' }, 'operation must be `Apply` or `Update`'],
    [
      'of an unknown type',
      { ...good, fieldsType: 'invalid' },
      'invalid fieldsType "invalid" in managed fields entry 0',
    ],
    ['with fields that are none', { ...good, fieldsV1: { invalid: {} } }, 'unknown path element invalid'],
  ])('are those from before it again, with a warning: %s', async (_what, entry, why) => {
    const store = storeLeaving([entry]);
    const context = testContext({ fieldManager: 'writer' });
    const created = await store.create(context, configMap('a', { data: { k: '1' } }));
    const tracked = created.object.metadata?.managedFields ?? [];
    expect(tracked.map(({ manager, operation }) => [manager, operation])).toEqual([['writer', 'Update']]);
    expect(context.warnings).toEqual([
      `.metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating admission controller; please fix your requests: ${why}`,
    ]);
    const { stored } = await store.update(context, {
      name: 'a',
      transform: () =>
        configMap('a', { data: { k: '2' }, metadata: { managedFields: tracked as ManagedFieldsEntry[] } }),
    });
    expect(stored.object.metadata?.managedFields?.map(({ manager }) => manager)).toEqual(['writer']);
    expect(context.warnings).toHaveLength(2);
  });
});

it.each([
  ['of another manager', good, 'admitted'],
  ['of no manager', { ...good, manager: '' }, ''],
])('managed fields that an admission has changed are kept: %s', async (_what, entry, manager) => {
  const context = testContext({ fieldManager: 'writer' });
  const { object } = await storeLeaving([entry]).create(context, configMap('a'));
  expect(object.metadata?.managedFields?.map((kept) => kept.manager ?? '')).toEqual([manager]);
  expect(context.warnings).toEqual([]);
});
