// Reads the whole answer of another server, up to a limit. For aggregated API servers and issuers of tokens.
import type { IncomingMessage } from 'node:http';

/** Rejects for an answer that breaks off, and for one that has more bytes. */
export async function readAnswer(answer: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of answer as AsyncIterable<Uint8Array>) {
    size += piece.length;
    if (size > maxBytes) {
      answer.destroy();
      throw new Error(`the answer is larger than ${maxBytes} bytes`);
    }
    pieces.push(piece);
  }
  if (!answer.complete) throw new Error('unexpected EOF');
  return Buffer.concat(pieces);
}
