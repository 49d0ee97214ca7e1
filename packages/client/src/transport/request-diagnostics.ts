// Reports each attempt of a request on the diagnostics channel and to ClientOptions.onRequest.
import type { HttpMethod } from './http-request.ts';

/** Published on the diagnostics channel "kapstan:client:request" for each attempt. */
export interface RequestDiagnostics {
  readonly method: HttpMethod;
  /** Host and port of the server. */
  readonly host: string;
  /** Path without the query. */
  readonly path: string;
  /** Absent when there was no answer. 101 = the connection became a WebSocket. */
  readonly status?: number;
  readonly error?: unknown;
  /** 0 for the first attempt. */
  readonly attempt: number;
  /** Time from the request to the answer's headers, in milliseconds. */
  readonly durationMs: number;
  /** Delay of the attempt caused by the client's own rate limit, in milliseconds; not part of the duration. */
  readonly rateLimitedMs: number;
}
