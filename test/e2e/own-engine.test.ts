// Tests that examples/08-own-engine passes the suite that every engine must pass, and stores an API server's resource.
import { VirtualClock } from '@kapstan/api/testing';
import { InProcessClient, ResourceCatalog, ResourceStack, schemaResource } from '@kapstan/apiserver';
import { engineConformance } from '@kapstan/storage/testing';
import { expect, it } from 'vitest';
import { MapEngine } from '../../examples/08-own-engine/map-engine.ts';

engineConformance('MapEngine', async () => {
  const clock = new VirtualClock();
  const engine = new MapEngine(clock);
  return { engine, elapse: (ms) => clock.advance(ms), dispose: () => engine.close() };
});

it('carries a resource with its watch cache', async () => {
  const engine = new MapEngine();
  const token = { group: 'example.com', version: 'v1', kind: 'Note', plural: 'notes' };
  const stack = new ResourceStack(schemaResource({ ...token, schema: { type: 'object' } }), { engine });
  await stack.waitUntilReady();
  const catalog = new ResourceCatalog();
  catalog.install(stack.served);
  const client = new InProcessClient({ catalog });
  const Note = { ...token, scope: 'Namespaced', apiVersion: 'example.com/v1' } as never;
  await client.create(Note, { metadata: { namespace: 'default', name: 'a' } } as never);
  expect(await client.get(Note, { namespace: 'default', name: 'a' })).toMatchObject({ metadata: { name: 'a' } });
  await stack.close();
  await engine.close();
});
