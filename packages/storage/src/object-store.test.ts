import { everyField, everyLabel, type KubernetesObject } from '@kapstan/api';
import { expect, test } from 'vitest';
import { jsonCodec } from './codec.ts';
import { ObjectStore } from './object-store.ts';
import { defaultAttributes, type SelectionPredicate } from './selection-predicate.ts';
import { jsonEncoding } from './stored.ts';
import { MemoryEngine } from './testing/memory-engine.ts';

const everything: SelectionPredicate<KubernetesObject> = {
  labels: everyLabel,
  fields: everyField,
  getAttributes: defaultAttributes(true),
  limit: 0,
  continue: '',
  allowWatchBookmarks: false,
};

function open() {
  const engine = new MemoryEngine();
  const groupResource = { group: '', resource: 'pods' };
  return new ObjectStore({ engine, codec: jsonCodec(), resourcePrefix: '/pods', groupResource, freeze: true });
}

test('an object comes back as it was written, with its version', async () => {
  const store = open();
  const key = '/registry/pods/a/web';
  const created = await store.create(key, { kind: 'Pod', metadata: { name: 'web', namespace: 'a' } });
  expect(created.object.metadata?.resourceVersion).toBe('2');
  expect(Buffer.from(created.encoded(jsonEncoding)).toString()).toBe(
    '{"kind":"Pod","metadata":{"resourceVersion":"2","name":"web","namespace":"a"}}',
  );
  const list = await store.getList('/registry/pods', { predicate: everything, recursive: true });
  expect(list.items.map((item) => item.object)).toEqual([created.object]);
  expect(list.resourceVersion).toBe('2');
});
