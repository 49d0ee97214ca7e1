// What goes to the server and what comes back, below the verbs. Used by the transport, its attempts, and watches.
import type { GroupResource } from '@kapstan/api';
import type { Dispatcher } from 'undici';

export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export interface HttpRequest {
  readonly method: HttpMethod;
  /** Path and query below the server's base path: "/api/v1/pods?limit=1". Already encoded. */
  readonly path: string;
  /** Default "application/json". */
  readonly accept?: string;
  readonly contentType?: string;
  readonly body?: string | undefined;
  /** What is asked for; stands in errors that the server did not word. */
  readonly resource?: GroupResource | undefined;
  readonly name?: string | undefined;
}

/** A successful answer whose body has not been read. */
export interface HttpAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: Dispatcher.ResponseData['body'];
  /** For messages: "GET https://host/path". */
  readonly request: string;
}

export interface CallLimits {
  readonly signal?: AbortSignal | undefined;
  /** 0 = no limit. */
  readonly timeoutMs: number;
  /** Called right before each attempt is written, when its connection stands; what it throws, the call rejects with. */
  readonly beforeAttempt?: (() => void) | undefined;
}

export function pathOnly({ path }: HttpRequest): string {
  const query = path.indexOf('?');
  return query === -1 ? path : path.slice(0, query);
}
