// Makes the pieces of a large document a few per turn, so that other requests are served in between. Used by
// openapi-documents.ts and swagger-documents.ts.
import { setImmediate } from 'node:timers/promises';

/** Number of paths or definitions made in one turn. */
const sliceItems = 16;

export async function inSlices<T>(
  items: readonly T[],
  make: (item: T, index: number) => Uint8Array,
): Promise<Uint8Array[]> {
  const pieces: Uint8Array[] = [];
  for (const [index, item] of items.entries()) {
    pieces.push(make(item, index));
    if (index % sliceItems === sliceItems - 1) await setImmediate();
  }
  return pieces;
}
