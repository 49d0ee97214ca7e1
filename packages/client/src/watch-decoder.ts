// Decodes a watch: splits bytes on newlines, parses each event once, and never joins more than one event's bytes.
import {
  type KubernetesObject,
  parseJson,
  type ResourceVersion,
  type Status,
  StatusError,
  type WatchEvent,
} from '@kapstan/api';
import { statusErrorFrom } from '@kapstan/api/errors';
import { initialEventsEndAnnotation, isJsonObject } from '@kapstan/api/internal';

const newline = 10;

/** Splits a byte stream into lines. A line that spans chunks is joined once, when its end arrives. */
export class LineSplitter {
  readonly #maxBytes: number;
  #pending: Buffer[] = [];
  #pendingBytes = 0;

  /** `maxBytes`: maximum length of a line; a longer one is an error. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Yields the lines that end in this chunk, without their newline. Lazy: when the consumer stops, the rest stays unsplit. */
  *split(chunk: Buffer): Generator<string, void, undefined> {
    let start = 0;
    for (let end = chunk.indexOf(newline, start); end !== -1; end = chunk.indexOf(newline, start)) {
      yield this.#line(chunk, start, end);
      start = end + 1;
    }
    if (start < chunk.length) this.#keep(chunk.subarray(start));
  }

  /** Returns the text after the last newline; "" when there is none. */
  rest(): string {
    const text = Buffer.concat(this.#pending).toString('utf8');
    this.#pending = [];
    this.#pendingBytes = 0;
    return text;
  }

  #line(chunk: Buffer, start: number, end: number): string {
    if (this.#pendingBytes === 0) {
      this.#check(end - start);
      return chunk.toString('utf8', start, end);
    }
    this.#keep(chunk.subarray(start, end));
    return this.rest();
  }

  #keep(part: Buffer): void {
    this.#pendingBytes += part.length;
    this.#check(this.#pendingBytes);
    this.#pending.push(part);
  }

  #check(bytes: number): void {
    if (bytes > this.#maxBytes) throw decodingError(`event exceeds ${this.#maxBytes} bytes`);
  }
}

export interface WatchDecoderOptions {
  /** Maximum length of a line in bytes. */
  readonly maxEventBytes: number;
  /** Parses one line. Throws SyntaxError when it is not JSON. Default: {@link parseJson}. */
  readonly parse?: ((line: string) => unknown) | undefined;
}

/** Decodes one watch's stream. Throws StatusError: the server's own for an ERROR event, a 500 for bytes that are not an event. */
export class WatchDecoder<T extends KubernetesObject> {
  readonly #lines: LineSplitter;
  readonly #parse: (line: string) => unknown;

  constructor({ maxEventBytes, parse = parseJson }: WatchDecoderOptions) {
    this.#lines = new LineSplitter(maxEventBytes);
    this.#parse = parse;
  }

  /** Yields the events that end in this chunk. Lazy: each is parsed when it is requested. */
  *decode(chunk: Buffer): Generator<WatchEvent<T>, void, undefined> {
    for (const line of this.#lines.split(chunk)) {
      if (line !== '' && line !== '\r') yield decodeWatchEvent<T>(line, this.#parse);
    }
  }

  /** Ends the stream; returns a complete last event without a newline. Throws when it is cut off. */
  end(): WatchEvent<T> | undefined {
    const rest = this.#lines.rest();
    return rest.trim() === '' ? undefined : decodeWatchEvent<T>(rest, this.#parse);
  }
}

/** Decodes one line of a watch. */
function decodeWatchEvent<T extends KubernetesObject>(line: string, parse: (line: string) => unknown): WatchEvent<T> {
  const { type, object } = parseFrame(line, parse);
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
      return { type, object } as unknown as WatchEvent<T>;
    case 'BOOKMARK':
      return bookmark(object);
    case 'ERROR':
      throw errorOf(object);
    default:
      throw decodingError(`got invalid watch event type: ${String(type)}`);
  }
}

function parseFrame(
  line: string,
  parse: (line: string) => unknown,
): { readonly type: unknown; readonly object: KubernetesObject } {
  let frame: unknown;
  try {
    frame = parse(line);
  } catch (error) {
    throw decodingError(error instanceof Error ? error.message : String(error), error);
  }
  if (!isJsonObject(frame)) throw decodingError('a watch event must be a JSON object');
  if (!isJsonObject(frame.object)) throw decodingError(`the event ${String(frame.type)} has no object`);
  return { type: frame.type, object: frame.object };
}

function bookmark({ metadata }: KubernetesObject): WatchEvent<never> {
  const resourceVersion = metadata?.resourceVersion;
  if (typeof resourceVersion !== 'string') throw decodingError('the event BOOKMARK has no resource version');
  const initialEventsEnd = metadata?.annotations?.[initialEventsEndAnnotation] === 'true';
  return { type: 'BOOKMARK', resourceVersion: resourceVersion as ResourceVersion, initialEventsEnd };
}

function errorOf(object: KubernetesObject): StatusError {
  if (object.kind === 'Status') return statusErrorFrom(object as unknown as Partial<Status>);
  return decodingError(`the event ERROR holds a ${object.kind ?? 'nameless kind'} instead of a Status`);
}

// Source of code, text and cause: apimachinery watch/streamwatcher.go, with the reporter of client-go rest/request.go.
function decodingError(why: string, cause?: unknown): StatusError {
  const message = `unable to decode an event from the watch stream: ${why}`;
  const causes = [
    { reason: 'UnexpectedServerResponse', message },
    { reason: 'ClientWatchDecoding', message: why },
  ];
  return new StatusError({ code: 500, reason: 'InternalError', message, details: { causes } }, { cause });
}
