// Reads the body of a request within a limit, and parses large ones in several turns. Used by webhook-server.ts.
import type { IncomingMessage } from 'node:http';
import { parseJson, StatusError } from '@kapstan/api';
import { badRequest, requestEntityTooLarge, tooManyRequests, unsupportedMediaType } from '@kapstan/api/errors';
import { parseJsonInSlices, type SlicedWork, TurnSlice } from '@kapstan/api/internal';

/** A larger text would block the event loop for milliseconds. */
const wholeBytes = 256 * 1024;

/** Returns the parsed JSON. Throws 415, 413, 429 and 400. */
export async function readJsonBody(request: IncomingMessage, limits: BodyLimits): Promise<unknown> {
  const type = (request.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/json')
    throw unsupportedMediaType(`the body must be application/json, not ${JSON.stringify(type)}`);
  const bytes = await readBytes(request, limits);
  if (bytes.length === 0) throw badRequest('the body is empty');
  const text = decoded(bytes);
  try {
    return bytes.length <= wholeBytes ? parseJson(text) : await inTurns(parseJsonInSlices(text));
  } catch (error) {
    if (error instanceof SyntaxError || (error instanceof Error && error.name === 'JsonSyntaxError'))
      throw badRequest(`the body is no JSON: ${error.message}`);
    throw error;
  }
}

/** Counts the bytes of bodies over all requests: callers are not authenticated, so the memory must have a bound. */
export class BodyBudget {
  readonly #limit: number;
  #held = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Returns the share of one request. */
  share(): BodyShare {
    let own = 0;
    return {
      take: (bytes) => {
        if (this.#held + bytes > this.#limit) return false;
        this.#held += bytes;
        own += bytes;
        return true;
      },
      giveBack: () => {
        this.#held -= own;
        own = 0;
      },
    };
  }
}

export interface BodyShare {
  /** Returns false when there is no room for this many more. */
  take(bytes: number): boolean;
  giveBack(): void;
}

export interface BodyLimits {
  readonly maxBytes: number;
  readonly share: BodyShare;
  /** Aborts when the answer is no longer awaited. */
  readonly signal: AbortSignal;
}

/** Reads the body. After a rejection the rest is not read, so the connection must end. */
async function readBytes(request: IncomingMessage, { maxBytes, share, signal }: BodyLimits): Promise<Buffer> {
  const tooLarge = (): Error => requestEntityTooLarge(`the body has more than ${maxBytes} bytes`);
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLarge();
  const chunks: Buffer[] = [];
  let length = 0;
  const over = new AbortController();
  const read = new Promise<void>((resolve, reject) => {
    const onChunk = (chunk: Buffer): void => {
      length += chunk.length;
      if (length > maxBytes) reject(tooLarge());
      else if (!share.take(chunk.length)) reject(tooManyRequests('the bodies of too many requests are being read', 1));
      else chunks.push(chunk);
    };
    const onAbort = (): void => reject(signal.reason);
    request.on('data', onChunk).once('end', resolve).once('error', reject);
    signal.addEventListener('abort', onAbort, { once: true });
    over.signal.addEventListener('abort', () => {
      request.pause().removeListener('data', onChunk);
      signal.removeEventListener('abort', onAbort);
    });
    if (signal.aborted) onAbort();
  });
  try {
    await read;
  } finally {
    over.abort();
  }
  return Buffer.concat(chunks);
}

function decoded(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw new StatusError({ code: 400, reason: 'BadRequest', message: 'the body is no UTF-8' }, { cause: error });
  }
}

/** Runs the work in slices of a few milliseconds, so that other requests can proceed. */
export async function inTurns<T>(work: SlicedWork<T>): Promise<T> {
  const slice = new TurnSlice({ itemsPerLook: 1 });
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
    if (step.value !== undefined) await step.value;
    else if (slice.endsHere()) await slice.nextTurn();
  }
}
