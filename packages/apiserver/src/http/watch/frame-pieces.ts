// Cuts long frames into pieces, so that each write to a socket is small and watches that write the same frame share its
// pieces. Used by watch-response.ts.

/** Length of a piece in bytes. TLS copies written bytes and keeps the copy until the socket has taken all of it. */
export const pieceBytes: number = 64 * 1024;

/** Pieces of frames, kept for the lifetime of their frame. */
const cut = new WeakMap<Uint8Array, readonly Uint8Array[]>();

/** Returns the pieces of a frame; a short frame is a single piece. */
export function framePieces(frame: Uint8Array): readonly Uint8Array[] {
  if (frame.length <= pieceBytes) return [frame];
  const known = cut.get(frame);
  if (known !== undefined) return known;
  const pieces = Array.from({ length: Math.ceil(frame.length / pieceBytes) }, (_, index) =>
    frame.subarray(index * pieceBytes, (index + 1) * pieceBytes),
  );
  cut.set(frame, pieces);
  return pieces;
}
