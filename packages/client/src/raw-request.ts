// A request to any path of the server and its answer as text. Sent by client.ts.

import type { CallOptions } from '@kapstan/api';
import { type OptionTable, optional, requireObject, requireOptions, requireString } from '@kapstan/api/internal';
import { callOptionTable } from './call-option-table.ts';
import { formatQuery, type Query } from './request-path.ts';
import type { HttpMethod } from './transport/http-request.ts';

/** A request outside the resources, such as health, version, metrics or an aggregated API. */
export interface RawRequest extends CallOptions {
  /** Default 'GET'. */
  readonly method?: HttpMethod;
  /** Such as "/healthz". */
  readonly path: string;
  readonly query?: Query;
  /** Default "application/json". */
  readonly accept?: string;
  readonly contentType?: string;
  readonly body?: string | Uint8Array;
}

const members: OptionTable<RawRequest> = {
  ...callOptionTable,
  method: optional(requireString),
  path: requireString,
  query: optional(requireObject),
  accept: optional(requireString),
  contentType: optional(requireString),
  body: optional(requireBody),
};

function requireBody(body: unknown): void {
  if (typeof body !== 'string' && !(body instanceof Uint8Array)) throw new TypeError('body must be a string or bytes');
}

/**
 * Returns the path with its query. Throws TypeError unless the path begins with a slash, because it would otherwise become part of the
 * host.
 */
export function rawPath(request: RawRequest): string {
  requireObject(request, 'a request, such as { path },');
  requireOptions(request, members, 'a raw request');
  if (!request.path.startsWith('/'))
    throw new TypeError(`path must begin with a slash, unlike ${JSON.stringify(request.path)}`);
  return `${request.path}${formatQuery(request.query ?? {})}`;
}

/** An answer of the server, unread. */
export interface RawAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}
