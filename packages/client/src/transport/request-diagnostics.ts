// What is told of each attempt of a request: on the diagnostics channel and to ClientOptions.onRequest.
import type { HttpMethod } from './http-request.ts';

/** What is published on the diagnostics channel "kapstan:client:request", once an attempt. */
export interface RequestDiagnostics {
  readonly method: HttpMethod;
  /** Host and port of the server. */
  readonly host: string;
  /** Without the query. */
  readonly path: string;
  /** Absent when there was no answer. 101 = the connection became a WebSocket. */
  readonly status?: number;
  readonly error?: unknown;
  /** 0 for the first attempt. */
  readonly attempt: number;
  /** From the request to the answer's headers, in milliseconds. */
  readonly durationMs: number;
  /** What the client's own rate limit held the attempt up before that, in milliseconds. */
  readonly rateLimitedMs: number;
}
