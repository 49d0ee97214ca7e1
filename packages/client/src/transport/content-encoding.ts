// Requests answers in gzip and decompresses them, as Go's net/http does. Decompression runs in Node's thread pool, a piece at a time and
// only as fast as the reader takes the pieces. Used by the transport.
import { pipeline } from 'node:stream';
import { text } from 'node:stream/consumers';
import { createGunzip } from 'node:zlib';
import type { AnswerBody, ReceivedAnswer } from './sender.ts';

// One turn decodes at most this much, so that a high compression ratio does not lengthen it.
const pieceBytes = 65_536;

/** Returns the answer with its body decompressed. A body in an encoding that was not requested is an error with the code EBADMSG. */
export function withDecodedBody(answer: ReceivedAnswer): ReceivedAnswer {
  const encoding = encodingOf(answer);
  if (encoding === '') return answer;
  if (encoding === 'gzip') return { ...answer, body: gunzipped(answer.body) };
  answer.body.on('error', () => undefined).destroy();
  const message = `the answer has the content encoding ${JSON.stringify(encoding)}, but only gzip is supported`;
  throw Object.assign(new Error(message), { code: 'EBADMSG' });
}

/** Returns "" for a body that is sent as it is. */
function encodingOf({ headers, statusCode }: ReceivedAnswer): string {
  const header = headers['content-encoding'];
  // These two codes never have a body, and an empty body is not gzip.
  const isEmpty = statusCode === 204 || statusCode === 304 || headers['content-length'] === '0';
  if (header === undefined || isEmpty) return '';
  const encoding = String(header).trim().toLowerCase();
  if (encoding === 'identity') return '';
  // Source: RFC 9110 section 8.4.1.3: a recipient treats "x-gzip" as "gzip".
  return encoding === 'x-gzip' ? 'gzip' : encoding;
}

/**
 * Returns the decompressed body. Destroying it destroys the given one; an error of either ends both. Bytes after the end are an error,
 * except zeros, which are padding.
 */
function gunzipped(body: AnswerBody): AnswerBody {
  const gunzip = createGunzip({ chunkSize: pieceBytes });
  // A body may break before its reader listens.
  gunzip.on('error', () => undefined);
  pipeline(body, gunzip, () => undefined);
  return Object.assign(gunzip, { text: () => text(gunzip) });
}
