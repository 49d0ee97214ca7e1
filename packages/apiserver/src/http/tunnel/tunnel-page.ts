// Reads a whole page of HTML from a peer so that its links can be rewritten, and compresses it again in the same way.
// Used by tunnel-forward.ts. Source: apimachinery pkg/util/proxy (Transport.rewriteResponse).
import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { deflateRaw, gunzip, gzip, inflateRaw } from 'node:zlib';

interface Packing {
  pack(bytes: Uint8Array): Promise<Uint8Array>;
  unpack(bytes: Uint8Array): Promise<Uint8Array>;
}

/** Largest page in bytes, compressed or not. */
const maxPageBytes = 4 * 1024 * 1024;

const packings: ReadonlyMap<string, Packing> = new Map([
  ['', { pack: async (bytes) => bytes, unpack: async (bytes) => bytes }],
  ['gzip', { pack: promisify(gzip), unpack: (bytes) => promisify(gunzip)(bytes, { maxOutputLength: maxPageBytes }) }],
  [
    'deflate',
    { pack: promisify(deflateRaw), unpack: (bytes) => promisify(inflateRaw)(bytes, { maxOutputLength: maxPageBytes }) },
  ],
]);

/** True for HTML that can be decompressed here and is not declared too long; without a length it counts as short. */
export function isMendable({ headers }: IncomingMessage): boolean {
  const [type = ''] = (headers['content-type'] ?? '').split(';');
  const isShort = Number(headers['content-length'] ?? 0) <= maxPageBytes;
  return type.trim() === 'text/html' && isShort && packings.has(headers['content-encoding'] ?? '');
}

/** Returns the page after `change`. Rejects when it breaks off, cannot be decompressed or is too long. */
export async function changePage(response: IncomingMessage, change: (html: string) => string): Promise<Uint8Array> {
  const packing = packings.get(response.headers['content-encoding'] ?? '');
  if (packing === undefined) throw new TypeError('a page that cannot be decompressed');
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of response as AsyncIterable<Uint8Array>) {
    size += piece.length;
    if (size > maxPageBytes) throw new Error(`a page of more than ${maxPageBytes} bytes`);
    pieces.push(piece);
  }
  const html = Buffer.from(await packing.unpack(Buffer.concat(pieces))).toString('latin1');
  // Bytes are kept whatever the character set, because tags and addresses are ASCII.
  return packing.pack(Buffer.from(change(html), 'latin1'));
}
