// The port between the transport and the connections, through which one request is sent. Undici's dispatchers implement it for HTTP/1.1,
// http2-pool.ts for HTTP/2.
import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import type { BeforeSend } from './before-send.ts';

/** The body of an answer: a stream of bytes that errors when the connection breaks before the end. */
export interface AnswerBody extends Readable {
  /** Reads the rest as UTF-8. */
  text(): Promise<string>;
}

export interface SentRequest extends BeforeSend {
  readonly origin: string;
  /** Path and query. */
  readonly path: string;
  readonly method: Dispatcher.HttpMethod;
  readonly headers: Record<string, string | string[]>;
  readonly body: string | Uint8Array | null;
  /** Ends the request and its answer. */
  readonly signal: AbortSignal;
}

export interface ReceivedAnswer {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: AnswerBody;
}

export interface Sender {
  /** Resolves with the head of the answer. Rejects with network errors, and with errors of `beforeSend`. */
  request(options: SentRequest): Promise<ReceivedAnswer>;
  /** Accepts no more requests, and resolves when those in progress are over. */
  close(): Promise<void>;
  /** Ends everything at once. */
  destroy(): Promise<void>;
}
