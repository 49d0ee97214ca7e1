// httpsCaller sends requests of several users to a control plane, for tests that compare whole answers.
import { request } from 'node:https';
import type { ControlPlane } from '../options/control-plane-options.ts';

export interface Answer {
  readonly code: number;
  /** The parsed answer, or its text when it is not JSON. */
  readonly body: unknown;
}

/** A user is named by a bearer token: "token", or "token|user|node" to act as that user, from a pod of that node. */
export type Call = readonly [
  user: string,
  method: string,
  path: string,
  object: Readonly<Record<string, unknown>> | null,
  contentType: string | null,
];

export function httpsCaller({ url, caCert }: Pick<ControlPlane, 'url' | 'caCert'>): (...call: Call) => Promise<Answer> {
  return (...[user, method, path, object, contentType]) =>
    new Promise((resolve, reject) => {
      const body = object === null ? {} : { 'content-type': contentType ?? 'application/json' };
      const sent = request(
        new URL(path, url),
        { method, ca: caCert, headers: { ...headersOf(user), ...body } },
        (answer) => {
          let text = '';
          answer.setEncoding('utf8').on('data', (part: string) => {
            text += part;
          });
          answer.on('end', () => resolve({ code: answer.statusCode ?? 0, body: bodyOf(text) }));
        },
      );
      sent.on('error', reject);
      sent.end(object === null ? undefined : JSON.stringify(object));
    });
}

function headersOf(user: string): Record<string, string> {
  const [token, as, node] = user.split('|');
  const headers: Record<string, string> = { authorization: `Bearer ${token}` };
  if (as !== undefined) headers['impersonate-user'] = as;
  if (node !== undefined) headers['impersonate-extra-authentication.kubernetes.io%2fnode-name'] = node;
  return headers;
}

function bodyOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    if (error instanceof SyntaxError) return text;
    throw error;
  }
}
