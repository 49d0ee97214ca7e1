// Requests over HTTP as the admin of a test cluster, byte by byte as a client of no library would send them. Used by the tests of
// admission.
import { request } from 'node:https';
import type { TestCluster } from '../test-cluster.ts';

export interface Attempt {
  readonly method: string;
  readonly path: string;
  readonly body?: object;
  /** Default JSON. */
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export const patchTypes = {
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  json: 'application/json-patch+json',
  apply: 'application/apply-patch+yaml',
} as const;

export interface Answer {
  /** 101 when the connection was handed over. */
  readonly code: number;
  readonly text: string;
}

export function adminRequest(
  cluster: TestCluster,
  { method, path, body, type = 'application/json', headers }: Attempt,
): Promise<Answer> {
  const credential = (name: string): Buffer =>
    Buffer.from(new RegExp(`${name}: (\\S+)`).exec(cluster.kubeconfig)?.[1] ?? '', 'base64');
  const text = body === undefined ? undefined : JSON.stringify(body);
  const options = {
    ...{ method, agent: false, rejectUnauthorized: false },
    cert: credential('client-certificate-data'),
    key: credential('client-key-data'),
    headers: text === undefined ? { ...headers } : { ...headers, ...contentOf(text, type) },
  } as const;
  return new Promise((resolve, reject) => {
    const sent = request(new URL(path, cluster.url), options, (answer) => {
      let received = '';
      answer.setEncoding('utf8').on('data', (part: string) => {
        received += part;
      });
      answer.on('end', () => resolve({ code: answer.statusCode ?? 0, text: received }));
    });
    sent.on('error', reject);
    sent.on('upgrade', (answer, socket) => {
      socket.destroy();
      resolve({ code: answer.statusCode ?? 0, text: '' });
    });
    sent.end(text);
  });
}

function contentOf(text: string, type: string): Readonly<Record<string, string | number>> {
  return { 'content-type': type, 'content-length': Buffer.byteLength(text) };
}
