// How long a request may take: what the client asks for with ?timeout=, within the server's bounds.
// Source: filters/request_deadline.go; handlers/finisher (34 s for writes).
import { StatusError } from '@kapstan/api';
import type { RequestInfo } from './request-info.ts';

/** Writes get less than other requests, so that their clients hear of it before they give up themselves. */
const maxWriteMs = 34_000;
const writes = new Set(['create', 'update', 'patch', 'delete']);

/** Milliseconds. Throws 400 for a timeout that is no duration. 0 in the query means the server's own limit. */
export function requestTimeoutMs(info: RequestInfo, query: URLSearchParams, maxMs: number): number {
  const isWrite = info.type === 'resource' && writes.has(info.verb);
  const limitMs = isWrite ? Math.min(maxMs, maxWriteMs) : maxMs;
  const text = query.get('timeout') ?? '';
  if (text === '') return limitMs;
  const askedMs = parseDuration(text);
  if (typeof askedMs === 'number') return askedMs > 0 ? Math.min(askedMs, limitMs) : limitMs;
  const message = 'invalid timeout specified in the request URL';
  const causes = [{ reason: 'FieldValueInvalid', message: askedMs.error, field: 'timeout' }];
  throw new StatusError({ code: 400, reason: 'BadRequest', message, details: { causes } });
}

const unitMs: ReadonlyMap<string, number> = new Map([
  ['ns', 1e-6],
  ['us', 1e-3],
  ['µs', 1e-3],
  ['μs', 1e-3],
  ['ms', 1],
  ['s', 1000],
  ['m', 60_000],
  ['h', 3_600_000],
]);

/** "1h2m3.5s" in milliseconds, or Go's text for what is none. Source: time.ParseDuration. */
export function parseDuration(text: string): number | { readonly error: string } {
  const shown = JSON.stringify(text);
  const sign = text.startsWith('-') ? -1 : 1;
  let rest = text.replace(/^[-+]/, '');
  if (rest === '0') return 0;
  if (rest === '') return { error: `time: invalid duration ${shown}` };
  let totalMs = 0;
  while (rest !== '') {
    const [part = '', digits = '', unit = ''] = /^(\d+\.?\d*|\.\d+)([^\d.]*)/.exec(rest) ?? [];
    if (digits === '') return { error: `time: invalid duration ${shown}` };
    if (unit === '') return { error: `time: missing unit in duration ${shown}` };
    const factor = unitMs.get(unit);
    if (factor === undefined) return { error: `time: unknown unit ${JSON.stringify(unit)} in duration ${shown}` };
    totalMs += Number(digits) * factor;
    rest = rest.slice(part.length);
  }
  return sign * totalMs;
}
