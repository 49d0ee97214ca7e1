import { internalError } from '@kapstan/api/errors';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readEnvelope } from '../../codec/protobuf-envelope.ts';
import type { ResourceStore } from '../../registry/definition/resource-store.ts';
import { startTestServer, type TestServer, type TestStream } from '../../testing/api-server-fixture.ts';
import { factDefinitions } from '../../testing/fact-kinds.ts';
import { factTypes } from '../../testing/fact-types.ts';
import { testDefinition } from '../../testing/store-fixture.ts';

const configMaps = '/api/v1/namespaces/default/configmaps';
const as = (kind: string, version = 'v1') => `application/json;as=${kind};v=${version};g=meta.k8s.io`;
let server: TestServer;
let version: string;
beforeAll(async () => {
  const definitions = factDefinitions().filter(({ resource }) => ['configmaps', 'namespaces'].includes(resource));
  server = await startTestServer(openLmdbEngine, { definitions });
  version = (await server.send('GET', configMaps)).json.metadata.resourceVersion;
  for (const name of ['a', 'b', 'c']) {
    await server.send('POST', configMaps, { body: { metadata: { name }, data: { k: name } } });
  }
});
afterAll(() => server.close());

type Event = Awaited<ReturnType<TestStream['next']>>;

/** Returns the first events of a watch. */
async function events(path: string, accept: string, count = 2): Promise<[TestStream, Event[]]> {
  const watch = await server.stream(path, { accept });
  const seen: Event[] = [];
  while (seen.length < count) seen.push(await watch.next());
  watch.close();
  return [watch, seen];
}

describe('a watch of Tables', () => {
  it.each(['v1', 'v1beta1'])('has its columns in the first event alone: %s', async (tableVersion) => {
    const [, [first, second]] = await events(
      `${configMaps}?watch=1&resourceVersion=${version}`,
      as('Table', tableVersion),
    );
    const apiVersion = `meta.k8s.io/${tableVersion}`;
    expect(first).toMatchObject({
      type: 'ADDED',
      object: {
        kind: 'Table',
        apiVersion,
        columnDefinitions: [{ name: 'Name' }, { name: 'Data' }, { name: 'Age' }],
        rows: [
          {
            cells: ['a', 1, expect.any(String)],
            object: { kind: 'PartialObjectMetadata', apiVersion, metadata: { name: 'a' } },
          },
        ],
      },
    });
    expect(first?.object.metadata.resourceVersion).toBe(first?.object.rows[0].object.metadata.resourceVersion);
    expect(second).toMatchObject({
      object: { kind: 'Table', columnDefinitions: null, rows: [{ cells: ['b', 1, expect.any(String)] }] },
    });
  });

  it.each([
    ['None', null],
    ['Object', { kind: 'ConfigMap', data: { k: 'a' } }],
  ])('has what is asked for beside the cells: %s', async (include, object) => {
    const [, [first]] = await events(
      `${configMaps}?watch=1&resourceVersion=${version}&includeObject=${include}`,
      as('Table'),
      1,
    );
    if (object === null) expect(first?.object.rows[0].object).toBeNull();
    else expect(first?.object.rows[0].object).toMatchObject(object);
  });

  it.each([
    [as('Table', 'v1alpha1'), 406],
    ['application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io', 406],
    [`${as('Table', 'v1alpha1')}, application/json`, 200],
  ])('is refused where there is none: %s → %i', async (accept, status) => {
    const watch = await server.stream(`${configMaps}?watch=1&resourceVersion=${version}`, { accept });
    expect(watch.status).toBe(status);
    if (status === 200) expect(await watch.next()).toMatchObject({ object: { kind: 'ConfigMap' } });
    watch.close();
  });
});

describe('a watch of metadata', () => {
  it.each(['v1', 'v1beta1'])('has nothing else: %s', async (metaVersion) => {
    const accept = as('PartialObjectMetadata', metaVersion);
    const [watch, seen] = await events(`${configMaps}?watch=1&resourceVersion=${version}`, accept);
    expect(watch.headers['content-type']).toBe('application/json');
    expect(
      seen.map((event) => [event?.type, event?.object.kind, event?.object.apiVersion, event?.object.metadata.name]),
    ).toEqual(['a', 'b'].map((name) => ['ADDED', 'PartialObjectMetadata', `meta.k8s.io/${metaVersion}`, name]));
    expect(Object.keys(seen[0]?.object)).toEqual(['kind', 'apiVersion', 'metadata']);
  });

  it.each(['v1', 'v1beta1'])('begins with a list that keeps its own metadata: %s', async (metaVersion) => {
    const list = await server.send('GET', `${configMaps}?limit=1`, {
      headers: { accept: as('PartialObjectMetadataList', metaVersion) },
    });
    const plain = await server.send('GET', `${configMaps}?limit=1`);
    expect(list.json).toMatchObject({ kind: 'PartialObjectMetadataList', apiVersion: `meta.k8s.io/${metaVersion}` });
    expect(list.json.metadata).toEqual(plain.json.metadata);
    expect(list.json.metadata).toMatchObject({ remainingItemCount: 2, continue: expect.any(String) });
  });
});

it('a watch in protobuf has frames with their length before them', async () => {
  const accept = 'application/vnd.kubernetes.protobuf';
  const watch = await server.stream(`${configMaps}?watch=1&resourceVersion=${version}`, { accept });
  expect(watch.headers['content-type']).toBe('application/vnd.kubernetes.protobuf;stream=watch');
  const pieces: Buffer[] = [];
  const bytes = (): Buffer => Buffer.concat(pieces);
  const isWhole = (): boolean => bytes().length >= 4 && bytes().length >= 4 + bytes().readUInt32BE(0);
  for await (const piece of watch.response) {
    pieces.push(piece as Buffer);
    if (isWhole()) break;
  }
  const frame = bytes().subarray(4, 4 + bytes().readUInt32BE(0));
  expect(frame.subarray(0, 7).toString('latin1')).toBe('\n\x05ADDED');
  const object = frame.subarray(frame.indexOf('k8s\0'));
  expect(
    readEnvelope(object, { types: factTypes, expected: { group: '', version: 'v1', kind: 'ConfigMap' } }),
  ).toMatchObject({
    metadata: { name: 'a' },
    data: { k: 'a' },
  });
  watch.close();
});

it('a failure of the store is the last event of a watch, as a Status', async () => {
  const real = server.catalog.find('', 'v1', 'configmaps')?.store as ResourceStore;
  const store = {
    list: real.list.bind(real),
    watch: (_context, _request, sink) => {
      setImmediate(() => sink.onEnd(internalError(new Error('we got an error'))));
      return { close: () => undefined };
    },
  } as Pick<ResourceStore, 'list' | 'watch'> as ResourceStore;
  server.catalog.install({ definition: testDefinition({ group: 'test.io' }), store });
  const watch = await server.stream('/apis/test.io/v1/configmaps?watch=1&resourceVersion=1');
  expect(watch.status).toBe(200);
  expect(await watch.next()).toEqual({
    type: 'ERROR',
    object: {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: 'Internal error occurred: we got an error',
      reason: 'InternalError',
      details: { causes: [{ message: 'we got an error' }] },
      code: 500,
    },
  });
  expect(await watch.next()).toBeUndefined();
  server.catalog.remove('test.io', 'v1', 'configmaps');
});
