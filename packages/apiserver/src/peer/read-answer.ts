// Reads the whole answer of another server, up to a limit. For webhooks, aggregated API servers and issuers of tokens.
import type { IncomingMessage } from 'node:http';

const largerThan = (maxBytes: number): Error => new Error(`the answer is larger than ${maxBytes} bytes`);

/** Rejects for an answer that breaks off, and with the error of `tooLarge` for one that has more bytes. */
export async function readAnswer(
  answer: IncomingMessage,
  maxBytes: number,
  tooLarge: (maxBytes: number) => Error = largerThan,
): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of answer as AsyncIterable<Uint8Array>) {
    size += piece.length;
    if (size > maxBytes) {
      answer.destroy();
      throw tooLarge(maxBytes);
    }
    pieces.push(piece);
  }
  if (!answer.complete) throw new Error('unexpected EOF');
  return Buffer.concat(pieces);
}
