// A conversion webhook that hangs, cuts connections, answers wrongly or slowly, while other clients continue: they read and write the
// stored version of the same kind, and another kind, and watch both.
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { isStatusError, resource, type UnstructuredObject } from '@kapstan/api';
import { selfSigned } from '@kapstan/apiserver/testing';
import type { Client } from '@kapstan/client';
import { ConfigMap } from '@kapstan/kinds/core/v1';
import { type TestCluster, testCluster } from '@kapstan/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';

const namespace = 'default';
const v1 = resource({ group: 'example.com', version: 'v1', kind: 'Widget' });
const v2 = resource({ group: 'example.com', version: 'v2', kind: 'Widget' });

interface Review {
  readonly request: {
    readonly uid: string;
    readonly desiredAPIVersion: string;
    readonly objects: UnstructuredObject[];
  };
}

type Answer = (review: Review, response: ServerResponse, request: IncomingMessage) => void;

const success: Answer = ({ request: { uid, desiredAPIVersion, objects } }, response) => {
  const convertedObjects = objects.map((object) => ({ ...object, apiVersion: desiredAPIVersion }));
  const review = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'ConversionReview' };
  response.end(JSON.stringify({ ...review, response: { uid, result: { status: 'Success' }, convertedObjects } }));
};

let answer: Answer = success;
/** Called when the webhook has received a request. */
let onAsked: () => void = () => undefined;
let asked: Promise<void>;
let server: Server;
let cluster: TestCluster;
let client: Client;

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const parts: Buffer[] = [];
  for await (const part of request as AsyncIterable<Buffer>) parts.push(part);
  onAsked();
  answer(JSON.parse(Buffer.concat(parts).toString()) as Review, response, request);
}

const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };

beforeAll(async () => {
  const { cert, key } = await selfSigned('CN=hook');
  server = createServer({ cert, key }, (request, response) => void handle(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/convert`;
  const clientConfig = { url, caBundle: Buffer.from(cert).toString('base64') };
  const definition = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'widgets.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
      versions: [
        { name: 'v1', served: true, storage: true, schema },
        { name: 'v2', served: true, storage: false, schema },
      ],
      conversion: { strategy: 'Webhook', webhook: { clientConfig, conversionReviewVersions: ['v1'] } },
    },
  };
  cluster = await testCluster({ crds: [definition as never] });
  client = await cluster.connect();
  for (const name of ['a', 'b']) {
    await client.create(v1, { metadata: { namespace, name }, spec: { n: 1 } } as never);
  }
}, 60_000);

afterAll(async () => {
  await client.close();
  await cluster.close();
  server.closeAllConnections();
  server.close();
});

beforeEach(() => {
  answer = success;
  asked = new Promise((resolve) => {
    onAsked = resolve;
  });
});

/** Checks the work that must continue whatever the webhook does. */
async function expectOthersGoOn(): Promise<void> {
  const name = `m-${Math.random().toString(36).slice(2)}`;
  await client.create(ConfigMap, { metadata: { namespace, name }, data: { k: 'v' } });
  const patch = { type: 'merge', body: { spec: { seen: name } } } as const;
  await client.patch(v1, { namespace, name: 'a' }, patch);
  const all = await client.list(v1, { namespace });
  expect(all.find(({ metadata }) => metadata?.name === 'a')?.spec).toMatchObject({ seen: name });
  await client.delete(ConfigMap, { namespace, name });
}

const failureOf = async (call: Promise<unknown>): Promise<string> => {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!isStatusError(error)) throw new Error(`no StatusError: ${String(error)}`);
  expect(error.code).toBe(500);
  return error.message;
};

const title = 'conversion webhook for example.com/v1, Kind=Widget ';

describe('a conversion webhook', () => {
  it('that hangs holds only who reads the other version, for 30 s', async () => {
    answer = () => undefined;
    // The call is made in process, because a client over HTTP would give up at the same time.
    const hanging = failureOf(cluster.client.get(v2, { namespace, name: 'a' }));
    await asked;
    await expectOthersGoOn();
    await cluster.advance(30_000);
    expect(await hanging).toContain('context deadline exceeded (Client.Timeout exceeded while awaiting headers)');
    answer = success;
    expect((await client.get(v2, { namespace, name: 'a' })).apiVersion).toBe('example.com/v2');
  });

  it('that cuts connections, or answers half of it, fails these reads alone', async () => {
    answer = (_review, _response, request) => void request.socket.destroy();
    expect(await failureOf(client.get(v2, { namespace, name: 'a' }))).toContain(`${title}failed: Post "https://`);
    answer = (_review, response, request) => {
      response.writeHead(200, { 'content-length': 1_000 });
      response.write('{"kind":', () => request.socket.destroy());
    };
    expect(await failureOf(client.list(v2, { namespace }))).toContain(`${title}failed: Post "https://`);
    await expectOthersGoOn();
  });

  it.each<[string, Answer, string]>([
    ['no JSON', (_, response) => void response.end('<html>'), 'failed: '],
    ['nothing', (_, response) => void response.end(), 'failed: '],
    [
      'an error',
      (_, response) => void response.writeHead(503).end('busy'),
      'failed: the server is currently unable to handle the request',
    ],
    [
      'too much',
      (_, response) => void response.end('x'.repeat(17 * 1024 * 1024)),
      'failed: the answer of the webhook is larger than',
    ],
  ])('that answers with %s fails these reads alone', async (_what, wrong, text) => {
    answer = wrong;
    expect(await failureOf(client.get(v2, { namespace, name: 'a' }))).toContain(`${title}${text}`);
    await expectOthersGoOn();
  });

  it('that is slow delays the watch of the other version, which then has every change in order', async () => {
    const held: (() => void)[] = [];
    answer = (review, response, request) => void held.push(() => success(review, response, request));
    const seen: unknown[] = [];
    const done = new Promise<void>((resolve, reject) => {
      const watching = client.watch(v2, { namespace, fieldSelector: 'metadata.name=b' }).subscribe({
        next: (event) => {
          if (event.type === 'BOOKMARK') return;
          seen.push(event.object.spec);
          if (seen.length < 4) return;
          watching.unsubscribe();
          resolve();
        },
        error: reject,
      });
    });
    await asked;
    for (const n of [2, 3, 4]) {
      await client.patch(v1, { namespace, name: 'b' }, { type: 'merge', body: { spec: { n } } });
    }
    await expectOthersGoOn();
    answer = success;
    for (const release of held) release();
    await done;
    expect(seen).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }, { n: 4 }]);
  });
});

describe('a conversion function', () => {
  it('takes the place of a webhook that cannot be reached', async () => {
    const versions = [
      { name: 'v1', served: true, storage: true, schema },
      { name: 'v2', served: true, storage: false, schema },
    ];
    const names = { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' };
    const definition = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'widgets.example.com' },
      spec: { group: 'example.com', scope: 'Namespaced', names, versions },
    };
    await using own = await testCluster({
      http: 'off',
      crds: [definition as never],
      conversions: {
        'widgets.example.com': (object, { toApiVersion }) => ({
          ...object,
          apiVersion: toApiVersion,
          spec: toApiVersion.endsWith('v2') ? { two: (object.spec as { one: string }).one } : { one: 'back' },
        }),
      },
    });
    await own.client.create(v1, { metadata: { namespace, name: 'a' }, spec: { one: 'x' } } as never);
    expect((await own.client.get(v2, { namespace, name: 'a' })).spec).toEqual({ two: 'x' });
    await own.client.patch(v2, { namespace, name: 'a' }, { type: 'merge', body: { spec: { two: 'y' } } });
    expect((await own.client.get(v1, { namespace, name: 'a' })).spec).toEqual({ one: 'back' });
  });
});
