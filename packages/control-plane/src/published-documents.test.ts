// Compares the OpenAPI documents of twenty definitions with those that kube-apiserver 1.36.3 publishes for them
// (packages/apiextensions/fixtures/record-published.mjs), and the descriptions of all schemas, of built-in kinds too, by their hashes.
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startControlPlane } from './control-plane.ts';
import type { ControlPlane } from './options/control-plane-options.ts';

type Json = Record<string, unknown>;
interface Definition {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly group: string };
}
interface PublishedForm {
  readonly v3: Readonly<Record<string, { readonly others: readonly string[] } & Json>>;
  readonly v2: { readonly paths: Json; readonly schemas: Json };
  readonly descriptions: Readonly<Record<string, string>>;
}

const kindsWord = 'x-kubernetes-group-version-kind';
const fixtures = new URL('../../apiextensions/fixtures/', import.meta.url);
let dataDir: string;
let plane: ControlPlane;
let recorded: PublishedForm;
let published: PublishedForm;

const parsed = async (file: string): Promise<unknown> => JSON.parse(await readFile(new URL(file, fixtures), 'utf8'));

function call(path: string, body?: unknown): Promise<{ readonly status: number; readonly text: string }> {
  const { url, caCert: ca, token } = plane;
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
  const method = body === undefined ? 'GET' : 'POST';
  return new Promise((resolve, reject) => {
    const asked = request(new URL(path, url), { ca, headers, method, agent: false }, async (answer) => {
      const chunks: Buffer[] = [];
      for await (const chunk of answer) chunks.push(chunk as Buffer);
      resolve({ status: answer.statusCode ?? 0, text: Buffer.concat(chunks).toString() });
    });
    asked.on('error', reject).end(body === undefined ? undefined : JSON.stringify(body));
  });
}

const read = async (path: string): Promise<Json> => JSON.parse((await call(path)).text) as Json;

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'kapstan-published-'));
  plane = await startControlPlane({ dataDir, port: 0, controlLoops: [] });
  const definitions = (await parsed('published-definitions.json')) as readonly Definition[];
  for (const definition of definitions) {
    const { status, text } = await call('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition);
    expect(status, text).toBe(201);
  }
  const { isOwn, publishedForm } = await import(new URL('published-form.mjs', fixtures).href);
  const isServed = async (): Promise<boolean> => {
    const { paths } = await read('/openapi/v3');
    return Object.keys(recorded.v3).every((path) => path in (paths as Json));
  };
  recorded = (await parsed('published-documents.json')) as PublishedForm;
  while (!(await isServed())) await new Promise<void>((resolve) => setImmediate(resolve));
  const documents: Json = {};
  const { paths } = await read('/openapi/v3');
  for (const path of Object.keys(paths as Json).filter(isOwn)) documents[path] = await read(`/openapi/v3/${path}`);
  published = publishedForm({ definitions, documents, swagger: await read('/openapi/v2') });
}, 60_000);

afterAll(async () => {
  await plane.close();
  await rm(dataDir, { recursive: true });
});

describe('what is published of definitions is what kube-apiserver publishes', () => {
  it.each([
    'apis/bare.example.com/v1',
    'apis/eggs.farm.example.org/v1',
    'apis/eggs.farm.example.org/v2',
    'apis/openapi.example.com/v1',
    'apis/openapi.example.com/v1alpha1',
    'apis/openapi.example.com/v1beta1',
  ])('in %s', (path) => {
    const { others, ...rest } = recorded.v3[path] ?? { others: [] };
    expect(published.v3[path]).toMatchObject(rest);
    expect(published.v3[path]?.others).toEqual(others);
  });

  it('with its rules', () => {
    expect(published.v3['apis/rules.example.com/v1']).toEqual(recorded.v3['apis/rules.example.com/v1']);
  });

  it('in the document of v2', () => {
    expect(published.v2.schemas).toEqual(recorded.v2.schemas);
    expect(published.v2.paths).toEqual(recorded.v2.paths);
  });

  it('with the descriptions of all types and their members', (ctx) => {
    if (!existsSync(new URL('../../kinds/dist/descriptions.json', import.meta.url)))
      ctx.skip('there are no descriptions: npm install, then npm run build');
    expect(Object.keys(published.descriptions)).toEqual(Object.keys(recorded.descriptions));
    const others = Object.entries(published.descriptions).filter(
      ([name, hash]) => hash !== recorded.descriptions[name],
    );
    expect(others.map(([name]) => name)).toEqual([
      // Members apiVersion and kind of embedded objects, which Kubernetes describes in older words there.
      'com.example.openapi.v1.Embedder',
      // The declarations that the build reads have no text for it.
      'io.k8s.apimachinery.pkg.api.resource.Quantity',
    ]);
  });

  it('with the options of deletions under every group version that Kubernetes knows, also those that it does not serve', async () => {
    const { definitions } = (await read('/openapi/v2')) as { definitions: Record<string, Json> };
    const { [kindsWord]: kinds } = definitions['io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions'] ?? {};
    expect(kinds).toHaveLength(60);
    expect(kinds).toMatchObject([
      { group: '', kind: 'DeleteOptions', version: 'v1' },
      { group: 'admission.k8s.io', version: 'v1' },
      { group: 'admission.k8s.io', version: 'v1beta1' },
      ...(kinds as Json[]).slice(3),
    ]);
  });
});
