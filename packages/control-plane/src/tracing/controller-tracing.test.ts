// Traces of controllers with the SDK of OpenTelemetry: over HTTP to a server that traces too, and in its process.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ResourceClient, silentLogger } from '@kapstan/api';
import { Client } from '@kapstan/client';
import { type Controller, controller, Manager, type ManagerTracing, TerminalError } from '@kapstan/controller';
import { ConfigMap, Secret } from '@kapstan/kinds/core/v1';
import * as opentelemetry from '@opentelemetry/api';
import {
  AlwaysOffSampler,
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startControlPlane } from '../control-plane.ts';
import type { ControlPlane } from '../options/control-plane-options.ts';
import { TraceCollector } from '../testing/trace-collector.ts';

const api: ManagerTracing['api'] = opentelemetry;
let directory: string;
let exporter: InMemorySpanExporter;
let collector: TraceCollector;
let plane: ControlPlane;
let over: AbortController;
const closers: (() => Promise<unknown>)[] = [];

beforeEach(async () => {
  over = new AbortController();
  directory = mkdtempSync(join(tmpdir(), 'kapstan-controller-tracing-'));
  exporter = new InMemorySpanExporter();
  collector = new TraceCollector();
  await collector.listen();
  const tracing = `apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\nendpoint: 127.0.0.1:${collector.port}\n`;
  plane = await startControlPlane({ dataDir: join(directory, 'data'), tracing, controlLoops: ['none'] });
});
afterEach(async () => {
  over.abort(new Error('the test is over'));
  for (const close of closers.splice(0).reverse()) await close();
  await plane.close();
  collector.close();
  opentelemetry.trace.disable();
  opentelemetry.context.disable();
  opentelemetry.propagation.disable();
  rmSync(directory, { recursive: true });
});

const spanProcessors = () => [new SimpleSpanProcessor(exporter)];

/** Without registration, there is no context manager and no propagator. */
const unregistered = () => ({ api, tracerProvider: new BasicTracerProvider({ spanProcessors: spanProcessors() }) });

function registered(): ManagerTracing {
  new NodeTracerProvider({ spanProcessors: spanProcessors() }).register();
  return { api };
}

function httpClient(): ResourceClient {
  const { url, caCert, token } = plane;
  const client = new Client({ server: url, tls: { ca: caCert }, token });
  closers.push(() => client.close());
  return client;
}

/** Runs until the test ends. */
async function manage(controllers: readonly Controller[], client: ResourceClient, tracing?: ManagerTracing) {
  const stop = new AbortController();
  const manager = new Manager(controllers, { client, tracing, namespaces: ['default'], logger: silentLogger });
  const running = manager.run(stop.signal);
  closers.push(() => {
    stop.abort();
    return running;
  });
  await manager.whenReady();
}

/** Resolves to the spans once one is there that fits. */
async function spanWith(fits: (span: ReadableSpan) => boolean): Promise<ReadableSpan> {
  const find = () => exporter.getFinishedSpans().find(fits);
  await until(() => find() !== undefined);
  return find() as ReadableSpan;
}

/** Looks once a turn. Rejects when the test is over. */
async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  const { signal } = over;
  while (!(await isSo())) {
    signal.throwIfAborted();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const isCopied = (client: ResourceClient) => async () =>
  (await client.list(ConfigMap, { namespace: 'default' })).some((map) => isNamed(map, 'a-copy'));

const spansNamed = (name: string) => exporter.getFinishedSpans().filter((span) => span.name === name);
const parentOf = (span: ReadableSpan | undefined) => span?.parentSpanContext?.spanId;
const idOf = (span: ReadableSpan) => span.spanContext().spanId;
const isNamed = (object: { readonly metadata?: { readonly name?: string } } | undefined, name: string): boolean =>
  object?.metadata?.name === name;
const configMap = (name: string, more: object = {}) =>
  ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'default', ...more } }) as const;

/** Copies the map "a" into "a-copy". */
const copier = () =>
  controller(ConfigMap)
    .when(({ object }) => isNamed(object, 'a'))
    .reconcile(async ({ data = {} }, { client, apply }) => {
      await client.get(ConfigMap, { namespace: 'default', name: 'missing' }).catch(() => undefined);
      await apply(ConfigMap, { metadata: { name: 'a-copy' }, data });
    });

describe('a traced reconcile over HTTP', () => {
  it.each([
    ['with a context manager and a propagator', registered],
    ['without any', unregistered],
  ])('has its cause, its calls as parts, and the spans of the server as parts of these, %s', async (_how, tracing) => {
    const client = httpClient();
    await manage([copier()], client, tracing());
    await client.create(ConfigMap, configMap('a'));
    const run = await spanWith(({ name }) => name === 'reconcile configmap');
    expect(run.parentSpanContext).toBeUndefined();
    const { resourceVersion } = (await client.get(ConfigMap, { namespace: 'default', name: 'a' })).metadata ?? {};
    expect(run.attributes).toEqual({
      'kapstan.controller': 'configmap',
      'kapstan.object.kind': 'ConfigMap',
      'k8s.namespace.name': 'default',
      'kapstan.object.name': 'a',
      'kapstan.attempt': 0,
      'kapstan.queue.wait_ms': expect.any(Number),
      'kapstan.causes': 1,
      'kapstan.cause.type': 'added',
      'kapstan.cause.through': 'itself',
      'kapstan.cause.kind': 'ConfigMap',
      'kapstan.cause.namespace': 'default',
      'kapstan.cause.name': 'a',
      'kapstan.cause.resource_version': resourceVersion,
      'kapstan.result': 'success',
    });
    expect(run.events.map(({ name, attributes }) => [name, attributes?.['kapstan.object.name']])).toEqual([
      ['wrote', 'a-copy'],
    ]);
    const path = '/api/v1/namespaces/{:namespace}/configmaps/{:name}';
    const [get] = spansNamed(`GET ${path}`);
    const [patch] = spansNamed(`PATCH ${path}`);
    expect([parentOf(get), parentOf(patch)]).toEqual([idOf(run), idOf(run)]);
    const { hostname, port, origin } = new URL(plane.url);
    expect(get?.attributes).toEqual({
      'http.request.method': 'GET',
      'url.full': `${origin}/api/v1/namespaces/default/configmaps/missing`,
      'url.template': path,
      'server.address': hostname,
      'server.port': Number(port),
      'http.response.status_code': 404,
      'error.type': '404',
    });
    expect(get?.kind).toBe(opentelemetry.SpanKind.CLIENT);
    expect([get?.status.code, patch?.status.code]).toEqual([
      opentelemetry.SpanStatusCode.ERROR,
      opentelemetry.SpanStatusCode.UNSET,
    ]);
    expect(patch?.attributes['http.response.status_code']).toBe(201);
    await plane.close();
    const served = collector.spans.filter(({ traceId }) => traceId === run.spanContext().traceId);
    expect(served.find(({ name }) => name.startsWith('PATCH'))?.parentSpanId).toBe(patch && idOf(patch));
    expect(served.find(({ name }) => name.startsWith('GET'))?.parentSpanId).toBe(get && idOf(get));
  });

  it('makes calls within a span of the program parts of that span', async () => {
    const client = httpClient();
    const tracing = registered();
    const tracer = opentelemetry.trace.getTracer('program');
    const own = controller(ConfigMap)
      .when(({ object }) => isNamed(object, 'a'))
      .reconcile(async (_object, ctx) => {
        await tracer.startActiveSpan('own', async (span) => {
          await ctx.client.get(ConfigMap, { namespace: 'default', name: 'a' });
          span.end();
        });
      });
    await manage([own], client, tracing);
    await client.create(ConfigMap, configMap('a'));
    const run = await spanWith(({ name }) => name === 'reconcile configmap');
    const [span] = spansNamed('own');
    const [get] = exporter.getFinishedSpans().filter(({ name }) => name.startsWith('GET'));
    expect([parentOf(span), parentOf(get)]).toEqual([idOf(run), span && idOf(span)]);
  });

  it('has no part in the span in which the manager was started', async () => {
    const client = httpClient();
    const tracing = registered();
    await opentelemetry.trace.getTracer('program').startActiveSpan('start', async (span) => {
      await manage([copier()], client, tracing);
      span.end();
    });
    await client.create(ConfigMap, configMap('a'));
    expect((await spanWith(({ name }) => name === 'reconcile configmap')).parentSpanContext).toBeUndefined();
  });

  it('tells the server not to trace what the sampler leaves out', async () => {
    const client = httpClient();
    const tracerProvider = new BasicTracerProvider({
      spanProcessors: spanProcessors(),
      sampler: new AlwaysOffSampler(),
    });
    await manage([copier()], client, { api, tracerProvider });
    await client.create(ConfigMap, configMap('a'));
    await until(isCopied(client));
    await plane.close();
    expect([exporter.getFinishedSpans(), collector.spans]).toEqual([[], []]);
  });
});

describe('a traced reconcile in the process of the server', () => {
  it('has a span of each call', async () => {
    const failing = controller(ConfigMap)
      .when(({ object }) => isNamed(object, 'a'))
      .reconcile(async (_object, { client }) => {
        await client.list(ConfigMap, { namespace: 'default' });
        for await (const _page of client.list(ConfigMap).pages());
        await client.get(ConfigMap, { namespace: 'default', name: 'missing' });
      });
    await manage([failing], plane.client, unregistered());
    await plane.client.create(ConfigMap, configMap('a'));
    const run = await spanWith(({ name }) => name === 'reconcile configmap');
    const calls = exporter.getFinishedSpans().filter((span) => parentOf(span) === idOf(run));
    expect(calls.map(({ name, status }) => [name, status.code])).toEqual([
      ['list configmaps', opentelemetry.SpanStatusCode.UNSET],
      ['list configmaps', opentelemetry.SpanStatusCode.UNSET],
      ['get configmaps', opentelemetry.SpanStatusCode.ERROR],
    ]);
    expect(calls[2]?.attributes).toEqual({
      'kapstan.verb': 'get',
      'kapstan.resource': 'configmaps',
      'k8s.namespace.name': 'default',
      'kapstan.object.name': 'missing',
      'error.type': 'NotFound',
    });
    expect(run.attributes).toMatchObject({ 'kapstan.result': 'error', 'kapstan.terminal': false });
    expect(run.events.map(({ name }) => name)).toContain('exception');
    const again = await spanWith((span) => span.attributes['kapstan.attempt'] === 1);
    expect(again.attributes).toMatchObject({ 'kapstan.cause.type': 'retry' });
  });

  it('names what woke it: all causes, and how a run asked for the next', async () => {
    let runs = 0;
    const again = controller(ConfigMap)
      .when(({ object }) => isNamed(object, 'a'))
      .reconcile(async () => {
        runs++;
        if (runs === 3) throw new TerminalError('enough');
        return { requeueAfterMs: runs === 1 ? 1 : 0 };
      });
    await manage([again], plane.client, unregistered());
    await plane.client.create(ConfigMap, configMap('a'));
    const last = await spanWith((span) => span.attributes['kapstan.terminal'] === true);
    const all = spansNamed('reconcile configmap').map(({ attributes }) => [
      attributes['kapstan.cause.type'],
      attributes['kapstan.result'],
    ]);
    expect(last.attributes['kapstan.result']).toBe('error');
    expect(all).toEqual([
      ['added', 'requeue_after'],
      ['requeueAfter', 'requeue'],
      ['requeue', 'error'],
    ]);
  });
});

describe('links from a change to the reconcile that it causes', () => {
  const reader = () =>
    controller(ConfigMap)
      .when(({ object }) => isNamed(object, 'a-copy'))
      .reconcile(async () => undefined);
  const other = () => Object.assign(reader(), { name: 'reader' });

  it('lead to the run that wrote it, in another controller of the manager', async () => {
    await manage([copier(), other()], plane.client, unregistered());
    await plane.client.create(ConfigMap, configMap('a'));
    const read = await spanWith(({ name }) => name === 'reconcile reader');
    const [wrote] = spansNamed('reconcile configmap');
    expect(read.links.map(({ context, attributes }) => [context.spanId, attributes?.['kapstan.link']])).toEqual([
      [wrote && idOf(wrote), 'write'],
    ]);
  });

  it('lead to the span that the annotation names, once', async () => {
    const traceId = '0af7651916cd43dd8448eb211c80319c';
    const traceparent = `00-${traceId}-b7ad6b7169203331-01`;
    await manage([other()], plane.client, unregistered());
    const annotations = { 'tracing.k8s.io/traceparent': traceparent };
    await plane.client.create(ConfigMap, configMap('a-copy', { annotations }));
    const first = await spanWith(({ name }) => name === 'reconcile reader');
    expect(first.links.map(({ context }) => context.traceId)).toEqual([traceId]);
    await plane.client.apply(
      ConfigMap,
      { ...configMap('a-copy'), data: { a: 'b' } },
      { fieldManager: 'x', force: true },
    );
    const second = await spanWith((span) => span.name === 'reconcile reader' && span !== first);
    expect(second.links).toEqual([]);
  });

  it('lead across managers where created objects are annotated, which they are only on request', async () => {
    const creator = (name: string) =>
      controller(ConfigMap)
        .when(({ object }) => isNamed(object, 'a'))
        .reconcile(async (_object, { client }) => {
          await client.create(ConfigMap, configMap(name));
        });
    await manage([other()], plane.client, unregistered());
    await manage([creator('a-copy')], plane.client, { ...unregistered(), annotatesCreated: true });
    await manage([Object.assign(creator('plain'), { name: 'plain' })], plane.client, unregistered());
    await plane.client.create(ConfigMap, configMap('a'));
    const read = await spanWith(({ name }) => name === 'reconcile reader');
    const [wrote] = spansNamed('reconcile configmap');
    expect(read.links.map(({ context }) => context.spanId)).toEqual([wrote && idOf(wrote)]);
    await spanWith(({ name }) => name === 'reconcile plain');
    const plain = await plane.client.get(ConfigMap, { namespace: 'default', name: 'plain' });
    expect(plain.metadata?.annotations).toBeUndefined();
  });

  it('tell no names of Secrets', async () => {
    const writer = controller(ConfigMap)
      .when(({ object }) => isNamed(object, 'a'))
      .owns(Secret)
      .reconcile(async (_object, { apply }) => {
        await apply(Secret, { metadata: { name: 'hidden' }, stringData: { a: 'b' } });
      });
    const reader = controller(Secret).reconcile(async () => undefined);
    await manage([writer, reader], plane.client, unregistered());
    await plane.client.create(ConfigMap, configMap('a'));
    const woken = await spanWith((span) => span.attributes['kapstan.cause.kind'] === 'Secret');
    expect(woken.attributes['kapstan.cause.name']).toBe('');
    await spanWith((span) => span.attributes['kapstan.object.kind'] === 'Secret');
    const all = exporter.getFinishedSpans();
    expect(all.map(({ name }) => name)).toContain('apply secrets');
    expect(JSON.stringify(all.map(({ attributes, events }) => [attributes, events]))).not.toContain('hidden');
  });
});

describe('without a tracer provider', () => {
  it('nothing is traced, and the program works as it does without the option', async () => {
    await manage([copier()], plane.client, { api });
    // A later registration comes too late.
    registered();
    await plane.client.create(ConfigMap, configMap('a'));
    await until(isCopied(plane.client));
    expect(exporter.getFinishedSpans()).toEqual([]);
  });
});
