import { type KubernetesObject, resource } from '@kapstan/api';
import { firstValueFrom, toArray } from 'rxjs';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Client } from './client.ts';
import { json, type ScriptedServer, status } from './testing/scripted-server.ts';
import { servedClient } from './testing/served-client.ts';

const Pod = resource<KubernetesObject>({ group: '', version: 'v1', kind: 'Pod' });
const apiVersion = 'meta.k8s.io/v1';
const partial = (name: string): object => ({ kind: 'PartialObjectMetadata', apiVersion, metadata: { name } });

describe('reads of metadata alone', () => {
  let server: ScriptedServer;
  let client: Client;
  beforeEach(async () => {
    ({ server, client } = await servedClient());
  });

  it('asks for one object, and takes JSON of any form', async () => {
    server.next(
      json(partial('a')),
      json(partial('a')),
      json({ kind: 'Pod', apiVersion: 'v1', metadata: { name: 'b' }, spec: {} }),
    );
    const get = (name: string) => client.metadata.get(Pod, { namespace: 'n', name }, { resourceVersion: '0' });
    expect(await get('a')).toEqual(partial('a'));
    expect(server.last.headers.accept).toBe(
      'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json',
    );
    expect([server.last.path, server.last.query]).toEqual(['/api/v1/namespaces/n/pods/a', { resourceVersion: '0' }]);
    await client.metadata.get(Pod, { namespace: 'n', name: 'a' }, { subresource: 'status' });
    expect(server.last.path).toBe('/api/v1/namespaces/n/pods/a/status');
    expect(await get('b'), 'from a server that cuts nothing down').toEqual(partial('b'));
  });

  it('refuses what has no metadata, and passes on a Status', async () => {
    server.next(json({ kind: 'Odd' }), json(status(404, 'NotFound', 'pods "a" not found'), { status: 404 }));
    const get = () => client.metadata.get(Pod, { namespace: 'n', name: 'a' });
    await expect(get()).rejects.toThrow('object does not appear to match the ObjectMeta schema');
    await expect(get()).rejects.toMatchObject({ code: 404 });
  });

  it('lists page by page', async () => {
    const page = (names: readonly string[], more: object) =>
      json({
        kind: 'PartialObjectMetadataList',
        apiVersion,
        metadata: { resourceVersion: '7', ...more },
        items: names.map(partial),
      });
    server.next(page(['a', 'b'], { continue: 'x' }), page(['c'], {}));
    expect(await client.metadata.list(Pod, { limit: 2 })).toEqual(['a', 'b', 'c'].map(partial));
    expect(server.requests.map(({ query }) => query)).toEqual([{ limit: '2' }, { limit: '2', continue: 'x' }]);
    expect(server.last.headers.accept).toBe(
      'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json',
    );
  });

  it('watches, through the port of informers too', async () => {
    const bookmark = { kind: 'PartialObjectMetadata', apiVersion, metadata: { resourceVersion: '9' } };
    const events = [
      { type: 'ADDED', object: { ...partial('a'), spec: {} } },
      { type: 'BOOKMARK', object: bookmark },
    ];
    server.next((response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(events.map((event) => `${JSON.stringify(event)}\n`).join(''));
    });
    const source = client.metadata.listerWatcher(Pod, { namespace: 'n', metadataOnly: true });
    expect(await firstValueFrom(source.watch({ resourceVersion: '5' }).pipe(toArray()))).toEqual([
      { type: 'ADDED', object: partial('a') },
      { type: 'BOOKMARK', resourceVersion: '9', initialEventsEnd: false },
    ]);
    expect([server.last.path, server.last.query]).toEqual([
      '/api/v1/namespaces/n/pods',
      { watch: 'true', resourceVersion: '5' },
    ]);
    expect(server.last.headers.accept).toContain('as=PartialObjectMetadata;');
  });
});
