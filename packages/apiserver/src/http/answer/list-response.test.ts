import type { ResourceVersion, Revision, UnstructuredObject } from '@kapstan/api';
import { Stored } from '@kapstan/storage';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ResourceStore } from '../../registry/definition/resource-store.ts';
import { startTestServer, type TestServer } from '../../testing/api-server-fixture.ts';
import { factDefinitions } from '../../testing/fact-kinds.ts';
import { longestTurnMs } from '../../testing/longest-turn.ts';
import { listItemEncoding, objectJson } from './encodings.ts';

const definition = factDefinitions().find(({ resource }) => resource === 'configmaps');
if (definition === undefined) throw new Error('no configmaps');

function storedConfigMap(index: number): Stored<UnstructuredObject> {
  const name = `c${index}`;
  const object = {
    kind: 'ConfigMap',
    apiVersion: 'v1',
    metadata: { name, namespace: 'default', resourceVersion: String(index + 1), labels: { app: name } },
    data: { config: 'x'.repeat(1000) },
  };
  return new Stored<UnstructuredObject>(`/registry/configmaps/default/${name}`, (index + 1) as Revision, object);
}

/** Makes a store whose 20,000 objects were never encoded: the worst case. */
function largeStore(): Partial<ResourceStore> {
  const items = Array.from({ length: 20_000 }, (_, index) => storedConfigMap(index));
  return {
    list: async () => ({ resourceVersion: '20000' as ResourceVersion, items, continue: '' }),
    watch: (_context, _request, sink) => {
      for (const stored of items) sink.onEvent({ type: 'ADDED', stored });
      sink.onEvent({ type: 'BOOKMARK', revision: 20_000 as Revision, initialEventsEnd: true });
      return { close: () => undefined };
    },
  };
}

let server: TestServer;
beforeEach(async () => {
  server = await startTestServer(openLmdbEngine, { definitions: [] });
  server.catalog.install({ definition, store: largeStore() as ResourceStore });
});
afterEach(() => server.close());

describe('a list of 20 000 objects', () => {
  const path = '/api/v1/configmaps';
  it.each([
    ['application/json'],
    ['application/json;as=Table;v=v1;g=meta.k8s.io'],
    ['application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io'],
  ])('in %s is whole and does not hold up others for 50 ms', async (accept) => {
    let bytes: Buffer = Buffer.alloc(0);
    let blockedMs = Number.POSITIVE_INFINITY;
    // The machine may be busy, so one quiet run suffices. A list that blocks would never have one.
    for (let attempt = 0; attempt < 4 && blockedMs >= 50; attempt++) {
      server.catalog.install({ definition, store: largeStore() as ResourceStore });
      // The client runs in this process too, but only collects.
      const runMs = await longestTurnMs(async () => {
        ({ bytes } = await server.send('GET', path, { headers: { accept } }));
      });
      blockedMs = Math.min(blockedMs, runMs);
    }
    expect(blockedMs).toBeLessThan(50);
    const list = JSON.parse(bytes.toString());
    const rows = list.items ?? list.rows;
    expect(rows).toHaveLength(20_000);
    expect((rows[19_999].object ?? rows[19_999]).metadata.name).toBe('c19999');
  });

  it.each([
    ['application/json;as=Table;v=v1;g=meta.k8s.io', path],
    ['application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io', path],
    ['application/vnd.kubernetes.protobuf', path],
    ['application/yaml', path],
    ['application/json', `${path}?pretty=1`],
  ])('in %s is made of objects that are parsed once each and not kept', async (accept, asked) => {
    let parsed = 0;
    const items = Array.from({ length: 100 }, (_, index) => {
      const stored = storedConfigMap(index);
      const { object } = stored;
      stored.rememberParser(() => {
        parsed++;
        return object;
      });
      stored.release();
      return stored;
    });
    const list = async () => ({ resourceVersion: '100' as ResourceVersion, items, continue: '' });
    server.catalog.install({ definition, store: { list } as unknown as ResourceStore });
    for (const total of [100, 200]) {
      expect((await server.send('GET', asked, { headers: { accept } })).status).toBe(200);
      expect(parsed).toBe(total);
    }
  });

  it('is watched from nowhere without being taken for a slow client', async () => {
    const watch = await server.stream(`${path}?watch=1&allowWatchBookmarks=1`);
    let count = 0;
    for (let event = await watch.next(); event?.type === 'ADDED'; event = await watch.next()) count++;
    expect(count).toBe(20_000);
    watch.close();
  });
});

describe('the bytes of list items', () => {
  it('are a part of the object’s own bytes', () => {
    const stored = storedConfigMap(1);
    const item = stored.encoded(listItemEncoding(definition));
    expect(item.buffer).toBe(objectJson(stored).buffer);
    const { kind: _kind, apiVersion: _apiVersion, ...rest } = stored.object;
    expect(JSON.parse(`{${Buffer.from(item).toString()}`)).toEqual(rest);
  });

  it('are right in any order of members', () => {
    for (const object of [
      { metadata: { name: 'a' }, kind: 'ConfigMap', apiVersion: 'v1' },
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } },
      { apiVersion: 'v1', kind: 'ConfigMap' },
    ]) {
      const stored = new Stored<UnstructuredObject>('/k', 1 as Revision, object);
      const item = Buffer.from(stored.encoded(listItemEncoding(definition))).toString();
      expect(JSON.parse(`{${item}`)).toEqual('metadata' in object ? { metadata: object.metadata } : {});
    }
  });
});
