// Traces of requests, over real sockets: a server, a webhook, and a collector that decodes the spans.
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json, text } from 'node:stream/consumers';
import { silentLogger, systemClock } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import type { FinishedSpan } from '@kapstan/apiserver';
import { createIssuer } from '@kapstan/controller/certificates';
import { ValidatingWebhookConfiguration } from '@kapstan/kinds/admissionregistration.k8s.io/v1';
import { CustomResourceDefinition } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { findEtcd, startEtcd } from '@kapstan/storage-etcd/testing';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { startControlPlane } from '../control-plane.ts';
import type { ControlPlane, ControlPlaneOptions } from '../options/control-plane-options.ts';
import { type CollectedSpan, TraceCollector } from '../testing/trace-collector.ts';
import { OtlpExporter } from './otlp-exporter.ts';
import { SpanBatches } from './span-batches.ts';

const etcd = findEtcd();

let directory: string;
let plane: ControlPlane | undefined;
let collector: TraceCollector;
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'kapstan-tracing-'));
  collector = new TraceCollector();
  await collector.listen();
});
afterEach(async () => {
  await plane?.close();
  plane = undefined;
  collector.close();
  rmSync(directory, { recursive: true });
});

function configuration(rate?: number): string {
  const sampling = rate === undefined ? '' : `samplingRatePerMillion: ${rate}\n`;
  return `apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\nendpoint: 127.0.0.1:${collector.port}\n${sampling}`;
}

async function start(rate?: number, more: Partial<ControlPlaneOptions> = {}): Promise<ControlPlane> {
  const tokens = { text: 'anybody,anybody,1\n', fileName: 'tokens.csv' };
  plane = await startControlPlane({
    dataDir: join(directory, 'data'),
    tracing: configuration(rate),
    tokens,
    controlLoops: ['none'],
    ...more,
  });
  return plane;
}

interface Asked {
  readonly method?: string;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
  readonly token?: string;
}

function ask({ url, caCert, token }: ControlPlane, path: string, asked: Asked = {}): Promise<number> {
  const headers = { authorization: `Bearer ${asked.token ?? token}`, ...asked.headers };
  const type = asked.body === undefined ? {} : { 'content-type': 'application/json' };
  return new Promise((resolve, reject) => {
    const options = {
      method: asked.method ?? 'GET',
      ca: caCert,
      headers: { ...headers, ...type },
      agent: false as const,
    };
    const sent = request(`${url}${path}`, options, (answer) => {
      void text(answer).then(() => resolve(answer.statusCode ?? 0), reject);
    });
    sent.on('error', reject);
    sent.end(asked.body === undefined ? undefined : JSON.stringify(asked.body));
  });
}

/** Ends the server, which sends all spans. */
async function spansOf(running: ControlPlane): Promise<readonly CollectedSpan[]> {
  await running.close();
  return collector.spans;
}

const traceId = '0af7651916cd43dd8448eb211c80319c';
const caller = 'b7ad6b7169203331';
const traced = { traceparent: `00-${traceId}-${caller}-01` };
const configMaps = '/api/v1/namespaces/default/configmaps';
const parentOf = (spans: readonly CollectedSpan[], { parentSpanId }: CollectedSpan) =>
  spans.find(({ spanId }) => spanId === parentSpanId);
/** Names of the spans that hold this one, the nearest first. */
function ancestorsOf(spans: readonly CollectedSpan[], span: CollectedSpan): readonly string[] {
  const parent = parentOf(spans, span);
  return parent === undefined ? [] : [parent.name, ...ancestorsOf(spans, parent)];
}
/** Filters that a request passes, the last first. */
const filters = ['authorization', 'priorityandfairness', 'constrainedimpersonation', 'audit'];
const named = (spans: readonly CollectedSpan[], name: string): CollectedSpan => {
  const found = spans.find((span) => span.name === name);
  expect(found, name).toBeDefined();
  return found as CollectedSpan;
};

describe('the trace of a request', () => {
  it("continues its caller's trace: the exchange, the steps of the request, and the calls of the store", async () => {
    const running = await start();
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } };
    const headers = { ...traced, 'user-agent': 'tester/1', 'audit-id': 'audit-1' };
    expect(await ask(running, `${configMaps}?x=1`, { method: 'POST', body, headers })).toBe(201);
    const { port } = new URL(running.url);
    const spans = await spansOf(running);
    expect(collector.resources[0]).toEqual({
      'service.name': 'apiserver',
      'service.instance.id': expect.stringMatching(/^apiserver-[a-z0-9]{26}$/),
    });
    const exchange = named(spans, 'POST /api/v1/namespaces/{:namespace}/configmaps');
    expect(exchange).toMatchObject({
      traceId,
      parentSpanId: caller,
      kind: 'SPAN_KIND_SERVER',
      isError: false,
      links: [],
    });
    expect(exchange.attributes).toEqual({
      'server.address': '127.0.0.1',
      'http.request.method': 'POST',
      'url.scheme': 'https',
      'server.port': Number(port),
      'network.peer.address': '127.0.0.1',
      'network.peer.port': expect.any(Number),
      'user_agent.original': 'tester/1',
      'client.address': '127.0.0.1',
      'url.path': configMaps,
      'network.protocol.version': '1.1',
      'http.target': `${configMaps}?x=1`,
      'audit-id': 'audit-1',
      'http.request.body.size': JSON.stringify(body).length,
      'http.response.body.size': expect.any(Number),
      'http.response.status_code': 201,
    });
    const create = named(spans, 'Create');
    expect(create).toMatchObject({ traceId, kind: 'SPAN_KIND_INTERNAL' });
    expect(ancestorsOf(spans, create)).toEqual([...filters, exchange.name]);
    expect(create.attributes).toEqual({
      accept: '',
      'audit-id': 'audit-1',
      client: '127.0.0.1',
      'api-group': '',
      'api-version': 'v1',
      name: '',
      subresource: '',
      namespace: 'default',
      protocol: 'HTTP/1.1',
      resource: 'configmaps',
      scope: 'resource',
      url: configMaps,
      'user-agent': 'tester/1',
      verb: 'POST',
    });
    expect(create.events.map(({ name }) => name)).toEqual([
      'limitedReadBody succeeded',
      'About to convert to expected version',
      'Conversion done',
      'About to store object in database',
      'Write to database call succeeded',
      'About to write a response',
      'Writing http response done',
    ]);
    expect(create.events[0]?.attributes).toEqual({ len: JSON.stringify(body).length });
    const encoding = named(spans, 'SerializeObject');
    expect(parentOf(spans, encoding)).toBe(create);
    expect(encoding.attributes).toEqual({
      'audit-id': 'audit-1',
      method: 'POST',
      url: configMaps,
      protocol: 'HTTP/1.1',
      mediaType: 'application/json',
    });
    const size = exchange.attributes['http.response.body.size'];
    expect(encoding.events).toEqual([
      { name: 'About to start writing response', attributes: { size } },
      { name: 'Write call succeeded', attributes: { size } },
    ]);
    const authentication = named(spans, 'authentication');
    expect(parentOf(spans, authentication)).toBe(exchange);
    const store = named(spans, 'Create etcd3');
    expect(parentOf(spans, store)).toBe(create);
    expect(store.events.map(({ name }) => name)).toContain('Txn call succeeded');
    expect(store.attributes['audit-id']).toBe('audit-1');
    expect(store.durationNanos).toBeGreaterThan(0n);
  });

  it.each([
    ['GET', '/a', 'Get'],
    ['GET', '', 'List'],
    ['PUT', '/a', 'Update'],
    ['DELETE', '/a', 'Delete'],
    ['DELETE', '', 'Delete'],
  ])('has a span for what %s of %j does: %s', async (method, path, name) => {
    const running = await start(1_000_000);
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } };
    await ask(running, configMaps, { method: 'POST', body });
    await ask(running, `${configMaps}${path}`, { method, ...(method === 'PUT' && { body }) });
    const spans = await spansOf(running);
    const exchange = path === '' ? 'configmaps' : 'configmaps/{:name}';
    expect(ancestorsOf(spans, named(spans, name)).slice(-2)).toEqual([
      `${method} /api/v1/namespaces/{:namespace}/${exchange}`,
      'authentication',
    ]);
  });

  it('shows what the watch cache answered', async () => {
    const running = await start();
    await ask(running, `${configMaps}?resourceVersion=0`, { headers: { ...traced, 'audit-id': 'audit-2' } });
    const spans = await spansOf(running);
    const list = named(spans, 'cacher.GetList');
    expect(parentOf(spans, list)?.name).toBe('List');
    expect(list.attributes).toEqual({ 'audit-id': 'audit-2', type: 'configmaps' });
    // Source: cacher.go, watch_cache.go; there is no lock to be acquired and no result to be resized here.
    expect(list.events.map(({ name, attributes }) => [name, attributes])).toEqual([
      ['Ready', {}],
      ['watchCache fresh enough', {}],
      ['Listed items from cache', { count: expect.any(Number) }],
      ['Filtered items', { count: expect.any(Number) }],
    ]);
  });

  it('contains what the watch cache asks of the store', async () => {
    const running = await start();
    await ask(running, `${configMaps}/none`, { headers: traced });
    const spans = await spansOf(running);
    expect(ancestorsOf(spans, named(spans, 'Get etcd3')).slice(0, 2)).toEqual(['cacher.Get', 'Get']);
    expect(parentOf(spans, named(spans, 'SerializeObject'))?.name).toBe('Get');
    expect(named(spans, 'cacher.Get').events.map(({ name }) => name)).toEqual(['About to Get from underlying storage']);
  });

  it.each([
    ['watch=1&timeoutSeconds=1', ['authorization'], ['authorization'], []],
    [
      'watch=1&timeoutSeconds=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan',
      ['WatchList', 'authorization'],
      ['WatchList', 'authorization'],
      ['Writing initial events done'],
    ],
  ])('of a watch has its start in the cache, and its stream: %s', async (query, inCache, inStream, events) => {
    const running = await start();
    expect(await ask(running, `${configMaps}?${query}`, { headers: traced })).toBe(200);
    const spans = await spansOf(running);
    const watch = named(spans, 'cacher.Watch');
    expect(watch.attributes).toMatchObject({ type: 'configmaps' });
    expect(ancestorsOf(spans, watch).slice(0, inCache.length)).toEqual(inCache);
    const stream = named(spans, 'WatchServer.HandleHTTP');
    expect(ancestorsOf(spans, stream).slice(0, inStream.length)).toEqual(inStream);
    expect(stream.events.map(({ name }) => name)).toEqual(['About to start writing response', ...events]);
  });

  it.skipIf(etcd === undefined)('has a span of each call to etcd, as kube-apiserver has', async () => {
    const [member] = await startEtcd({ binary: etcd ?? '' });
    onTestFinished(() => member.remove());
    const running = await start(undefined, { etcd: { endpoints: [member.endpoint] } });
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } };
    await ask(running, configMaps, { method: 'POST', body, headers: traced });
    await ask(running, `${configMaps}/a`, { headers: traced });
    const spans = await spansOf(running);
    const write = named(spans, 'etcdserverpb.KV/Txn');
    expect(write).toMatchObject({ traceId, kind: 'SPAN_KIND_CLIENT', isError: false });
    expect(write.attributes).toEqual({
      'rpc.method': 'etcdserverpb.KV/Txn',
      'rpc.system.name': 'grpc',
      'server.address': '127.0.0.1',
      'server.port': Number(new URL(member.endpoint).port),
      'rpc.response.status_code': 'OK',
    });
    expect(write.events.map(({ attributes }) => attributes['rpc.message.type'])).toEqual(['SENT', 'RECEIVED']);
    expect(ancestorsOf(spans, write).slice(0, 2)).toEqual(['Create etcd3', 'Create']);
    const read = named(spans, 'etcdserverpb.KV/Range');
    expect(ancestorsOf(spans, read).slice(0, 3)).toEqual(['Get etcd3', 'cacher.Get', 'Get']);
  });

  it('is a new one with a link, and only sampled, where the caller may not decide', async () => {
    const running = await start();
    await ask(running, '/version', { token: 'anybody', headers: traced });
    expect(await spansOf(running)).toEqual([]);
    collector.spans.length = 0;
    const other = await start(1_000_000);
    await ask(other, '/version', { token: 'anybody', headers: traced });
    const span = named(await spansOf(other), 'GET');
    expect(span).toMatchObject({ name: 'GET', parentSpanId: '', links: [{ traceId, spanId: caller }] });
    expect(span.traceId).not.toBe(traceId);
  });

  it.each([
    ['it did not ask', {}],
    ['its caller does not trace', { traceparent: `00-${traceId}-${caller}-00` }],
    ['its header is wrong', { traceparent: `00-${traceId}-${caller}-01-more` }],
  ])('is not made without a rate when %s', async (_why, headers) => {
    const running = await start();
    await ask(running, '/version', { headers });
    expect(await spansOf(running)).toEqual([]);
    expect(collector.requests).toBe(0);
  });

  it('reports failures of the server, not those of the client', async () => {
    const running = await start();
    expect(await ask(running, `${configMaps}/none`, { headers: traced })).toBe(404);
    const spans = await spansOf(running);
    expect(spans.map(({ name, isError }) => [name, isError])).toEqual([
      ['authentication', false],
      ['Get etcd3', false],
      ['cacher.Get', false],
      ['SerializeObject', false],
      ['Get', false],
      ...filters.map((name) => [name, false]),
      ['GET /api/v1/namespaces/{:namespace}/configmaps/{:name}', false],
    ]);
  });
});

describe('the trace of a request that admission webhooks see', () => {
  it('goes on in the webhook', async () => {
    const running = await start();
    const { client, close } = await startWebhook(running);
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } };
    for (const flags of ['01', '00']) {
      const headers = { traceparent: `00-${traceId}-${caller}-${flags}`, baggage: `flags=${flags}` };
      await ask(running, `${configMaps}?dryRun=All`, { method: 'POST', body, headers });
    }
    const [first, second] = client;
    await close();
    expect([first?.baggage, second?.baggage]).toEqual(['flags=01', 'flags=00']);
    const spans = await spansOf(running);
    const call = named(spans, 'Call validating webhook');
    expect(parentOf(spans, call)?.name).toBe('Create');
    expect(call.attributes).toEqual({
      configuration: 'hook',
      webhook: 'hook.example.com',
      resource: '/v1, Resource=configmaps',
      subresource: '',
      operation: 'CREATE',
      UID: first?.uid,
    });
    expect(call.events.map(({ name }) => name)).toEqual(['Request completed']);
    const post = named(spans, 'HTTP POST');
    expect(post).toMatchObject({ kind: 'SPAN_KIND_CLIENT', parentSpanId: call.spanId });
    expect(first?.traceParent).toBe(`00-${traceId}-${post.spanId}-01`);
    expect(second?.traceParent).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-00$`));
    expect(spans.filter(({ name }) => name === 'HTTP POST')).toHaveLength(1);
  });
});

describe('the trace of a request whose objects a webhook converts', () => {
  it('goes on in the webhook', async () => {
    const running = await start();
    const { seen, clientConfig, close } = await listen(({ uid, objects = [], desiredAPIVersion }) => ({
      kind: 'ConversionReview',
      response: {
        uid,
        result: { status: 'Success' },
        convertedObjects: objects.map((object) => ({ ...object, apiVersion: desiredAPIVersion })),
      },
    }));
    const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
    await running.client.create(CustomResourceDefinition, {
      metadata: { name: 'foos.demo.dev' },
      spec: {
        group: 'demo.dev',
        scope: 'Namespaced',
        names: { plural: 'foos', kind: 'Foo' },
        versions: ['v1', 'v2'].map((name) => ({ name, served: true, storage: name === 'v1', schema })),
        conversion: { strategy: 'Webhook', webhook: { clientConfig, conversionReviewVersions: ['v1'] } },
      },
    });
    const foos = (version: string): string => `/apis/demo.dev/${version}/namespaces/default/foos`;
    const body = { apiVersion: 'demo.dev/v1', kind: 'Foo', metadata: { name: 'a' } };
    await expect.poll(() => ask(running, foos('v1'), { method: 'POST', body })).toBe(201);
    expect(await ask(running, foos('v2'), { headers: { ...traced, baggage: 'a=b' } })).toBe(200);
    await close();
    const spans = await spansOf(running);
    const call = named(spans, 'Call conversion webhook');
    expect(parentOf(spans, call)?.name).toBe('List');
    expect(call.attributes).toEqual({
      'custom-resource-definition': 'foos.demo.dev',
      'desired-api-version': 'demo.dev/v2',
      'object-count': 1,
      UID: seen[0]?.uid,
    });
    expect(call.events.map(({ name }) => name)).toEqual(['Request completed']);
    const post = named(spans, 'HTTP POST');
    expect(post).toMatchObject({ kind: 'SPAN_KIND_CLIENT', parentSpanId: call.spanId });
    expect(seen).toMatchObject([{ traceParent: `00-${traceId}-${post.spanId}-01`, baggage: 'a=b' }]);
  });
});

interface Review {
  readonly traceParent: string | undefined;
  readonly baggage: string | undefined;
  readonly uid: string;
}

interface Asking {
  readonly uid: string;
  readonly objects?: readonly object[];
  readonly desiredAPIVersion?: string;
}

/** Starts a webhook that answers each review. */
async function listen(answerTo: (request: Asking) => object) {
  const nowMs = systemClock.now();
  const issuer = await createIssuer(undefined, { nowMs, lifetimeMs: 60_000 });
  const serving = { commonName: 'hook', hosts: ['127.0.0.1'], usage: 'server', nowMs, lifetimeMs: 60_000 } as const;
  const seen: Review[] = [];
  const server = createServer(await issuer.issue(serving), (incoming, answer) => {
    void json(incoming).then((review) => {
      const { apiVersion, request: asked } = review as { apiVersion: string; request: Asking };
      const { traceparent, baggage } = incoming.headers as Readonly<Record<string, string | undefined>>;
      seen.push({ traceParent: traceparent, baggage, uid: asked.uid });
      answer.setHeader('content-type', 'application/json');
      answer.end(JSON.stringify({ apiVersion, ...answerTo(asked) }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const clientConfig = {
    url: `https://127.0.0.1:${port}/`,
    caBundle: Buffer.from(issuer.authority.cert).toString('base64'),
  };
  const close = (): Promise<unknown> => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  };
  return { seen, clientConfig, close };
}

async function startWebhook(running: ControlPlane) {
  const { seen, clientConfig, close } = await listen(({ uid }) => ({
    kind: 'AdmissionReview',
    response: { uid, allowed: true },
  }));
  await running.client.create(ValidatingWebhookConfiguration, {
    metadata: { name: 'hook' },
    webhooks: [
      {
        name: 'hook.example.com',
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        clientConfig,
        rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }],
      },
    ],
  });
  return { client: seen, close };
}

describe('a collector', () => {
  it('is reported once when it fails', async () => {
    const { told, logger } = listening();
    const clock = new VirtualClock();
    const exporter = { export: () => Promise.reject(new Error('14 UNAVAILABLE')), close: () => undefined };
    const batches = new SpanBatches({ exporter, clock, logger });
    for (const name of ['a', 'b']) {
      batches.add(span(name));
      await clock.advance(5000);
    }
    await batches.close();
    expect(told).toEqual(['the trace collector does not take spans; they are lost until it does']);
    expect(clock.pendingTimers).toBe(0);
  });

  it('ends the loss when it comes back, and a log line says how many spans were lost', async () => {
    const { told, logger } = listening();
    const clock = new VirtualClock();
    const warned: unknown[] = [];
    const counting = {
      ...logger,
      warn: (message: string, fields?: object) => void warned.push({ message, ...fields }),
    };
    let isUp = false;
    const sent: number[] = [];
    const exporter = {
      export: async (spans: readonly unknown[]) => {
        if (!isUp) throw new Error('14 UNAVAILABLE');
        sent.push(spans.length);
      },
      close: () => undefined,
    };
    const batches = new SpanBatches({ exporter, clock, logger: counting });
    // The first 512 are sent at once, 2,048 wait behind them, and there is no room for the last three.
    for (let count = 0; count < 512 + 2048 + 3; count++) batches.add(span('a'));
    await clock.advance(5000);
    isUp = true;
    batches.add(span('b'));
    await batches.close();
    expect(told).toEqual(['the trace collector does not take spans; they are lost until it does']);
    expect(sent).toEqual([1]);
    expect(warned).toEqual([{ message: 'the trace collector takes spans again', lost: 2563 }]);
  });

  it('receives later spans, whole, after it refused some', async () => {
    const { told, logger } = listening();
    const endpoint = `127.0.0.1:${collector.port}`;
    const exporter = new OtlpExporter({ endpoint, resource: { 'service.name': 'x' }, clock: systemClock });
    const batches = new SpanBatches({ exporter, clock: systemClock, logger });
    collector.answers = 'refused';
    for (let i = 0; i < 512; i++) batches.add(span('lost'));
    await collector.nextRequest();
    collector.answers = 'ok';
    const attributes = { text: 't', count: 3, share: 0.5, isTrue: true };
    const events = [{ name: 'e', atMs: 2, attributes: { len: 1 } }];
    batches.add({ ...span('kept'), attributes, events, isError: true });
    await batches.close();
    expect(collector.spans).toEqual([
      {
        ...{ traceId, spanId: caller, parentSpanId: '', name: 'kept', kind: 'SPAN_KIND_INTERNAL' },
        durationNanos: 1_000_000n,
        attributes,
        events: [{ name: 'e', attributes: { len: 1 } }],
        links: [],
        isError: true,
      },
    ]);
    expect(told).toEqual([
      'the trace collector does not take spans; they are lost until it does',
      'the trace collector takes spans again',
    ]);
  });

  it('is given up when it never answers and the server ends', async () => {
    collector.answers = 'never';
    const endpoint = `127.0.0.1:${collector.port}`;
    const exporter = new OtlpExporter({ endpoint, resource: {}, clock: systemClock });
    const stop = new AbortController();
    const sent = exporter.export([span('a')], stop.signal);
    await collector.nextRequest();
    stop.abort(new Error('the server is shutting down'));
    await expect(sent).rejects.toThrow('the server is shutting down');
    exporter.close();
  });
});

function listening() {
  const told: string[] = [];
  const tell = (message: string): void => void told.push(message);
  return { told, logger: { ...silentLogger, warn: tell, error: tell } };
}

function span(name: string): FinishedSpan {
  const context = { traceId, spanId: caller, isSampled: true, traceState: '' };
  const times = { startMs: 0, endMs: 1 };
  return {
    context,
    parentSpanId: '',
    name,
    kind: 'internal',
    ...times,
    attributes: {},
    events: [],
    links: [],
    isError: false,
  };
}

describe('spans on their way', () => {
  function batchesOf(answer: () => Promise<void>) {
    const batches: number[] = [];
    const clock = new VirtualClock();
    let closes = 0;
    const exporter = {
      export: (spans: readonly FinishedSpan[], signal: AbortSignal) => {
        batches.push(spans.length);
        return Promise.race([
          answer(),
          new Promise<void>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
        ]);
      },
      close: () => void closes++,
    };
    return { sink: new SpanBatches({ exporter, clock, logger: silentLogger }), batches, clock, closes: () => closes };
  }

  it('are sent when a batch is full, or after five seconds', async () => {
    const { sink, batches, clock } = batchesOf(() => Promise.resolve());
    for (let i = 0; i < 513; i++) sink.add(span('a'));
    await clock.advance(4999);
    expect(batches).toEqual([512]);
    await clock.advance(5001);
    expect(batches).toEqual([512, 1]);
    expect(clock.pendingTimers).toBe(0);
  });

  it('are no more than 2,048 besides those under way, however slow the collector', async () => {
    let release: () => void = () => undefined;
    const slow = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { sink, batches, clock, closes } = batchesOf(() => slow);
    for (let i = 0; i < 5000; i++) sink.add(span('a'));
    expect(batches).toEqual([512]);
    release();
    await sink.close();
    expect(batches).toEqual([512, 512, 512, 512, 512]);
    expect(closes()).toBe(1);
    expect(clock.pendingTimers).toBe(0);
  });

  it('are given up after a limited time when the server ends', async () => {
    const { sink, batches, clock, closes } = batchesOf(() => new Promise(() => undefined));
    for (let i = 0; i < 1000; i++) sink.add(span('a'));
    const closed = sink.close();
    await clock.advance(5000);
    await closed;
    expect([batches, closes(), clock.pendingTimers]).toEqual([[512], 1, 0]);
  });
});

describe('the configuration of tracing', () => {
  it('stops the start when it is wrong', async () => {
    await expect(startControlPlane({ dataDir: join(directory, 'data'), tracing: 'a: b' })).rejects.toThrow(
      "tracing: failed to read tracing config: unable to decode tracing configuration data: Object 'Kind' is missing in 'a: b'",
    );
  });
});
