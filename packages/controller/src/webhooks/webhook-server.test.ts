import { once } from 'node:events';
import { Agent, request as httpsRequest } from 'node:https';
import { connect as connectTcp } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { defineResource, type Logger, type ResourceClient, silentLogger, systemClock } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { controller } from '../builder/controller-builder.ts';
import { createIssuer } from '../certificates/index.ts';
import { programHooks } from './program-hooks.ts';
import { WebhookMetrics } from './webhook-metrics.ts';
import { WebhookServer } from './webhook-server.ts';

const Echo = defineResource({
  group: 'demo.dev',
  version: 'v1',
  kind: 'Echo',
  spec: { type: 'object', properties: { text: { type: 'string' } } },
});
const mutate = '/mutate-demo-dev-v1-echo';
const validate = '/validate-demo-dev-v1-echo';

let server: WebhookServer;
let registry: Registry;
let agent: Agent;
let port: number;
let clock: VirtualClock;
/** Called by the validating function. */
let onValidate: (signal: AbortSignal) => Promise<void>;
let warned: string[];

beforeEach(async () => {
  const issuer = await createIssuer(undefined, { nowMs: systemClock.now(), lifetimeMs: 3_600_000 });
  const usage = { commonName: 'x', hosts: ['127.0.0.1'], usage: 'server', nowMs: systemClock.now() } as const;
  const keyPair = await issuer.issue({ ...usage, lifetimeMs: 3_600_000 });
  agent = new Agent({ ca: issuer.authority.cert, keepAlive: true, maxSockets: 50 });
  registry = new Registry();
  clock = new VirtualClock({ startMs: systemClock.now() });
  onValidate = async () => undefined;
  warned = [];
  const echo = controller(Echo)
    .defaults((object) => {
      object.spec.text ??= 'none';
    })
    .validates(async ({ spec }, { signal, warn, audit }) => {
      await onValidate(signal);
      warn('looked at');
      audit('text', spec.text ?? '');
      return spec.text === 'bad' ? 'bad text' : undefined;
    })
    .converts({
      v1beta1: { to: () => ({ metadata: { labels: { new: 'yes' } }, spec: {} }), from: (object) => object as never },
    })
    .reconcile(async () => undefined);
  const logger: Logger = {
    ...silentLogger,
    warn: (message, fields) => void warned.push(`${message} ${fields?.error}`),
  };
  const hooks = programHooks([echo], { client: {} as ResourceClient, logger });
  const metrics = new WebhookMetrics(registry);
  const limits = { maxInFlight: 2000, maxBodyBytes: 8 * 1024 * 1024 };
  server = new WebhookServer({ hooks, keyPair, port: 0, host: '127.0.0.1', ...limits, metrics, clock, logger });
  port = await server.listen();
});
afterEach(async () => {
  agent.destroy();
  await server.close(0);
});

interface Answer {
  readonly code: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, unknown>>;
}

interface Sent {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

async function send(path: string, { method = 'POST', headers = {}, body = '' }: Sent): Promise<Answer> {
  const request = httpsRequest({ agent, host: '127.0.0.1', port, path, method, headers });
  request.end(body);
  const [response] = await once(request, 'response');
  let text = '';
  for await (const chunk of response) text += chunk;
  return { code: response.statusCode, body: text, headers: response.headers };
}

function reviewOf(text: string | undefined, changes: object = {}): string {
  const kind = { group: 'demo.dev', version: 'v1', kind: 'Echo' };
  const resource = { group: 'demo.dev', version: 'v1', resource: 'echos' };
  const object = { apiVersion: 'demo.dev/v1', kind: 'Echo', metadata: { name: 'a' }, spec: { ...(text && { text }) } };
  const request = { uid: 'u-1', kind, resource, operation: 'CREATE', name: 'a', userInfo: {}, object, ...changes };
  return JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request });
}
const json = { 'content-type': 'application/json' };
const ask = (path: string, body: string): Promise<Answer> => send(path, { headers: json, body });
const responseOf = ({ body }: Answer): Record<string, unknown> =>
  (JSON.parse(body) as { response: Record<string, unknown> }).response;

it('answers a patch, a verdict, warnings and audit annotations in the version that was asked', async () => {
  const patched = responseOf(await ask(mutate, reviewOf(undefined)));
  expect(patched).toMatchObject({ uid: 'u-1', allowed: true, patchType: 'JSONPatch' });
  expect(JSON.parse(Buffer.from(String(patched.patch), 'base64').toString())).toEqual([
    { op: 'add', path: '/spec/text', value: 'none' },
  ]);
  expect(responseOf(await ask(mutate, reviewOf('x')))).toEqual({ uid: 'u-1', allowed: true });
  const old = await ask(validate, reviewOf('bad').replace('admission.k8s.io/v1', 'admission.k8s.io/v1beta1'));
  expect(JSON.parse(old.body)).toMatchObject({ apiVersion: 'admission.k8s.io/v1beta1', kind: 'AdmissionReview' });
  expect(responseOf(old)).toMatchObject({
    uid: 'u-1',
    allowed: false,
    status: { code: 403, message: 'bad text' },
    warnings: ['looked at'],
    auditAnnotations: { text: 'bad' },
  });
});

const noReview = 'the body must be a AdmissionReview of admission.k8s.io/v1 or admission.k8s.io/v1beta1, not Pod of v1';
it.each([
  ['another path', '/nothing', { body: '{}', headers: json }, 404, 'there is no such webhook'],
  ['another method', validate, { method: 'GET' }, 405, 'GET is not supported on resources of kind "webhooks"'],
  ['no content type', validate, { body: '{}' }, 415, 'the body must be application/json, not ""'],
  ['no body', validate, { headers: json }, 400, 'the body is empty'],
  ['no JSON', validate, { headers: json, body: '{' }, 400, 'the body is no JSON'],
  ['another kind', validate, { headers: json, body: '{"apiVersion":"v1","kind":"Pod"}' }, 400, noReview],
  ['no uid', validate, { headers: json, body: reviewOf('x', { uid: '' }) }, 400, 'has no uid'],
  ['a wrong object', validate, { headers: json, body: reviewOf('x', { object: [] }) }, 400, 'request.object must be'],
  ['a long body', validate, { headers: json, body: ' '.repeat(7 * 1024 * 1024 + 1) }, 413, 'more than 7340032 bytes'],
])('refuses %s with a Status', async (_, path, sent, code, message) => {
  const answer = await send(path, sent);
  expect([answer.code, JSON.parse(answer.body)]).toMatchObject([code, { kind: 'Status', status: 'Failure', code }]);
  expect(answer.body).toContain(JSON.stringify(message).slice(1, -1));
});

it('refuses objects of another kind, which a configuration of somebody else may send', async () => {
  const kind = { group: '', version: 'v1', kind: 'Pod' };
  const answer = await ask(validate, reviewOf('x', { kind }));
  expect(answer).toMatchObject({ code: 400, body: expect.stringContaining('not for /v1, Kind=Pod') });
});

it('ends a call that takes too long for its caller, and the function hears of it', async () => {
  let isAborted = false;
  const called = new Promise<void>((resolve) => {
    onValidate = (signal) => {
      signal.addEventListener('abort', () => {
        isAborted = true;
      });
      resolve();
      return new Promise(() => undefined);
    };
  });
  const answer = ask(`${validate}?timeout=3s`, reviewOf('x'));
  await called;
  await clock.advance(2999);
  expect(isAborted).toBe(false);
  await clock.advance(1);
  expect(await answer).toMatchObject({ code: 504, body: expect.stringContaining('context deadline exceeded') });
  expect(isAborted).toBe(true);
  onValidate = async () => undefined;
  expect((await ask(validate, reviewOf('x'))).code).toBe(200);
});

it('answers 500 for a function that fails, says so in the log, and goes on', async () => {
  onValidate = async () => {
    throw new Error('a bug');
  };
  expect(await ask(validate, reviewOf('x'))).toMatchObject({ code: 500, body: expect.stringContaining('a bug') });
  expect(warned).toEqual(['a webhook failed Error: a bug']);
  onValidate = async () => undefined;
  expect((await ask(validate, reviewOf('x'))).code).toBe(200);
  const metrics = await registry.metrics();
  expect(metrics).toContain(`controller_runtime_webhook_requests_total{webhook="${validate}",code="500"} 1`);
  expect(metrics).toContain(`controller_runtime_webhook_requests_total{webhook="${validate}",code="200"} 1`);
  expect(metrics).toContain(`controller_runtime_webhook_requests_in_flight{webhook="${validate}"} 0`);
  expect(metrics).toContain(`controller_runtime_webhook_latency_seconds_count{webhook="${validate}"} 2`);
});

it('answers a thousand requests at once', async () => {
  const answers = await Promise.all(
    Array.from({ length: 1000 }, (_, n) => ask(mutate, reviewOf(undefined, { uid: `u${n}` }))),
  );
  expect(new Set(answers.map((answer) => responseOf(answer).uid)).size).toBe(1000);
  expect(answers.every(({ code }) => code === 200)).toBe(true);
}, 60_000);

it('answers what is under way when it closes, and accepts nothing more', async () => {
  let answer: () => void = () => undefined;
  const called = new Promise<void>((resolve) => {
    onValidate = () =>
      new Promise((end) => {
        answer = end;
        resolve();
      });
  });
  const asked = ask(validate, reviewOf('x'));
  await called;
  const closed = server.close(60_000);
  await expect(ask(mutate, reviewOf('x'))).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  answer();
  const answered = await asked;
  expect([answered.code, answered.headers.connection]).toEqual([200, 'close']);
  await closed;
});

it('converts lists, and answers one error for the review with the object that is at fault', async () => {
  const review = (objects: readonly object[]): string =>
    JSON.stringify({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'ConversionReview',
      request: { uid: 'c-1', desiredAPIVersion: 'demo.dev/v1', objects },
    });
  const object = (name: string, kind = 'Echo'): object => ({
    apiVersion: 'demo.dev/v1beta1',
    kind,
    metadata: { name, uid: 'u' },
  });
  const converted = responseOf(await ask('/convert', review([object('a'), object('b')])));
  expect(converted).toMatchObject({ uid: 'c-1', result: { status: 'Success' } });
  expect(converted.convertedObjects).toEqual([
    { apiVersion: 'demo.dev/v1', kind: 'Echo', metadata: { name: 'a', uid: 'u', labels: { new: 'yes' } }, spec: {} },
    { apiVersion: 'demo.dev/v1', kind: 'Echo', metadata: { name: 'b', uid: 'u', labels: { new: 'yes' } }, spec: {} },
  ]);
  const old = { apiVersion: 'demo.dev/v0', kind: 'Echo', metadata: { name: 'c' } };
  expect(responseOf(await ask('/convert', review([object('a'), old])))).toMatchObject({
    convertedObjects: [],
    result: {
      status: 'Failure',
      message: 'Echo c, object 1 of the review: the version v0 of Echo has no conversion; there are: v1, v1beta1',
    },
  });
  expect(responseOf(await ask('/convert', review([object('a', 'Pod')])))).toMatchObject({
    result: { status: 'Failure' },
  });
});

it('does not wait for connections that never had a request', async () => {
  const spare = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false });
  await once(spare, 'secureConnect');
  const raw = connectTcp(port, '127.0.0.1');
  await once(raw, 'connect');
  const ended = Promise.all([once(spare, 'close'), once(raw, 'close')]);
  spare.on('error', () => undefined);
  raw.on('error', () => undefined);
  // The clock stands still, so a wait would never end.
  await server.close(60_000);
  await ended;
});

/** Sends a text over TLS, because a client of HTTP repairs it, and returns the first line of the answer. */
async function answerTo(text: string): Promise<string> {
  const socket = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false });
  socket.write(text);
  const [data] = await once(socket, 'data');
  socket.destroy();
  return String(data).split('\r\n')[0] ?? '';
}

it.each(['GET', 'POST'])('answers 400 to a %s whose target is no URL, and goes on', async (method) => {
  const headers = 'host: x\r\ncontent-length: 0\r\n\r\n';
  expect(await answerTo(`${method} // HTTP/1.1\r\n${headers}`)).toBe('HTTP/1.1 400 Bad Request');
  expect((await ask(validate, reviewOf('x'))).code).toBe(200);
});

it('holds no more bytes of all bodies than its budget, and forgets a body that does not come in time', async () => {
  const mebibyte = 1024 * 1024;
  const slow = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false });
  slow.on('error', () => undefined);
  const head = `POST ${validate} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n`;
  slow.write(`${head}content-length: ${6 * mebibyte}\r\n\r\n${' '.repeat(5 * mebibyte)}`);
  const answered = once(slow, 'data');
  const ended = once(slow, 'close');
  const other = () => send(validate, { headers: json, body: ' '.repeat(4 * mebibyte) });
  await vi.waitFor(async () => expect((await other()).code).toBe(429), 5000);
  await clock.advance(10_000);
  const [data] = await answered;
  expect(String(data).split('\r\n')[0]).toBe('HTTP/1.1 504 Gateway Timeout');
  await ended;
  expect(await other()).toMatchObject({ code: 400, body: expect.stringContaining('the body is no JSON') });
});
