// Serves OpenAPI: v2 as one document, v3 as an index and its documents, cached by clients under the hash in the URL.
// Source: kube-openapi pkg/handler and pkg/handler3.
import { type Clock, stringifyJson, toDate } from '@kapstan/api';
import type { OpenApiDocuments } from '../openapi/openapi-documents.ts';
import type { SwaggerDocuments, SwaggerForm } from '../openapi/swagger-documents.ts';
import { BodyWriter } from './body-writer.ts';
import type { Exchange } from './exchange.ts';
import { parseAccept } from './media-type.ts';
import { sendPageNotFound, sendText } from './status-response.ts';

const root = '/openapi/v3';
const yearMs = 365 * 86_400_000;

/** What Accept names, most wanted first, and what is answered for it. */
const swaggerTypes: readonly { readonly accepted: string; readonly contentType: string; readonly form: SwaggerForm }[] =
  [
    { accepted: 'json', contentType: 'application/json', form: 'json' },
    {
      accepted: 'com.github.proto-openapi.spec.v2@v1.0+protobuf',
      contentType: 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf',
      form: 'protobuf',
    },
    {
      accepted: 'com.github.proto-openapi.spec.v2.v1.0+protobuf',
      contentType: 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf',
      form: 'protobuf',
    },
  ];

/** The whole document of /openapi/v2. */
export async function serveSwagger(exchange: Exchange, documents: SwaggerDocuments, clock: Clock): Promise<void> {
  const accepted = parseAccept(exchange.header('accept') || '*/*');
  const wanted = accepted.flatMap(({ type, subtype }) =>
    type === '*' || type === 'application'
      ? swaggerTypes.filter((known) => subtype === '*' || subtype === known.accepted)
      : [],
  )[0];
  if (wanted === undefined) return sendText(exchange, 406, '406 not acceptable\n');
  const document = await documents.document(wanted.form);
  const etag = `"${document.hash}"`;
  exchange.setHeader('ETag', etag);
  exchange.setHeader('Vary', 'Accept');
  if (exchange.header('if-none-match') === etag) return exchange.send(304, new Uint8Array());
  sendBytes(exchange, { contentType: wanted.contentType, bytes: document.bytes, clock });
}

/** False when the path is none of OpenAPI v3's. */
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
  sendBytes(exchange, { contentType: 'application/json', bytes, clock });
}

interface Body {
  readonly contentType: string;
  readonly bytes: Uint8Array;
  readonly clock: Clock;
}

function sendBytes(exchange: Exchange, { contentType, bytes, clock }: Body): void {
  exchange.setHeader('Content-Type', contentType);
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
