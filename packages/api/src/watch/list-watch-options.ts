// Options of the list/watch machine, with client-go's numbers as defaults.
import type { BackoffOptions } from '../time/backoff.ts';

export interface ListWatchOptions {
  /** True = request the present state as a stream first and list only if that fails. Default true. */
  readonly useWatchList?: boolean;
  /** Items per page of a list. 0 (default) = as in client-go: 500, or no limit where a cache can then answer. */
  readonly pageSize?: number;
  /**
   * Shortest lifetime of a watch in milliseconds; each watch ends after one to two times this, at random. At least the
   * default, 300 000.
   */
  readonly minWatchTimeoutMs?: number;
  /** Silence in milliseconds after which a watch is reopened from the last version. 0 = never. Default 90 000. */
  readonly idleTimeoutMs?: number;
  /** How long internal errors reopen a watch instead of listing, in milliseconds. 0 (default) = never. */
  readonly internalErrorRetryMs?: number;
  /** Pauses after failures. Default: 800 ms, doubled up to 30 s, jitter 1, reset after 2 min. */
  readonly backoff?: BackoffOptions;
}

export type ResolvedListWatchOptions = Required<ListWatchOptions>;

export const defaultListWatchOptions: ResolvedListWatchOptions = {
  useWatchList: true,
  pageSize: 0,
  minWatchTimeoutMs: 300_000,
  idleTimeoutMs: 90_000,
  internalErrorRetryMs: 0,
  backoff: { initialMs: 800, maxMs: 30_000, factor: 2, jitter: 1, resetAfterMs: 120_000 },
};

/**
 * Fills in the defaults. Throws TypeError on negative or non-finite numbers, and for a `useWatchList` that is not a
 * boolean.
 */
export function resolveListWatchOptions(options: ListWatchOptions): ResolvedListWatchOptions {
  const defaults = defaultListWatchOptions;
  const resolved: ResolvedListWatchOptions = {
    useWatchList: options.useWatchList ?? defaults.useWatchList,
    pageSize: options.pageSize ?? defaults.pageSize,
    minWatchTimeoutMs: Math.max(options.minWatchTimeoutMs ?? 0, defaults.minWatchTimeoutMs),
    idleTimeoutMs: options.idleTimeoutMs ?? defaults.idleTimeoutMs,
    internalErrorRetryMs: options.internalErrorRetryMs ?? defaults.internalErrorRetryMs,
    backoff: options.backoff ?? defaults.backoff,
  };
  if (typeof resolved.useWatchList !== 'boolean')
    throw new TypeError(`useWatchList must be true or false, not ${JSON.stringify(resolved.useWatchList)}`);
  for (const name of ['pageSize', 'minWatchTimeoutMs', 'idleTimeoutMs', 'internalErrorRetryMs'] as const) {
    const value = resolved[name];
    if (!Number.isFinite(value) || value < 0)
      throw new TypeError(`${name} must be a number of at least 0, got ${value}`);
  }
  if (!(resolved.backoff.initialMs > 0)) throw new TypeError('backoff.initialMs must be above 0');
  return resolved;
}
