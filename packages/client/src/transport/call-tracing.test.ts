import { resource } from '@kapstan/api';
import * as api from '@opentelemetry/api';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { beforeEach, describe, expect, it } from 'vitest';
import { Client } from '../client.ts';
import { json, ScriptedServer, status } from '../testing/scripted-server.ts';
import { plainAnswer, StreamServer } from '../testing/stream-server.ts';

const Node = resource({ group: '', version: 'v1', kind: 'Node', scope: 'Cluster' });
const Pod = resource({ group: '', version: 'v1', kind: 'Pod', scope: 'Namespaced' });

let exporter: InMemorySpanExporter;
let tracing: { readonly api: typeof api; readonly tracerProvider: BasicTracerProvider };
beforeEach(() => {
  exporter = new InMemorySpanExporter();
  const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  tracing = { api, tracerProvider };
});

const spans = () =>
  exporter
    .getFinishedSpans()
    .map(({ name, status: { code }, attributes }) => [
      name,
      code === api.SpanStatusCode.ERROR,
      attributes['http.response.status_code'],
      attributes['http.request.resend_count'],
      attributes['error.type'],
    ]);

describe('the spans of a call', () => {
  it('are one for each attempt, with what was answered', async () => {
    await using server = await ScriptedServer.start();
    const busy = json(status(429, 'TooManyRequests', 'wait'), { status: 429, headers: { 'retry-after': '0' } });
    server.next(busy, json({ kind: 'Node' }), json(status(403, 'Forbidden', 'no'), { status: 403 }));
    await using client = new Client({ server: server.url }, { tracing });
    await client.get(Node, { name: 'a' });
    await client.get(Node, { name: 'a' }).catch(() => undefined);
    const name = 'GET /api/v1/nodes/{:name}';
    expect(spans()).toEqual([
      [name, true, 429, undefined, '429'],
      [name, false, 200, 1, undefined],
      [name, true, 403, undefined, '403'],
    ]);
    const sent = server.requests.map(({ headers }) => headers.traceparent);
    const made = exporter.getFinishedSpans().map((span) => span.spanContext());
    expect(sent).toEqual(made.map(({ traceId, spanId }) => `00-${traceId}-${spanId}-01`));
  });

  it('say why there was no answer', async () => {
    await using nowhere = new Client({ server: 'http://127.0.0.1:1' }, { tracing });
    await nowhere.create(Node, {}).catch(() => undefined);
    expect(spans()).toEqual([['POST /api/v1/nodes', true, undefined, undefined, 'ECONNREFUSED']]);
  });

  it('say that an answer could not be read', async () => {
    await using server = await ScriptedServer.start();
    server.always((response) => void response.writeHead(200, { 'content-type': 'application/json' }).end('{'));
    await using client = new Client({ server: server.url }, { tracing });
    await client.get(Node, { name: 'a' }).catch(() => undefined);
    expect(spans().map(([, isError, code]) => [isError, code])).toEqual([[true, 200]]);
  });

  it('show no value of a query that may be secret', async () => {
    await using server = await ScriptedServer.start();
    server.always(json({ kind: 'PodList', metadata: {}, items: [] }));
    await using client = new Client({ server: `${server.url}/prefix/` }, { tracing });
    await client.listPage(Pod, { namespace: 'a', labelSelector: 'b=c', continue: 'token' });
    await client.raw({ path: '/api/v1/namespaces/a/pods/b/proxy/x?password=1&limit=2&flag' });
    const urls = exporter.getFinishedSpans().map(({ attributes }) => attributes['url.full']);
    expect(urls).toEqual([
      `${server.url}/prefix/api/v1/namespaces/a/pods?labelSelector=b%3Dc&continue=REDACTED`,
      `${server.url}/prefix/api/v1/namespaces/a/pods/b/proxy/x?password=REDACTED&limit=2&flag`,
    ]);
    expect(spans().map(([name]) => name)).toEqual(['GET /api/v1/namespaces/{:namespace}/pods', 'GET /api']);
  });

  it('are one for each connection to a command or a port, which ends when it is open', async () => {
    await using server = await StreamServer.start();
    await using client = new Client({ server: server.url }, { tracing });
    const target = { namespace: 'n', name: 'p' };
    const command = await client.exec(target, { command: ['login', 'hunter2'] });
    await client.attach(target, {});
    (await client.dialPort(target, 80)).destroy();
    const template = '/api/v1/namespaces/{:namespace}/pods/{:name}';
    expect(spans()).toEqual([
      [`GET ${template}/exec`, false, 101, undefined, undefined],
      [`GET ${template}/attach`, false, 101, undefined, undefined],
      [`GET ${template}/portforward`, false, 101, undefined, undefined],
    ]);
    const made = exporter.getFinishedSpans();
    expect(server.requests.map(({ headers }) => headers.traceparent)).toEqual(
      made.map((span) => `00-${span.spanContext().traceId}-${span.spanContext().spanId}-01`),
    );
    expect(JSON.stringify(made.map(({ attributes }) => attributes))).not.toContain('hunter2');
    command.close();
  });

  it('say that a command was refused or found nobody', async () => {
    await using server = await StreamServer.start();
    server.refuse(plainAnswer(403, status(403, 'Forbidden', 'no')));
    await using client = new Client({ server: server.url }, { tracing });
    await using nowhere = new Client({ server: 'http://127.0.0.1:1' }, { tracing });
    for (const one of [client, nowhere])
      await one.exec({ namespace: 'n', name: 'p' }, { command: ['true'] }).catch(() => undefined);
    expect(spans().map(([, ...rest]) => rest)).toEqual([
      [true, 403, undefined, '403'],
      [true, undefined, undefined, 'ECONNREFUSED'],
    ]);
  });

  it('of a command belong to the tracer of its options', async () => {
    await using server = await StreamServer.start();
    await using client = new Client({ server: server.url });
    const paths: string[] = [];
    const untraced = { attempt: () => ({}), answered: () => undefined, failed: () => undefined, end: () => undefined };
    const trace = {
      startCall: ({ path }: { readonly path: string }) => {
        paths.push(path.split('?')[0] ?? '');
        return untraced;
      },
    };
    const command = await client.exec({ namespace: 'n', name: 'p' }, { command: ['true'], trace });
    command.close();
    expect(paths).toEqual(['/api/v1/namespaces/n/pods/p/exec']);
  });

  it('are absent while no provider is registered, and there from then on', async () => {
    await using server = await ScriptedServer.start();
    server.always(json({ kind: 'Node' }));
    await using client = new Client({ server: server.url }, { tracing: { api } });
    await client.get(Node, { name: 'a' });
    api.trace.setGlobalTracerProvider(tracing.tracerProvider);
    await client.get(Node, { name: 'b' });
    api.trace.disable();
    expect(server.requests.map(({ headers }) => headers.traceparent !== undefined)).toEqual([false, true]);
  });

  it.each([
    [{}, 'the trace of tracing.api'],
    [{ api: {} }, 'the trace of tracing.api'],
    [{ api, provider: 1 }, 'provider'],
    ['yes', 'tracing, such as { api: opentelemetry },'],
  ])('need the API: %j', (wrong, text) => {
    expect(() => new Client({ server: 'http://127.0.0.1:1' }, { tracing: wrong as never })).toThrow(text);
  });
});
