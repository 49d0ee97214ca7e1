// Requests and answers below the level of verbs. Used by the transport, its attempts, and watches.
import type { GroupResource } from '@kapstan/api';
import type { CallTracer } from '@kapstan/api/internal';
import type { AnswerBody } from './sender.ts';

export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export interface HttpRequest {
  readonly method: HttpMethod;
  /** Path and query below the server's base path: "/api/v1/pods?limit=1". Already encoded. */
  readonly path: string;
  /** Default "application/json". */
  readonly accept?: string | undefined;
  readonly contentType?: string | undefined;
  readonly body?: string | Uint8Array | undefined;
  /** The requested resource, for errors that the server did not phrase itself. */
  readonly resource?: GroupResource | undefined;
  readonly name?: string | undefined;
}

/** A successful answer whose body has not been read. */
export interface HttpAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: AnswerBody;
  /** Name of the request for messages: "GET https://host/path". */
  readonly request: string;
}

export interface CallLimits {
  readonly signal?: AbortSignal | undefined;
  /** 0 = no limit. */
  readonly timeoutMs: number;
  /** Called right before each attempt is written, once its connection is open; when it throws, the call rejects with that error. */
  readonly beforeAttempt?: (() => void) | undefined;
  /** Makes spans of the attempts. */
  readonly trace?: CallTracer | undefined;
}

export function pathOnly({ path }: HttpRequest): string {
  const query = path.indexOf('?');
  return query === -1 ? path : path.slice(0, query);
}
