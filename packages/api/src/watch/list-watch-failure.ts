// The kinds of failure that the list/watch machine distinguishes, and the classification of errors of a ListerWatcher.
import {
  isExpired,
  isInternalError,
  isStatusError,
  isTooLargeResourceVersion,
  isTooManyRequests,
} from '../errors/status-error.ts';

/**
 * - `expired`: the requested version is no longer in the history.
 * - `tooLargeVersion`: the requested version is in the future (a source restored from a backup, a lagging replica).
 * - `broken`: the connection broke. Events received over it count: an open watch continues from its last version.
 * - `unreachable`: nobody listens. `overloaded`: the source asks for a later retry. After both no list is needed.
 * - `internal`: the source itself failed.
 * - `refused`: the request is wrong or not allowed; attempts continue, because permissions and resources come and go.
 * - `other`: everything else.
 */
export type ListWatchFailureKind =
  | 'expired'
  | 'tooLargeVersion'
  | 'broken'
  | 'unreachable'
  | 'overloaded'
  | 'internal'
  | 'refused'
  | 'other';

export interface ListWatchFailure {
  readonly kind: ListWatchFailureKind;
  /** The thrown error; it becomes part of the status. */
  readonly error: unknown;
  /**
   * True when the source did not answer: nobody listens, the connection broke before an answer, or a proxy reports
   * this. Default false.
   */
  readonly isUnanswered?: boolean;
}

const refusedCodes: ReadonlySet<number> = new Set([400, 401, 403, 404]);

/** Further codes for an unreachable server, whose name or network is unavailable. */
export function listWatchFailureOf(error: unknown): ListWatchFailure {
  const kind = kindOf(error);
  return isUnanswered(kind, error) ? { kind, error, isUnanswered: true } : { kind, error };
}

/**
 * Gateway errors come from a proxy whose server is away. A version from the future also causes a 504, but that is an
 * answer.
 */
const gatewayCodes: ReadonlySet<number> = new Set([502, 503, 504]);

function isUnanswered(kind: ListWatchFailureKind, error: unknown): boolean {
  if (isStatusError(error)) return kind === 'other' && gatewayCodes.has(error.code);
  return kind === 'unreachable' || kind === 'broken' || (kind === 'other' && hasCode(error, awayCodes));
}

function kindOf(error: unknown): ListWatchFailureKind {
  if (isExpired(error)) return 'expired';
  if (isTooLargeResourceVersion(error)) return 'tooLargeVersion';
  if (isTooManyRequests(error)) return 'overloaded';
  if (isInternalError(error)) return 'internal';
  if (isStatusError(error)) return refusedCodes.has(error.code) ? 'refused' : 'other';
  if (isConnectionRefused(error)) return 'unreachable';
  return hasCode(error, brokenCodes) ? 'broken' : 'other';
}

const refusedConnection: ReadonlySet<unknown> = new Set(['ECONNREFUSED']);
/** Source: apimachinery net.IsProbableEOF, net.IsTimeout. */
const brokenCodes: ReadonlySet<unknown> = new Set(['ECONNRESET', 'EPIPE', 'ETIMEDOUT']);
/** Further codes for an unreachable server, whose name or network is unavailable. */
const awayCodes: ReadonlySet<unknown> = new Set([
  'ECONNABORTED',
  'EAI_AGAIN',
  'EHOSTDOWN',
  'EHOSTUNREACH',
  'ENETDOWN',
  'ENETUNREACH',
  'ENOTFOUND',
]);

/** True for ECONNREFUSED, also as a cause or inside the AggregateError of a host with several addresses. */
export function isConnectionRefused(error: unknown): boolean {
  return hasCode(error, refusedConnection);
}

function hasCode(error: unknown, codes: ReadonlySet<unknown>): boolean {
  for (let current = error, depth = 0; typeof current === 'object' && current !== null && depth < 8; depth++) {
    const { code, cause, errors } = current as { code?: unknown; cause?: unknown; errors?: unknown };
    if (codes.has(code)) return true;
    current = cause ?? (Array.isArray(errors) ? errors[0] : undefined);
  }
  return false;
}
