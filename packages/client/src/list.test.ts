import { isExpired, resource } from '@kapstan/api';
import { lastValueFrom } from 'rxjs';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Client } from './client.ts';
import { json, type ScriptedServer, status } from './testing/scripted-server.ts';
import { servedClient } from './testing/served-client.ts';

const Pod = resource({ group: '', version: 'v1', kind: 'Pod' });
const page = (names: readonly string[], metadata: Record<string, unknown> = {}) =>
  json({
    kind: 'PodList',
    apiVersion: 'v1',
    metadata: { resourceVersion: '9', ...metadata },
    items: names.map((name) => ({ metadata: { name } })),
  });
const pod = (name: string) => ({ kind: 'Pod', apiVersion: 'v1', metadata: { name } });
const expired = json(status(410, 'Expired', 'The provided continue parameter is too old'), { status: 410 });

describe('list', () => {
  let server: ScriptedServer;
  let client: Client;
  beforeEach(async () => {
    ({ server, client } = await servedClient());
  });

  it('gives one page with its version, token and rest', async () => {
    server.next(page(['a'], { continue: 'c', remainingItemCount: 3 }));
    expect(await client.listPage(Pod, { namespace: 'n', limit: 1 })).toEqual({
      resourceVersion: '9',
      continue: 'c',
      remainingItemCount: 3,
      items: [pod('a')],
    });
    expect([server.last.path, server.last.query]).toEqual(['/api/v1/namespaces/n/pods', { limit: '1' }]);
  });

  it('sends every option of a list', async () => {
    server.next(page([]));
    await client.listPage(Pod, {
      labelSelector: 'a in (b,c)',
      fieldSelector: 'spec.nodeName=x',
      resourceVersion: '0',
      resourceVersionMatch: 'NotOlderThan',
      limit: 0,
      continue: 't',
    });
    expect([server.last.path, server.last.query]).toEqual([
      '/api/v1/pods',
      {
        labelSelector: 'a in (b,c)',
        fieldSelector: 'spec.nodeName=x',
        resourceVersion: '0',
        resourceVersionMatch: 'NotOlderThan',
        continue: 't',
      },
    ]);
  });

  it('awaited is an array of all pages; later pages carry the token instead of the version', async () => {
    server.next(page(['a', 'b'], { continue: 'c' }), page(['d']));
    expect(await client.list(Pod, { resourceVersion: '5', labelSelector: 'x' })).toEqual([
      pod('a'),
      pod('b'),
      pod('d'),
    ]);
    expect(server.requests.map(({ query }) => query)).toEqual([
      { limit: '500', resourceVersion: '5', labelSelector: 'x' },
      { limit: '500', continue: 'c', labelSelector: 'x' },
    ]);
  });

  it('iterated asks for the next page only when the one before is used up', async () => {
    server.next(page(['a', 'b'], { continue: 'c' }), page(['d']));
    const seen: string[] = [];
    for await (const { metadata } of client.list(Pod, { limit: 2 }))
      seen.push(`${metadata?.name}${server.requests.length}`);
    expect(seen).toEqual(['a1', 'b1', 'd2']);
  });

  it('is a whole promise, which asks with each use', async () => {
    server.next(page(['a']), expired, page(['a']), page(['a']));
    const list: Promise<readonly unknown[]> = client.list(Pod);
    expect(await list.catch(() => [])).toEqual([pod('a')]);
    expect(await list.catch((error: unknown) => [isExpired(error)])).toEqual([true]);
    let isOver = false;
    const over = list.finally(() => {
      isOver = true;
    });
    expect([await over, isOver]).toEqual([[pod('a')], true]);
    expect(await Promise.allSettled([list])).toEqual([{ status: 'fulfilled', value: [pod('a')] }]);
    expect(Object.prototype.toString.call(list)).toBe('[object ObjectList]');
  });

  it('takes a limit that is undefined for none: pages have the size of the client', async () => {
    server.next(page(['a']));
    await client.list(Pod, { limit: undefined } as object);
    expect(server.last.query).toEqual({ limit: '500' });
  });

  it('takes a limit as the size of a page, and gives all objects', async () => {
    server.next(page(['a'], { continue: 'c' }), page(['b']));
    expect(await client.list(Pod, { limit: 1 })).toEqual([pod('a'), pod('b')]);
    expect(server.requests.map(({ query }) => query.limit)).toEqual(['1', '1']);
  });

  it('asks nothing before it is used', () => {
    client.list(Pod);
    expect(server.requests).toHaveLength(0);
  });

  it('awaited asks for the whole list when a later page has expired', async () => {
    for (const first of [['a'], []]) {
      server.next(page(first, { continue: 'c' }), expired, page(['a', 'b']));
      expect(await client.list(Pod, { limit: 1, resourceVersion: '5' })).toHaveLength(2);
      expect(server.last.query).toEqual({ resourceVersion: '5' });
    }
  });

  it('awaited fails when the first page has expired, iterated when any has', async () => {
    server.next(expired);
    expect(isExpired(await client.list(Pod).then(undefined, (error: unknown) => error))).toBe(true);
    server.next(page(['a'], { continue: 'c' }), expired);
    const read = async (): Promise<void> => {
      for await (const _ of client.list(Pod)) expect(server.requests.length).toBeGreaterThan(0);
    };
    expect(isExpired(await read().catch((error: unknown) => error))).toBe(true);
  });

  it('through a listerWatcher stays in its namespace', async () => {
    server.always(page([]));
    await client.listerWatcher(Pod, { namespace: 'n' }).list({ limit: 5 });
    expect(server.last.path).toBe('/api/v1/namespaces/n/pods');
    await client.listerWatcher(Pod).list({ namespace: 'm' });
    expect(server.last.path).toBe('/api/v1/namespaces/m/pods');
  });

  it('through a listerWatcher asks for metadata only where nothing else is looked at, of lists and of watches', async () => {
    const { list, watch } = client.listerWatcher(Pod, { namespace: 'n', metadataOnly: true });
    server.always(page([]));
    await list({});
    const as = (kind: string): string => `application/json;as=${kind};g=meta.k8s.io;v=v1,application/json`;
    expect([server.last.path, server.last.headers.accept]).toEqual([
      '/api/v1/namespaces/n/pods',
      as('PartialObjectMetadataList'),
    ]);
    await lastValueFrom(watch({}), { defaultValue: undefined }).catch(() => undefined);
    expect([server.last.path, server.last.query.watch, server.last.headers.accept]).toEqual([
      '/api/v1/namespaces/n/pods',
      'true',
      as('PartialObjectMetadata'),
    ]);
    await client.listerWatcher(Pod).list({});
    expect(server.last.headers.accept).toBe('application/json');
  });

  it.each([
    [() => client.get(Pod, { name: 'a' }), 'an empty namespace may not be set when a resource name is provided'],
    [() => client.create(Pod, { metadata: { name: 'a' } }), 'an empty namespace may not be set during creation'],
    [() => client.get(Pod, { name: '', namespace: 'n' }), 'resource name may not be empty'],
    [() => client.get(Pod, { name: '..', namespace: 'n' }), `invalid resource name "..": [may not be '..']`],
    [() => client.get(Pod, { name: 'a/b%', namespace: 'n' }), `[may not contain '/' may not contain '%']`],
    [() => client.get(Pod, { name: 'a', namespace: '../x' }), 'invalid namespace "../x"'],
    [
      () => client.get(Pod, { name: 'a', namespace: 'n' }, { subresource: 'status?x' }),
      'invalid subresource "status?x"',
    ],
    [() => client.get(Pod, { name: 'a', namespace: 'n' }, { subresource: 'x/../y' }), 'invalid subresource ".."'],
    [() => client.update(Pod, { metadata: { namespace: 'n' } }), 'name is required'],
    [
      () => client.apply(Pod, { metadata: { namespace: 'n' } }, { fieldManager: 'm' }),
      'metadata.name must be provided',
    ],
    [
      () => client.apply(Pod, { metadata: { name: 'a', namespace: 'n' } }, { fieldManager: '' }),
      'apply needs a fieldManager',
    ],
    [
      () => client.apply(Pod, { metadata: { name: 'a', namespace: 'n', managedFields: [] } }, { fieldManager: 'm' }),
      'cannot apply an object with managed fields already set',
    ],
  ])('a wrong call is refused before it is sent: %#', async (call, message) => {
    const error = await call().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(TypeError);
    expect((error as Error).message).toContain(message);
    expect(server.requests).toHaveLength(0);
  });
});
