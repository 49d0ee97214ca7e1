// Decides how long a request may take: the client's ?timeout=, within the server's limits. Source:
// filters/request_deadline.go; handlers/finisher (34 s for writes).
import { parseDuration } from '@kapstan/api';
import { badRequest } from '@kapstan/api/errors';
import type { RequestInfo } from '../exchange/request-info.ts';

/** Writes get less time than other requests, so that their clients get an answer before they give up. */
const maxWriteMs = 34_000;
const writes = new Set(['create', 'update', 'patch', 'delete']);

/**
 * Returns milliseconds. Throws 400 for a timeout that is not a duration. 0 in the query means the server's own limit.
 */
export function requestTimeoutMs(info: RequestInfo, query: URLSearchParams, maxMs: number): number {
  const isWrite = info.type === 'resource' && writes.has(info.verb);
  const limitMs = isWrite ? Math.min(maxMs, maxWriteMs) : maxMs;
  const text = query.get('timeout') ?? '';
  if (text === '') return limitMs;
  const askedMs = parseDuration(text);
  if (typeof askedMs === 'number') return askedMs > 0 ? Math.min(askedMs, limitMs) : limitMs;
  throw badRequest(`invalid timeout specified in the request URL - ${askedMs.error}`);
}
