// Serves aggregated discovery to clients that prefer it, with an ETag over the document. Source: apiserver
// endpoints/discovery/aggregated (WrapAggregatedDiscoveryToHandler, etag.go).
import { createHash } from 'node:crypto';
import { runInTurns } from '@kapstan/storage';
import { encodeValueInSlices, jsonFormat, type WireFormat, wireFormats } from '../../codec/wire-format.ts';
import { aggregatedDocument } from '../../discovery/aggregated-document.ts';
import type { DiscoverySnapshot } from '../../discovery/discovery-index.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { parseAccept } from '../exchange/media-type.ts';

interface EncodedDocument {
  readonly bytes: Uint8Array;
  readonly etag: string;
}

interface Request {
  readonly index: DiscoverySnapshot;
  /** Either "api" or "apis". */
  readonly root: string;
  /** Called each time a document is made. */
  readonly onMade: () => void;
}

const documents = new WeakMap<DiscoverySnapshot, Map<string, Promise<EncodedDocument>>>();

/** Returns false when the client prefers the plain documents. */
export async function serveAggregatedDiscovery(exchange: Exchange, request: Request): Promise<boolean> {
  const format = preferredFormat(exchange.header('accept') ?? '');
  if (format === undefined) return false;
  exchange.setHeader('Vary', 'Accept');
  const { bytes, etag } = await encodedDocument(request, format);
  exchange.setHeader('ETag', etag);
  exchange.setHeader('Cache-Control', 'public');
  exchange.setHeader('Content-Type', `${format.mediaType};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList`);
  if (exchange.audit?.keepsResponse) exchange.audit.respond(aggregatedDocument(request.index, request.root));
  const isKnown = exchange.header('if-none-match') === etag;
  exchange.send(isKnown ? 304 : 200, isKnown ? new Uint8Array() : bytes);
  return true;
}

/** Returns the format if the client's first choice is the aggregated document. */
function preferredFormat(accept: string): WireFormat | undefined {
  for (const { type, subtype, parameters } of parseAccept(accept).media) {
    const format = wireFormats.find(({ mediaType }) => mediaType === `${type}/${subtype}`);
    if (format === undefined) continue;
    const as = parameters.get('as');
    if (as === undefined) return undefined;
    const isOurs = parameters.get('g') === 'apidiscovery.k8s.io' && parameters.get('v') === 'v2';
    if (as === 'APIGroupDiscoveryList' && isOurs) return format;
  }
  return undefined;
}

/** Returns the document, which is made once for all who ask; its ETag is the same in every format. */
function encodedDocument(request: Request, format: WireFormat): Promise<EncodedDocument> {
  const { index, root } = request;
  let ofIndex = documents.get(index);
  if (ofIndex === undefined) {
    ofIndex = new Map();
    documents.set(index, ofIndex);
  }
  const key = `${root} ${format.name}`;
  let document = ofIndex.get(key);
  if (document === undefined) {
    document = encode(request, format);
    ofIndex.set(key, document);
    document.catch(() => ofIndex.delete(key));
  }
  return document;
}

async function encode({ index, root, onMade }: Request, format: WireFormat): Promise<EncodedDocument> {
  const document = aggregatedDocument(index, root);
  const json = await runInTurns(encodeValueInSlices(jsonFormat, document));
  const etag = `"${createHash('sha512').update(json).digest('hex').toUpperCase()}"`;
  const bytes = format.name === 'json' ? json : await runInTurns(encodeValueInSlices(format, document));
  onMade();
  return { bytes, etag };
}
