// JSON requests to a server of the etcd tests, and the objects that they write: one of every kind.
import { readFileSync } from 'node:fs';
import { request } from 'node:https';

export interface Server {
  readonly url: string;
  readonly token: string;
}

export interface ApiObject {
  readonly metadata: { readonly name: string; readonly resourceVersion: string; readonly uid: string };
  readonly [member: string]: unknown;
}

export interface Answer {
  readonly code: number;
  /** The object or a Status; undefined when the answer is not JSON. */
  readonly body: ApiObject;
}

/** Sends a request without verifying the certificate. */
export function requestJson(server: Server, method: string, path: string, body?: unknown): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = { Authorization: `Bearer ${server.token}`, 'Content-Type': 'application/json' };
    const outgoing = request(`${server.url}${path}`, { method, headers, rejectUnauthorized: false }, (incoming) => {
      let text = '';
      incoming.setEncoding('utf8');
      incoming.on('data', (piece: string) => {
        text += piece;
      });
      incoming.on('end', () => resolve({ code: incoming.statusCode ?? 0, body: parsed(text) }));
      incoming.on('error', reject);
    });
    outgoing.on('error', reject);
    outgoing.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

function parsed(text: string): ApiObject {
  return (text.startsWith('{') ? JSON.parse(text) : { metadata: {} }) as ApiObject;
}

/** Resolves to the object, or rejects with the other answer. */
export async function objectFrom(answer: Promise<Answer>): Promise<ApiObject> {
  const { code, body } = await answer;
  if (code >= 200 && code < 300) return body;
  throw new Error(`${code}: ${JSON.stringify(body)}`);
}

export interface Sample {
  readonly name: string;
  /** Path of the collection. */
  readonly path: string;
  readonly object: Record<string, unknown> & { readonly metadata: Record<string, unknown> };
}

const recorded = new URL('../../../packages/kubernetes/fixtures/defaults.json', import.meta.url);

/** Returns an object of every built-in kind, of some kinds several. Their namespace is "facts". */
export function samples(suffix: string): readonly Sample[] {
  const { cases } = JSON.parse(readFileSync(recorded, 'utf8')) as {
    readonly cases: Record<string, { readonly path: string; readonly request: Sample['object'] }>;
  };
  return Object.entries(cases).flatMap(([name, { path, request: object }]) => {
    const own = `${name.toLowerCase()}-${suffix}`;
    if (fixedNames.has(name)) return suffix === 'a' ? [{ name, path, object }] : [];
    return [{ name, path, object: { ...object, metadata: { ...object.metadata, name: own } } }];
  });
}

/** Kinds whose names follow from their content, so only one of the servers can write them. */
const fixedNames: ReadonlySet<string> = new Set(['APIService', 'CustomResourceDefinition', 'IPAddress']);
