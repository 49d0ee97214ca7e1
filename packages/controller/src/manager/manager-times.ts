// The times of a manager with their defaults, in milliseconds. Used by manager.ts.
import type { ManagerOptions } from './manager-options.ts';

const defaults = { gracePeriodMs: 30_000, ownWritesTimeoutMs: 5000, cacheSyncTimeoutMs: 120_000 } as const;

type ManagerTime = keyof typeof defaults;

/** The options of a manager with the defaults that all of its parts share. */
export type ResolvedOptions = ManagerOptions & Required<Pick<ManagerOptions, ManagerTime | 'clock' | 'logger'>>;

export function resolveTimes(options: ManagerOptions): Required<Pick<ManagerOptions, ManagerTime>> {
  return {
    gracePeriodMs: options.gracePeriodMs ?? defaults.gracePeriodMs,
    ownWritesTimeoutMs: options.ownWritesTimeoutMs ?? defaults.ownWritesTimeoutMs,
    cacheSyncTimeoutMs: options.cacheSyncTimeoutMs ?? defaults.cacheSyncTimeoutMs,
  };
}
