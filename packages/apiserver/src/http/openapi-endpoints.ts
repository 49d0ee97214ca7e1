// Serves OpenAPI v3: the index and its documents, cached by clients under the hash in the URL. There is no v2: its
// protobuf form is what old clients want, and kubectl since 1.27 uses v3. Source: kube-openapi pkg/handler3.
import { type Clock, stringifyJson, toDate } from '@kapstan/api';
import type { OpenApiDocuments } from '../openapi/openapi-documents.ts';
import { BodyWriter } from './body-writer.ts';
import type { Exchange } from './exchange.ts';
import { parseAccept } from './media-type.ts';
import { sendPageNotFound, sendText } from './status-response.ts';

const root = '/openapi/v3';
const yearMs = 365 * 86_400_000;

/** False when the path is none of OpenAPI's. */
export function serveOpenApi(exchange: Exchange, documents: OpenApiDocuments, clock: Clock): boolean {
  const { path } = exchange;
  if (path !== root && !path.startsWith(`${root}/`)) return false;
  if (path === root || path === `${root}/`) {
    const bytes = Buffer.from(stringifyJson(documents.index()));
    sendJson(exchange, bytes, clock);
    return true;
  }
  const document = documents.document(path.slice(root.length + 1));
  if (document === undefined) {
    sendPageNotFound(exchange);
    return true;
  }
  const asked = exchange.query.get('hash');
  const etag = `"${document.hash}"`;
  if (asked !== null && asked !== '' && asked !== document.hash) {
    exchange.setHeader('Location', `${path}?hash=${document.hash}`);
    exchange.send(301, new Uint8Array());
    return true;
  }
  exchange.setHeader('ETag', etag);
  exchange.setHeader('Vary', 'Accept');
  if (asked === document.hash) {
    exchange.setHeader('Cache-Control', 'public, immutable');
    exchange.setHeader('Expires', toDate(clock.now() + yearMs).toUTCString());
  }
  if (exchange.header('if-none-match') === etag) exchange.send(304, new Uint8Array());
  else sendJson(exchange, document.bytes, clock);
  return true;
}

function sendJson(exchange: Exchange, bytes: Uint8Array, clock: Clock): void {
  if (!acceptsJson(exchange.header('accept') ?? '')) return sendText(exchange, 406, '406 not acceptable\n');
  exchange.setHeader('Content-Type', 'application/json');
  const writer = new BodyWriter(exchange, { status: 200, clock });
  writer.push(bytes);
  writer.finish();
}

function acceptsJson(accept: string): boolean {
  if (accept === '') return true;
  return parseAccept(accept).some(
    ({ type, subtype }) => (type === '*' || type === 'application') && (subtype === '*' || subtype === 'json'),
  );
}
