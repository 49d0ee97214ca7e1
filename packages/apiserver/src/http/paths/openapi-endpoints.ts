// Serves OpenAPI: v2 as one document, v3 as an index and its documents, cached by clients under the hash in the URL.
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
  /** The type that Accept names after "application/". */
  readonly accepted: string;
  readonly contentType: string;
  readonly form: 'json' | 'protobuf';
}

/** The first type that fits is used. Old clients write the type with an "@". */
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

/** Returns undefined when none of the types is accepted. */
function wantedType(exchange: Exchange, types: readonly DocumentType[]): DocumentType | undefined {
  const accepted = parseAccept(exchange.header('accept') || '*/*').media;
  return accepted.flatMap(({ type, subtype }) =>
    type === '*' || type === 'application'
      ? types.filter((known) => subtype === '*' || subtype === known.accepted)
      : [],
  )[0];
}

/** The whole document of /openapi/v2. */
export async function serveSwagger(exchange: Exchange, documents: SwaggerDocuments, clock: Clock): Promise<void> {
  const wanted = wantedType(exchange, swaggerTypes);
  exchange.setHeader('Vary', ['Accept-Encoding', 'Accept']);
  if (wanted === undefined) return exchange.send(406, new Uint8Array());
  const document = await documents.document(wanted.form);
  if (isKnown(exchange, document.hash)) return exchange.send(304, new Uint8Array());
  await sendBytes(exchange, { contentType: wanted.contentType, bytes: document.bytes, clock });
}

/** Returns false when the path does not belong to OpenAPI v3. */
export async function serveOpenApi(exchange: Exchange, documents: OpenApiDocuments, clock: Clock): Promise<boolean> {
  const { path } = exchange;
  if (path !== root && !path.startsWith(`${root}/`)) return false;
  if (path === root) await serveIndex(exchange, documents, clock);
  else await serveDocument(exchange, documents, clock);
  return true;
}

/** Sends the same answer for every Accept header, with the type that Go guesses, because the aggregator sets none. */
function serveIndex(exchange: Exchange, documents: OpenApiDocuments, clock: Clock): Promise<void> {
  const bytes = Buffer.from(stringifyJson(documents.index()));
  return sendBytes(exchange, { contentType: 'text/plain; charset=utf-8', bytes, clock });
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
  await sendBytes(exchange, { contentType, bytes: document.bytes, clock });
}

/** Sets the ETag and returns whether the client already has the document. Source: net/http checkIfNoneMatch. */
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

/** TLS encrypts the bytes of one write in one turn, and documents can have a hundred megabytes. */
const pieceBytes = 256 * 1024;

async function sendBytes(exchange: Exchange, { contentType, bytes, clock }: Body): Promise<void> {
  exchange.setHeader('Content-Type', contentType);
  const writer = new BodyWriter(exchange, { status: 200, clock });
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    writer.push(bytes.subarray(at, at + pieceBytes));
    if (at + pieceBytes < bytes.length && writer.needsBreath && !(await writer.breathe())) return writer.abort();
  }
  writer.finish();
}
