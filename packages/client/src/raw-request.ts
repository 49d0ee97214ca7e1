// A request to any path of the server and its answer as text. Sent by client.ts.
import type { CallOptions } from '@kapstan/api';
import type { Query } from './request-path.ts';
import type { HttpMethod } from './transport/http-request.ts';

/** A request outside the resources: health, version, metrics, an aggregated API. */
export interface RawRequest extends CallOptions {
  /** Default 'GET'. */
  readonly method?: HttpMethod;
  /** "/healthz". */
  readonly path: string;
  readonly query?: Query;
  /** Default "application/json". */
  readonly accept?: string;
  readonly contentType?: string;
  readonly body?: string;
}

export interface RawAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}
