// Serves OpenAPI: v2 as one document, v3 as an index and its documents, which clients cache under the hash in the URL.
// Source: kube-openapi pkg/handler and pkg/handler3.

import { type Clock, stringifyJson } from '@kapstan/api';
import { toDate } from '@kapstan/api/internal';
import type { OpenApiDocuments } from '../../openapi/openapi-documents.ts';
import type { SwaggerDocuments } from '../../openapi/swagger-documents.ts';
import { BodyWriter } from '../exchange/body-writer.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { parseAccept } from '../exchange/media-type.ts';

const root = '/openapi/v3';
const yearMs = 365 * 86_400_000;

interface DocumentType {
  /** The media type as Accept has it, after "application/". */
  readonly accepted: string;
  readonly contentType: string;
  readonly form: 'json' | 'protobuf';
}

/** Returns the types on offer; the first that fits is used. Old clients write the type with an "@". */
function documentTypes(version: 'v2' | 'v3'): readonly DocumentType[] {
  const packed = `com.github.proto-openapi.spec.${version}.v1.0+protobuf`;
  const contentType = `application/${packed}`;
  return [
    { accepted: 'json', contentType: 'application/json', form: 'json' },
    { accepted: packed, contentType, form: 'protobuf' },
    { accepted: packed.replace('.v1.0', '@v1.0'), contentType, form: 'protobuf' },
  ];
}
const swaggerTypes = documentTypes('v2');
const openApiTypes = documentTypes('v3');

/** Returns undefined when the client accepts none of the types. */
function wantedType(exchange: Exchange, types: readonly DocumentType[]): DocumentType | undefined {
  const accepted = parseAccept(exchange.header('accept') || '*/*').media;
  return accepted.flatMap(({ type, subtype }) =>
    type === '*' || type === 'application'
      ? types.filter((known) => subtype === '*' || subtype === known.accepted)
      : [],
  )[0];
}

/** Sends the whole document of /openapi/v2. */
export async function serveSwagger(exchange: Exchange, documents: SwaggerDocuments, clock: Clock): Promise<void> {
  const wanted = wantedType(exchange, swaggerTypes);
  exchange.setHeader('Vary', ['Accept-Encoding', 'Accept']);
  if (wanted === undefined) return exchange.send(406, new Uint8Array());
  const document = await documents.document(wanted.form);
  if (isKnown(exchange, document.hash)) return exchange.send(304, new Uint8Array());
  sendBytes(exchange, { contentType: wanted.contentType, bytes: document.bytes, clock });
}

/** Returns false when the path is not one of OpenAPI v3. */
export async function serveOpenApi(exchange: Exchange, documents: OpenApiDocuments, clock: Clock): Promise<boolean> {
  const { path } = exchange;
  if (path !== root && !path.startsWith(`${root}/`)) return false;
  if (path === root) serveIndex(exchange, documents, clock);
  else await serveDocument(exchange, documents, clock);
  return true;
}

/** Accept is ignored and no Content-Type set, as in kube-apiserver's aggregator. Source: openapiv3/aggregator. */
function serveIndex(exchange: Exchange, documents: OpenApiDocuments, clock: Clock): void {
  const bytes = Buffer.from(stringifyJson(documents.index()));
  sendBytes(exchange, { contentType: 'text/plain; charset=utf-8', bytes, clock });
}

async function serveDocument(exchange: Exchange, documents: OpenApiDocuments, clock: Clock): Promise<void> {
  const wanted = wantedType(exchange, openApiTypes);
  const document = await documents.document(exchange.path.slice(root.length + 1), wanted?.form ?? 'json');
  if (document === undefined) return exchange.send(404, new Uint8Array());
  exchange.setHeader('Vary', 'Accept');
  if (wanted === undefined) return exchange.send(406, new Uint8Array());
  const { contentType } = wanted;
  const asked = exchange.query.get('hash');
  if (asked !== null && asked !== '' && asked !== document.hash) {
    exchange.setHeader('Location', `${exchange.path}?hash=${document.hash}`);
    exchange.setHeader('Content-Type', contentType);
    return exchange.send(301, new Uint8Array());
  }
  if (asked === document.hash) {
    exchange.setHeader('Cache-Control', 'public, immutable');
    exchange.setHeader('Expires', toDate(clock.now() + yearMs).toUTCString());
  }
  if (isKnown(exchange, document.hash)) return exchange.send(304, new Uint8Array());
  sendBytes(exchange, { contentType, bytes: document.bytes, clock });
}

/** Sets the ETag and returns whether the client has this document. Source: net/http checkIfNoneMatch. */
function isKnown(exchange: Exchange, hash: string): boolean {
  const etag = `"${hash}"`;
  exchange.setHeader('ETag', etag);
  const known = (exchange.header('if-none-match') ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return known.includes('*') || known.includes(etag);
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
