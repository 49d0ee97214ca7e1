// Makes the bytes of a large document in pieces, at least one per path and schema, in slices so that other work gets a
// turn. Used by openapi-documents.ts and swagger-documents.ts.
import type { SlicedWork } from '@kapstan/api/internal';

type Entry = readonly [name: string, value: Readonly<Record<string, unknown>>];

/** Returns all pieces, with a yield after each entry. */
export function* documentPieces(
  entries: readonly Entry[],
  make: (entry: Entry) => SlicedWork<Uint8Array[]>,
): SlicedWork<Uint8Array[]> {
  const pieces: Uint8Array[] = [];
  for (const entry of entries) {
    for (const piece of yield* make(entry)) pieces.push(piece);
    yield;
  }
  return pieces;
}

/** Yields the entries as members of a JSON object, without its braces. */
export function* jsonMembers(
  entries: readonly Entry[],
  textOf: (value: Entry[1], name: string) => SlicedWork<string>,
): SlicedWork<Uint8Array[]> {
  let comma = '';
  return yield* documentPieces(entries, function* ([name, value]) {
    const text = Buffer.from(`${comma}${JSON.stringify(name)}:${yield* textOf(value, name)}`);
    comma = ',';
    return [text];
  });
}

/** Bytes that one step copies. */
const copiedBytes = 256 * 1024;

/** Joins all pieces in one buffer. */
export function* joinPieces(making: SlicedWork<readonly Uint8Array[]>): SlicedWork<Uint8Array> {
  const pieces = yield* making;
  const joined = Buffer.allocUnsafeSlow(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  let copied = 0;
  for (const piece of pieces) {
    joined.set(piece, at);
    at += piece.length;
    copied += piece.length;
    if (copied < copiedBytes) continue;
    copied = 0;
    yield;
  }
  return joined;
}
