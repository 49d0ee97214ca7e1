// Tests that the built command reads long bodies of each format, with its limits: long YAML is read by a thread, whose file the build puts in
// another place than the sources have.
import { readFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { requireBuilt } from '../kapstan/built-packages.ts';
import { type ServeProcess, startServeProcess } from '../kapstan/serve-process.ts';

let server: ServeProcess;
let ca: string;

beforeAll(async () => {
  requireBuilt(['control-plane']);
  server = await startServeProcess();
  ca = await readFile(server.caFile, 'utf8');
});
afterAll(() => server?.close());

interface Sent {
  readonly method: 'POST' | 'PATCH';
  readonly path: string;
  readonly contentType: string;
  readonly body: string;
}

async function send({
  method,
  path,
  contentType,
  body,
}: Sent): Promise<{ readonly code: number; readonly message: string }> {
  const headers = { authorization: `Bearer ${server.adminToken}`, 'content-type': contentType };
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    request(`${server.url}${path}`, { method, headers, ca }, resolve).on('error', reject).end(body);
  });
  const { message = '' } = JSON.parse(await text(answer)) as { readonly message?: string };
  return { code: answer.statusCode ?? 0, message };
}

const configMaps = '/api/v1/namespaces/default/configmaps';
const lines = (count: number): string => Array.from({ length: count }, (_, index) => `  k${index}: value\n`).join('');
const inYaml = (name: string, count: number): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\ndata:\n${lines(count)}`;

it('creates an object from long YAML', async () => {
  const sent = {
    method: 'POST',
    path: configMaps,
    contentType: 'application/yaml',
    body: inYaml('created', 2_000),
  } as const;
  expect(await send(sent)).toEqual({ code: 201, message: '' });
});

it('applies long YAML', async () => {
  const path = `${configMaps}/applied?fieldManager=test`;
  const sent = {
    method: 'PATCH',
    path,
    contentType: 'application/apply-patch+yaml',
    body: inYaml('applied', 2_000),
  } as const;
  expect(await send(sent)).toEqual({ code: 201, message: '' });
});

it('refuses what is too dense, in YAML and in JSON', async () => {
  const dense = `{"metadata":{"name":"dense","finalizers":[${Array(600_000).fill('""').join()}]}}`;
  const sent = { method: 'POST', path: configMaps } as const;
  const inJson = await send({ ...sent, contentType: 'application/json', body: dense });
  expect(inJson).toEqual({ code: 413, message: 'Request entity too large: the body holds more than 500000 values' });
  const flow = `metadata: {name: dense, finalizers: [${Array(600_000).fill('a').join()}]}\n`;
  const yaml = await send({ ...sent, contentType: 'application/yaml', body: flow });
  expect(yaml.code).toBe(413);
  expect(yaml.message).toContain('Request entity too large');
});
