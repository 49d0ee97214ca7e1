import type { UnstructuredObject } from '@kapstan/api';
import { alreadyExists, serverTimeout } from '@kapstan/api/errors';
import { VirtualClock } from '@kapstan/api/testing';
import { type StorageWatch, Stored } from '@kapstan/storage';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { RequestContext } from '../../registry/definition/request-context.ts';
import type {
  DeleteRequest,
  ResourceStore,
  SelectRequest,
  WatchRequest,
} from '../../registry/definition/resource-store.ts';
import { startTestServer, type TestServer } from '../../testing/api-server-fixture.ts';
import { factDefinitions } from '../../testing/fact-kinds.ts';
import { configMap, testDefinition } from '../../testing/store-fixture.ts';

const things = '/apis/test.io/v1/namespaces/default/things';
const meta = 'DeleteOptions.meta.k8s.io "" is invalid: ';

interface Asked {
  readonly verb: string;
  readonly namespace: string;
  readonly name?: string;
  readonly select?: SelectRequest | WatchRequest;
  readonly request?: DeleteRequest;
}

/** A store that records how it was called; the test chooses its answers. */
class FakeStore implements ResourceStore {
  readonly asked: Asked[] = [];
  fails: ((verb: string) => unknown) | undefined;
  waits: Promise<void> | undefined;
  object: UnstructuredObject = configMap('a');

  async #note(
    verb: string,
    { namespace }: RequestContext,
    more: Omit<Asked, 'verb' | 'namespace'> = {},
  ): Promise<Stored<UnstructuredObject>> {
    this.asked.push({ verb, namespace, ...more });
    await this.waits;
    const error = this.fails?.(verb);
    if (error !== undefined) throw error;
    return new Stored('/a', 1 as never, this.object);
  }
  create(context: RequestContext) {
    return this.#note('create', context);
  }
  get(context: RequestContext, name: string) {
    return this.#note('get', context, { name });
  }
  async list(context: RequestContext, select: SelectRequest) {
    await this.#note('list', context, { select });
    return { items: [], revision: 1 as never } as never;
  }
  watch(context: RequestContext, select: WatchRequest): StorageWatch {
    this.asked.push({ verb: 'watch', namespace: context.namespace, select });
    if (this.waits !== undefined) return { begun: this.waits, close: () => undefined };
    throw serverTimeout({ group: '', resource: 'things' }, 'watch', 0);
  }
  async update(context: RequestContext, { name }: { readonly name: string }) {
    return { stored: await this.#note('update', context, { name }), created: false };
  }
  async delete(context: RequestContext, name: string, request: DeleteRequest) {
    return { stored: await this.#note('delete', context, { name, request }), deleted: true };
  }
  async deleteCollection(context: RequestContext, request: DeleteRequest, select: SelectRequest) {
    await this.#note('deletecollection', context, { request, select });
    return { items: [], revision: 1 as never } as never;
  }
}

let server: TestServer;
let clock: VirtualClock;
let store: FakeStore;
beforeAll(async () => {
  clock = new VirtualClock();
  const definitions = factDefinitions().filter(({ resource }) => resource === 'namespaces');
  server = await startTestServer(openLmdbEngine, { definitions, clock });
});
afterAll(() => server.close());
beforeEach(() => {
  store = new FakeStore();
  install();
});

function install(changes: Parameters<typeof testDefinition>[0] = {}): void {
  const names = {
    group: 'test.io',
    resource: 'things',
    singular: 'thing',
    kind: 'ConfigMap',
    listKind: 'ConfigMapList',
  };
  server.catalog.install({ definition: testDefinition({ ...names, ...changes }), store });
}

describe('lists and watches', () => {
  it.each([
    ['/apis/test.io/v1/things', '', {}],
    ['/apis/test.io/v1/things?namespace=other', '', {}],
    [
      '/apis/test.io/v1/things?labelSelector=a%3Db&fieldSelector=c%3Dd',
      '',
      { labelSelector: 'a=b', fieldSelector: 'c=d' },
    ],
    ['/apis/test.io/v1/namespaces/other/things', 'other', {}],
    [
      '/apis/test.io/v1/namespaces/other/things?labelSelector=a%3Db&limit=5',
      'other',
      { labelSelector: 'a=b', limit: 5 },
    ],
  ])('GET %s asks for what it says', async (path, namespace, select) => {
    expect((await server.send('GET', path)).status).toBe(200);
    expect(store.asked).toEqual([{ verb: 'list', namespace, select }]);
  });

  it.each([
    ['watch/things?resourceVersion=1234', '', { resourceVersion: '1234' }],
    [
      'watch/things?resourceVersion=314159&fieldSelector=Host%3D&labelSelector=name%3Dfoo',
      '',
      { resourceVersion: '314159', fieldSelector: 'Host=', labelSelector: 'name=foo' },
    ],
    [
      'watch/namespaces/other/things?fieldSelector=id%3dfoo&resourceVersion=7',
      'other',
      { fieldSelector: 'id=foo', resourceVersion: '7' },
    ],
    ['watch/namespaces/other/things', 'other', {}],
    ['namespaces/other/things?watch=1&resourceVersion=7', 'other', { resourceVersion: '7' }],
  ])('GET %s asks for what it says', async (path, namespace, select) => {
    await server.send('GET', `/apis/test.io/v1/${path}`);
    expect(store.asked).toMatchObject([{ verb: 'watch', namespace, select }]);
  });

  it('sends the head of a watch when its first state is fixed: a write after it is a change', async () => {
    let begin: () => void = () => undefined;
    store.waits = new Promise((resolve) => {
      begin = resolve;
    });
    const order: string[] = [];
    const opened = server.stream(`${things}?watch=1`).then((stream) => {
      order.push(`head ${stream.status}`);
      return stream;
    });
    while (store.asked.length === 0) await new Promise((resolve) => setImmediate(resolve));
    await server.send('GET', '/version');
    order.push('begun');
    begin();
    (await opened).close();
    expect(order).toEqual(['begun', 'head 200']);
  });

  it('ends a watch whose first state does not come in its time, counted from the request', async () => {
    store.waits = new Promise(() => undefined);
    const opened = server.stream(`${things}?watch=1&timeoutSeconds=30`);
    while (store.asked.length === 0) await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(29_000);
    const early = await Promise.race([opened, server.send('GET', '/version')]);
    expect('json' in early, 'its head has come').toBe(true);
    await clock.advance(1000);
    const watch = await opened;
    expect(watch.status).toBe(200);
    expect(await watch.next()).toBeUndefined();
  });

  it.each([
    ['GET', `${things}?labelSelector=%3Cinvalid%3E`, 400],
    ['GET', `${things}?fieldSelector=%2Abar`, 400],
    ['GET', `${things}?limit=x`, 400],
    ['DELETE', `${things}/foo?gracePeriodSeconds=%3Cinvalid%3E`, 400],
    ['DELETE', `${things}?labelSelector=%3Cinvalid%3E`, 400],
  ])('%s %s is refused with %i, and nothing is asked for', async (method, path, code) => {
    expect((await server.send(method, path)).json).toMatchObject({ kind: 'Status', code });
    expect(store.asked).toEqual([]);
  });

  it('in a form that nobody speaks are refused', async () => {
    const headers = { accept: 'application/XYZ' };
    for (const path of [`${things}?watch=1`, '/apis/test.io/v1/watch/things', things]) {
      expect((await server.send('GET', path, { headers })).status).toBe(406);
    }
  });
});

describe('what a store cannot do', () => {
  it.each([
    ['an error of its own', new Error('test Error'), { code: 500, message: 'test Error' }, undefined],
    [
      'a Status',
      alreadyExists({ group: '', resource: 'foos' }, 'bar'),
      { code: 409, reason: 'AlreadyExists', details: { name: 'bar', kind: 'foos' }, status: 'Failure' },
      undefined,
    ],
    [
      'a time to wait',
      serverTimeout({ group: '', resource: 'things' }, 'get', 2),
      { code: 500, reason: 'ServerTimeout' },
      '2',
    ],
  ])('is answered with %s', async (_, error, status, retryAfter) => {
    store.fails = () => error;
    for (const [method, path] of [
      ['GET', things],
      ['GET', `${things}/a`],
      ['DELETE', `${things}/a`],
    ] as const) {
      const { json, headers } = await server.send(method, path);
      expect(json).toMatchObject(status);
      expect(headers['retry-after']).toBe(retryAfter);
    }
  });

  it('in time is answered with 504', async () => {
    let release: () => void = () => undefined;
    store.waits = new Promise((resolve) => {
      release = resolve;
    });
    const pending = server.send('POST', `${things}?timeout=4ms`, {
      body: configMap('a', { apiVersion: 'test.io/v1' }),
    });
    while (store.asked.length === 0) await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(4);
    expect((await pending).json).toMatchObject({ code: 504, reason: 'Timeout', status: 'Failure' });
    release();
  });

  it('because its answer cannot be written is an error of the server', async () => {
    store.object = {
      ...configMap('a'),
      data: {
        toJSON: () => {
          throw new Error('Undecodable');
        },
      },
    };
    expect((await server.send('GET', `${things}/a`)).json).toMatchObject({ code: 500, message: 'Undecodable' });
  });

  it('is not served at all', async () => {
    install({ verbs: ['get'] });
    for (const [method, path, code] of [
      ['GET', `${things}/bar`, 200],
      ['POST', things, 405],
      ['PUT', `${things}/bar`, 405],
      ['DELETE', `${things}/bar`, 405],
      ['DELETE', things, 405],
      ['GET', `${things}/bar/sub`, 404],
      ['GET', '/apis/test.io/v1/watch/things', 404],
      ['GET', '/apis/test.io/v1/proxy/things/bar', 404],
    ] as const) {
      expect([method, path, (await server.send(method, path, { body: configMap('bar') })).status]).toEqual([
        method,
        path,
        code,
      ]);
    }
    server.catalog.remove('test.io', 'v1', 'things');
    server.catalog.install({ definition: testDefinition({ group: 'test.io', resource: 'others' }), store });
    for (const [method, path] of [
      ['GET', things],
      ['GET', `${things}/bar`],
      ['POST', things],
      ['PUT', `${things}/bar`],
      ['DELETE', `${things}/bar`],
      ['GET', '/apis/test.io/v1/watch/things'],
      ['GET', '/apis/test.io/v1/proxy/things/bar'],
    ] as const) {
      expect([method, path, (await server.send(method, path)).status]).toEqual([method, path, 404]);
    }
    server.catalog.remove('test.io', 'v1', 'others');
  });
});

describe('options of a deletion', () => {
  it.each([
    ['', undefined, {}],
    ['', { gracePeriodSeconds: 300 }, { gracePeriodSeconds: 300 }],
    ['gracePeriodSeconds=300', undefined, { gracePeriodSeconds: 300 }],
    ['gracePeriodSeconds=310', { gracePeriodSeconds: 300 }, { gracePeriodSeconds: 300 }],
    ['gracePeriodSeconds=310', {}, {}],
  ])('?%s with the body %j: the body counts', async (query, body, request) => {
    const sent = body === undefined ? {} : { body: { kind: 'DeleteOptions', apiVersion: 'v1', ...body } };
    expect((await server.send('DELETE', `${things}/id?${query}`, sent)).status).toBe(200);
    await server.send('DELETE', `${things}?${query}`, sent);
    expect(store.asked).toMatchObject([
      { verb: 'delete', name: 'id', request },
      { verb: 'deletecollection', request },
    ]);
    expect(store.asked.map(({ request: got }) => got)).toEqual([request, request]);
  });

  it.each([
    ['{}', 200, undefined],
    ['{"apiVersion":"v1","kind":"DeleteOptions","gracePeriodSeconds":123}', 200, undefined],
    ['{"apiVersion":"foo/v1","kind":"DeleteOptions","gracePeriodSeconds":123}', 200, undefined],
    [
      '{"orphanDependents":"randomString"}',
      400,
      'json: cannot unmarshal string into Go struct field DeleteOptions.orphanDependents of type bool',
    ],
    [
      '{"apiVersion":"v1","kind":"APIResourceList"}',
      400,
      'no kind "APIResourceList" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111"',
    ],
    ['{"apiVersion":false,"kind":"DeleteOptions"}', 400, undefined],
    [
      '{"propagationPolicy":"Nope"}',
      422,
      `${meta}propagationPolicy: Unsupported value: "Nope": supported values: "Foreground", "Background", "Orphan", "nil"`,
    ],
  ])('in the body %s: %i', async (body, code, message) => {
    for (const path of [`${things}/a`, things]) {
      const { status, json } = await server.send('DELETE', path, { body });
      expect(status).toBe(code);
      if (message !== undefined) expect(json.message).toBe(message);
    }
    expect(store.asked).toHaveLength(code === 200 ? 2 : 0);
  });

  it('leave a collection as much time as it takes', async () => {
    let release: () => void = () => undefined;
    store.waits = new Promise((resolve) => {
      release = resolve;
    });
    const [one, all] = [server.send('DELETE', `${things}/a`), server.send('DELETE', things)];
    while (store.asked.length < 2) await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(34_000);
    expect((await one).status).toBe(504);
    release();
    expect((await all).status).toBe(200);
  });
});
