// Makes the pieces of a large document a few per turn, so that other requests are served in between. Used by
// openapi-documents.ts and swagger-documents.ts.
import { TurnSlice } from '@kapstan/api/internal';

export async function inSlices<T>(
  items: readonly T[],
  make: (item: T, index: number) => Uint8Array,
): Promise<Uint8Array[]> {
  const pieces: Uint8Array[] = [];
  const slice = new TurnSlice();
  for (const [index, item] of items.entries()) {
    pieces.push(make(item, index));
    if (slice.endsHere()) await slice.nextTurn();
  }
  return pieces;
}
