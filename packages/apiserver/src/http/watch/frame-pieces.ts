// Pieces of long frames: what is written to a socket at once stays small, and watches that write the same frame share its pieces.
// Used by watch-response.ts.

/** TLS makes a copy of what is written and keeps it until the socket takes all of it. */
export const pieceBytes: number = 64 * 1024;

/** Lives as long as the frame. */
const cut = new WeakMap<Uint8Array, readonly Uint8Array[]>();

/** The frame itself when it is short. */
export function piecesOf(frame: Uint8Array): readonly Uint8Array[] {
  if (frame.length <= pieceBytes) return [frame];
  const known = cut.get(frame);
  if (known !== undefined) return known;
  const pieces = Array.from({ length: Math.ceil(frame.length / pieceBytes) }, (_, index) =>
    frame.subarray(index * pieceBytes, (index + 1) * pieceBytes),
  );
  cut.set(frame, pieces);
  return pieces;
}
