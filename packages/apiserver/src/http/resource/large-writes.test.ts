// Large objects are written in several turns of the event loop, so that no turn has all the work.
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { ServedResource } from '../../registry/definition/catalog.ts';
import type { RequestContext } from '../../registry/definition/request-context.ts';
import { startTestServer, type TestServer } from '../../testing/api-server-fixture.ts';
import { factDefinitions } from '../../testing/fact-kinds.ts';
import { configMap, StoreFixture, testContext, unconditionalStrategy } from '../../testing/store-fixture.ts';

let server: TestServer;
beforeEach(async () => {
  const definitions = factDefinitions().filter(({ resource }) => resource === 'configmaps');
  server = await startTestServer(openLmdbEngine, { definitions });
});
afterEach(() => server.close());

const configMaps = '/api/v1/namespaces/default/configmaps';
const largeBytes = 32 * 1024;
const ofSize = (name: string, bytes: number) => {
  const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { k: '' } };
  body.data.k = 'x'.repeat(bytes - JSON.stringify(body).length);
  return body;
};

/** Counts the turns that each write requested. */
function countTurns(): { readonly turns: number[] } {
  const { store } = server.catalog.find('', 'v1', 'configmaps') as ServedResource;
  const turns: number[] = [];
  const counted = (context: RequestContext): RequestContext => {
    const index = turns.push(0) - 1;
    const { nextTurn } = context;
    if (nextTurn === undefined) return context;
    return {
      ...context,
      nextTurn: () => {
        turns[index] = (turns[index] ?? 0) + 1;
        return nextTurn();
      },
    };
  };
  const { create, update } = store;
  vi.spyOn(store, 'create').mockImplementation((context, object) => create.call(store, counted(context), object));
  vi.spyOn(store, 'update').mockImplementation((context, request) => update.call(store, counted(context), request));
  return { turns };
}

it('a body of 32 KiB or more is written in several turns, a smaller one in one', async () => {
  const { turns } = countTurns();
  for (const [name, bytes] of [
    ['a', largeBytes - 1],
    ['b', largeBytes],
  ] as const) {
    expect((await server.send('POST', configMaps, { body: ofSize(name, bytes) })).status).toBe(201);
    expect((await server.send('PUT', `${configMaps}/${name}`, { body: ofSize(name, bytes) })).status).toBe(200);
    const apply = { headers: { 'content-type': 'application/apply-patch+yaml' }, body: ofSize(name, bytes) };
    expect((await server.send('PATCH', `${configMaps}/${name}?fieldManager=m&force=true`, apply)).status).toBe(200);
  }
  const [one, several] = ['one turn', 'several turns'];
  expect(turns.map((asked) => (asked === 0 ? one : several))).toEqual([one, one, one, several, several, several]);
});

it('each step of a write has a turn of its own: fields, checks, storage', async () => {
  const fixture = await StoreFixture.open(openLmdbEngine);
  const steps: string[] = [];
  const managedFields = {
    onCreate: () => void steps.push('fields'),
    onUpdate: () => void steps.push('fields'),
  };
  const strategy = {
    ...unconditionalStrategy,
    validateCreate: () => {
      steps.push('checks');
      return [];
    },
    validateUpdate: () => {
      steps.push('checks');
      return [];
    },
  };
  const context = testContext({
    nextTurn: async () => {
      steps.push('|');
    },
  });
  try {
    const store = fixture.store({ strategy }, { managedFields } as never);
    await store.create(context, configMap('a'));
    expect(steps).toEqual(['fields', '|', 'checks', '|']);
    steps.length = 0;
    const transform = (): ReturnType<typeof configMap> => {
      steps.push('change');
      return configMap('a', { data: { k: 'v' } });
    };
    await store.update(context, { name: 'a', transform });
    expect(steps).toEqual(['change', '|', 'fields', '|', 'checks', '|']);
  } finally {
    await fixture.close();
  }
});
