// An API server for tests: real stores in a temporary folder, a real socket and raw HTTP clients, but no cache.
import { mkdtempSync, rmSync } from 'node:fs';
import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { UnstructuredObject } from '@kapstan/api';
import { type Engine, jsonCodec, ObjectStore } from '@kapstan/storage';
import { tokenAuthenticator } from '../authn/token-authenticator.ts';
import { alwaysAllow } from '../authz/authorizer.ts';
import { FieldManager } from '../fieldmanager/field-manager.ts';
import { type ServerCertificates, startApiServer } from '../http/server/api-server.ts';
import type { ApiServerOptions } from '../http/server/api-server-options.ts';
import { objectPatching } from '../object-patching.ts';
import { ResourceCatalog } from '../registry/definition/catalog.ts';
import type { ResourceDefinition } from '../registry/definition/resource-definition.ts';
import { GenericStore, type StoreHooks } from '../registry/store/generic-store.ts';
import { factDefinitions } from './fact-kinds.ts';

// biome-ignore lint/suspicious/noExplicitAny: answers of the server under test, whose shape the tests assert
type JsonDocument = Record<string, any>;

export interface TestServerOptions extends Partial<ApiServerOptions> {
  /** Default: all built-in resources. */
  readonly definitions?: readonly ResourceDefinition[];
  readonly hooks?: StoreHooks;
}

interface TestResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
  readonly bytes: Buffer;
  readonly text: string;
  readonly json: JsonDocument;
}

export interface TestRequest {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

export interface TestServer {
  readonly url: string;
  readonly catalog: ResourceCatalog;
  send(method: string, path: string, request?: TestRequest): Promise<TestResponse>;
  /** Opens a stream of JSON lines. */
  stream(path: string, headers?: Readonly<Record<string, string>>): Promise<TestStream>;
  useCertificates(certificates: ServerCertificates): void;
  close(): Promise<void>;
}

export interface TestStream {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly response: IncomingMessage;
  /** Returns the next line, or undefined at the end. */
  next(): Promise<JsonDocument | undefined>;
  close(): void;
}

export const adminToken = 'admin-token';

/** `openEngine` comes from storage-lmdb, which only tests may import here. */
export async function startTestServer(
  openEngine: (options: { readonly dataDir: string }) => Promise<Engine>,
  options: TestServerOptions = {},
): Promise<TestServer> {
  const dataDir = mkdtempSync(join(tmpdir(), 'kapstan-http-'));
  const engine = await openEngine({ dataDir });
  const catalog = new ResourceCatalog();
  const stores: ObjectStore<UnstructuredObject>[] = [];
  const managedFields = new FieldManager();
  for (const definition of options.definitions ?? factDefinitions()) {
    const storage = new ObjectStore<UnstructuredObject>({
      engine,
      codec: jsonCodec<UnstructuredObject>(),
      resourcePrefix: definition.storagePrefix,
      groupResource: definition,
      freeze: true,
    });
    stores.push(storage);
    const store = new GenericStore<UnstructuredObject>({
      definition,
      storage,
      managedFields,
      ...options.hooks,
    });
    catalog.install({ definition, store });
  }
  const admin = { name: 'admin', groups: ['system:masters'] };
  const users = new Map([
    [adminToken, admin],
    ['user-token', { name: 'alice', groups: [] }],
  ]);
  const server = await startApiServer({
    catalog,
    authentication: { authenticators: [tokenAuthenticator(users)] },
    authorizer: alwaysAllow,
    patching: objectPatching(managedFields),
    drainMs: 1000,
    ...options,
  });
  return {
    url: server.url,
    catalog,
    send: (method, path, request = {}) => send(server.url, { method, path, ...request }),
    stream: (path, headers = {}) => openStream(server.url, path, headers),
    useCertificates: (certificates) => server.useCertificates(certificates),
    close: async () => {
      await server.close();
      for (const store of stores) await store.close();
      await engine.close();
      rmSync(dataDir, { recursive: true });
    },
  };
}

interface SentRequest extends TestRequest {
  readonly method: string;
  readonly path: string;
}

function send(url: string, { method, path, headers = {}, body }: SentRequest): Promise<TestResponse> {
  const payload = body === undefined ? undefined : bodyOf(body);
  const type = payload === undefined ? {} : { 'content-type': 'application/json', 'content-length': payload.length };
  return new Promise((resolve, reject) => {
    const all = { authorization: `Bearer ${adminToken}`, 'user-agent': 'tester/1.0', ...type, ...headers };
    const request = httpRequest(`${url}${path}`, { method, headers: all, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const bytes = Buffer.concat(chunks);
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          rawHeaders: response.rawHeaders,
          bytes,
          text: bytes.toString(),
          get json() {
            return JSON.parse(bytes.toString()) as JsonDocument;
          },
        });
      });
    });
    request.on('error', reject);
    request.end(payload);
  });
}

function bodyOf(body: unknown): Buffer {
  return Buffer.isBuffer(body) ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
}

function openStream(url: string, path: string, headers: Readonly<Record<string, string>>): Promise<TestStream> {
  return new Promise((resolve, reject) => {
    const all = { authorization: `Bearer ${adminToken}`, ...headers };
    const request = httpRequest(`${url}${path}`, { headers: all, agent: false }, (response) => {
      const lines = readLines(response);
      resolve({
        status: response.statusCode ?? 0,
        headers: response.headers,
        response,
        next: async () => {
          const { value, done } = await lines.next();
          return done === true ? undefined : (JSON.parse(value) as JsonDocument);
        },
        close: () => request.destroy(),
      });
    });
    request.on('error', reject);
    request.end();
  });
}

async function* readLines(response: IncomingMessage): AsyncGenerator<string, undefined> {
  let rest = '';
  for await (const chunk of response) {
    rest += String(chunk);
    const lines = rest.split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) yield line;
  }
  if (rest !== '') yield rest;
  return undefined;
}
