// Serves aggregated discovery where the client asks for it first, with an ETag over the document.
// Source: apiserver endpoints/discovery/aggregated (WrapAggregatedDiscoveryToHandler, etag.go).
import { createHash } from 'node:crypto';
import { stringifyJson } from '@kapstan/api';
import { aggregatedDocument } from '../discovery/aggregated-document.ts';
import type { DiscoverySnapshot } from '../discovery/discovery-index.ts';
import type { Exchange } from './exchange.ts';
import { parseAccept } from './media-type.ts';

interface EncodedDocument {
  readonly bytes: Uint8Array;
  readonly etag: string;
}

const documents = new WeakMap<DiscoverySnapshot, Map<string, EncodedDocument>>();
const mediaType = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

/** False when the client prefers the plain documents. `root`: "api" or "apis". */
export function serveAggregatedDiscovery(exchange: Exchange, index: DiscoverySnapshot, root: string): boolean {
  if (!prefersAggregated(exchange.header('accept') ?? '')) return false;
  exchange.setHeader('Vary', 'Accept');
  const { bytes, etag } = encodedDocument(index, root);
  exchange.setHeader('ETag', etag);
  exchange.setHeader('Cache-Control', 'public');
  exchange.setHeader('Content-Type', mediaType);
  const isKnown = exchange.header('if-none-match') === etag;
  exchange.send(isKnown ? 304 : 200, isKnown ? new Uint8Array() : bytes);
  return true;
}

function prefersAggregated(accept: string): boolean {
  for (const { type, subtype, parameters } of parseAccept(accept)) {
    if (type !== 'application' || subtype !== 'json') continue;
    const as = parameters.get('as');
    if (as === undefined) return false;
    const isOurs = parameters.get('g') === 'apidiscovery.k8s.io' && parameters.get('v') === 'v2';
    if (as === 'APIGroupDiscoveryList' && isOurs) return true;
  }
  return false;
}

function encodedDocument(index: DiscoverySnapshot, root: string): EncodedDocument {
  const known = documents.get(index)?.get(root);
  if (known !== undefined) return known;
  const bytes = Buffer.from(`${stringifyJson(aggregatedDocument(index, root))}\n`);
  const document = { bytes, etag: `"${createHash('sha512').update(bytes).digest('hex').toUpperCase()}"` };
  documents.set(index, new Map([...(documents.get(index) ?? []), [root, document]]));
  return document;
}
