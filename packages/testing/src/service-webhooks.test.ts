// Tests webhooks that name a Service, for conversion and for admission: the address, the certificate that counts, and the errors for
// clients when there is none.
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { isStatusError, resource, type UnstructuredObject } from '@kapstan/api';
import { selfSigned } from '@kapstan/apiserver/testing';
import { ValidatingWebhookConfiguration } from '@kapstan/kinds/admissionregistration.k8s.io/v1';
import { ConfigMap, Service } from '@kapstan/kinds/core/v1';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { installCrds } from './custom-resources.ts';
import { type TestCluster, testCluster } from './test-cluster.ts';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const namespace = 'default';
const v1 = resource({ group: 'example.com', version: 'v1', kind: 'Widget' });
const v2 = resource({ group: 'example.com', version: 'v2', kind: 'Widget' });
const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };

interface Asked {
  readonly path: string;
  readonly host: string;
}

interface Review {
  readonly apiVersion: string;
  readonly kind: string;
  readonly request: {
    readonly uid: string;
    readonly desiredAPIVersion?: string;
    readonly objects?: readonly UnstructuredObject[];
  };
}

let server: Server;
let asked: Asked[];
let ca: string;
let cluster: TestCluster;

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const parts: Buffer[] = [];
  for await (const part of request as AsyncIterable<Buffer>) parts.push(part);
  asked.push({ path: request.url ?? '', host: request.headers.host ?? '' });
  const { apiVersion, kind, request: question } = JSON.parse(Buffer.concat(parts).toString()) as Review;
  const { uid, desiredAPIVersion = '', objects = [] } = question;
  const convertedObjects = objects.map((object) => ({ ...object, apiVersion: desiredAPIVersion }));
  const answer =
    kind === 'ConversionReview' ? { uid, result: { status: 'Success' }, convertedObjects } : { uid, allowed: true };
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ apiVersion, kind, response: answer }));
}

beforeEach(async () => {
  asked = [];
  const { cert, key } = await selfSigned('CN=hook', ['hook.default.svc']);
  ca = Buffer.from(cert).toString('base64');
  server = createServer({ cert, key }, (request, response) => void handle(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cluster = await testCluster();
});
afterEach(async () => {
  await cluster.close();
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

const port = (): number => (server.address() as AddressInfo).port;

/**
 * The Service "hook", for whose name the certificate is valid. Endpoints may not be on 127.0.0.1, but an external name
 * may.
 */
async function serve(name = 'hook'): Promise<void> {
  const spec = { type: 'ExternalName', externalName: 'localhost' } as const;
  await cluster.client.create(Service, { metadata: { namespace, name }, spec });
}

async function define(service: { readonly name?: string; readonly path?: string } = {}): Promise<void> {
  const clientConfig = { service: { namespace, name: 'hook', port: port(), ...service }, caBundle: ca };
  const versions = [
    { name: 'v1', served: true, storage: true, schema },
    { name: 'v2', served: true, storage: false, schema },
  ];
  const conversion = { strategy: 'Webhook', webhook: { clientConfig, conversionReviewVersions: ['v1'] } };
  const names = { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' };
  await installCrds(cluster.client, [
    {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'widgets.example.com' },
      spec: { group: 'example.com', scope: 'Namespaced', names, versions, conversion },
    } as never,
  ]);
  await cluster.client.create(v1, { metadata: { namespace, name: 'a' }, spec: { n: 1 } } as never);
}

async function admitBy(service: { readonly name?: string; readonly path?: string } = {}): Promise<void> {
  const rules = [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE' as const], resources: ['configmaps'] }];
  const webhook = {
    name: 'hook.example.com',
    clientConfig: { service: { namespace, name: 'hook', port: port(), ...service }, caBundle: ca },
    ...{ rules, sideEffects: 'None' as const, admissionReviewVersions: ['v1'] },
  };
  await cluster.client.create(ValidatingWebhookConfiguration, { metadata: { name: 'hook' }, webhooks: [webhook] });
  await cluster.settle();
}

async function refusal(call: Promise<unknown>): Promise<string> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!isStatusError(error)) throw new Error(`no StatusError: ${String(error)}`);
  return `${error.code} ${error.message.replaceAll(String(port()), 'PORT')}`;
}

const read = (): Promise<unknown> => cluster.client.get(v2, { namespace, name: 'a' });
const write = (): Promise<unknown> => cluster.client.create(ConfigMap, { metadata: { namespace, name: 'm' } });
const conversion = '500 conversion webhook for example.com/v1, Kind=Widget failed: ';
const admission = '500 Internal error occurred: failed calling webhook "hook.example.com": failed to call webhook: ';

describe('a webhook that names a Service', () => {
  it('converts at the path that is named, under the name of the Service', async () => {
    await serve();
    await define({ path: '/convert' });
    expect(await read()).toMatchObject({ apiVersion: 'example.com/v2', spec: { n: 1 } });
    expect(asked).toEqual([{ path: '/convert?timeout=30s', host: `hook.default.svc:${port()}` }]);
  });

  it('admits, at / where no path is named', async () => {
    await serve();
    await admitBy();
    await write();
    expect(asked).toEqual([{ path: '/?timeout=10s', host: `hook.default.svc:${port()}` }]);
  });

  it('is not trusted with a certificate for another name', async () => {
    await serve('other');
    await define({ name: 'other' });
    await admitBy({ name: 'other' });
    const why =
      'tls: failed to verify certificate: x509: certificate is valid for hook.default.svc, not other.default.svc';
    expect(await refusal(read())).toBe(`${conversion}Post "https://other.default.svc:PORT/?timeout=30s": ${why}`);
    expect(await refusal(write())).toBe(`${admission}Post "https://other.default.svc:PORT/?timeout=10s": ${why}`);
    expect(asked).toEqual([]);
  });

  it('fails while there is no Service, and works once there is one', async () => {
    await define();
    await admitBy();
    const missing = 'service "hook" not found';
    expect(await refusal(read())).toBe(`${conversion}Post "https://hook.default.svc:PORT/?timeout=30s": ${missing}`);
    expect(await refusal(write())).toBe(`${admission}Post "https://hook.default.svc:PORT/?timeout=10s": ${missing}`);
    await serve();
    await vi.waitFor(read, { timeout: 10_000, interval: 50 });
    await vi.waitFor(write, { timeout: 10_000, interval: 50 });
  });
});
