// Fetches a document of another API server for this server's own use, under the identity of the aggregator. Used by the
// loops that keep discovery, schemas and availability.
import { readAnswer } from '../peer/read-answer.ts';
import { formatHostPort } from '../registry/definition/destination.ts';
import type { UserInfo } from '../registry/definition/request-context.ts';
import { identityHeaders } from './identity-headers.ts';
import type { RemoteServer } from './remote-server.ts';

/** Asks another API server for a document. */
export interface RemoteDocumentRequest {
  /** Path with query, escaped. */
  readonly path: string;
  readonly accept: string;
  readonly user: UserInfo;
  /** ETag of the document that is known already. */
  readonly etag?: string | undefined;
  /** Maximum number of bytes of the document; a longer one is refused. */
  readonly maxBytes: number;
  readonly signal: AbortSignal;
}

/** A document that another API server sent. */
export interface RemoteDocument {
  readonly code: number;
  readonly contentType: string;
  /** "" = the server sent none. */
  readonly etag: string;
  readonly body: Buffer;
}

/** Rejects when the server cannot be reached, breaks off, or sends too much. */
export async function fetchRemote(server: RemoteServer, request: RemoteDocumentRequest): Promise<RemoteDocument> {
  const { path, accept, user, etag = '', maxBytes, signal } = request;
  const address = await server.resolve();
  const headers = [
    ['Accept', accept],
    ['User-Agent', 'kapstan'],
    ...(etag === '' ? [] : [['If-None-Match', etag] as const]),
    ...identityHeaders(user),
  ] as const;
  const answer = await server.ask(address, { method: 'GET', target: path, headers, signal });
  const { statusCode: code = 0 } = answer;
  const { 'content-type': contentType = '', etag: sent = '' } = answer.headers;
  return { code, contentType, etag: sent, body: await readAnswer(answer, maxBytes) };
}

/** Requests only the head of an answer. `onAddress` gets the requested URL, for messages. */
export async function fetchRemoteHead(
  server: RemoteServer,
  { path, user, signal }: Pick<RemoteDocumentRequest, 'path' | 'user' | 'signal'>,
  onAddress: (url: string) => void,
): Promise<Pick<RemoteDocument, 'code'>> {
  const address = await server.resolve();
  onAddress(`https://${formatHostPort(address.host, address.port)}${path}`);
  const headers = [['User-Agent', 'kapstan'] as const, ...identityHeaders(user)];
  const answer = await server.ask(address, { method: 'GET', target: path, headers, signal });
  answer.destroy();
  return { code: answer.statusCode ?? 0 };
}
