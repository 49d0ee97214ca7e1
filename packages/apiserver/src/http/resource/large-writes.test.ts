// Large objects are written in several turns of the event loop, so that no turn has all the work.
import { onNextTurn } from '@kapstan/api/internal';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { startTestServer, type TestRequest, type TestServer } from '../../testing/api-server-fixture.ts';
import { factDefinitions } from '../../testing/fact-kinds.ts';
import { configMap, StoreFixture, testContext, unconditionalStrategy } from '../../testing/store-fixture.ts';

let server: TestServer;
/** The turn of the event loop in which each step of the present write ran. */
let turns: number[];
let turn: number;
let isOver: boolean;

function countTurns(): void {
  turn += 1;
  if (!isOver) onNextTurn(countTurns);
}

const note = async (): Promise<void> => void turns.push(turn);
/** Is asked before the object is checked, and when it is about to be stored. */
const admission = { admit: note, validates: () => true, validate: note };

beforeEach(async () => {
  [turns, turn, isOver] = [[], 0, false];
  const definitions = factDefinitions().filter(({ resource }) => resource === 'configmaps');
  server = await startTestServer(openLmdbEngine, { definitions, hooks: { admission } });
  countTurns();
});
afterEach(async () => {
  isOver = true;
  await server.close();
});

const configMaps = '/api/v1/namespaces/default/configmaps';
const largeBytes = 32 * 1024;
const ofSize = (name: string, bytes: number) => {
  const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { k: '' } };
  body.data.k = 'x'.repeat(bytes - JSON.stringify(body).length);
  return body;
};

it('a body of 32 KiB or more is written in several turns, a smaller one in one', async () => {
  const written: string[] = [];
  const send = async (method: string, path: string, request: TestRequest): Promise<void> => {
    turns = [];
    expect((await server.send(method, path, request)).status).toBeLessThan(300);
    expect(turns).toHaveLength(2);
    written.push(new Set(turns).size === 1 ? 'one turn' : 'several turns');
  };
  for (const [name, bytes] of [
    ['a', largeBytes - 1],
    ['b', largeBytes],
  ] as const) {
    await send('POST', configMaps, { body: ofSize(name, bytes) });
    await send('PUT', `${configMaps}/${name}`, { body: ofSize(name, bytes) });
    const apply = { headers: { 'content-type': 'application/apply-patch+yaml' }, body: ofSize(name, bytes) };
    await send('PATCH', `${configMaps}/${name}?fieldManager=m&force=true`, apply);
  }
  const [one, several] = ['one turn', 'several turns'];
  expect(written).toEqual([one, one, one, several, several, several]);
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
