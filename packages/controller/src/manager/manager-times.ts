// The times of a manager with their defaults, in milliseconds. Used by manager.ts.
import type { ManagerOptions } from './manager-options.ts';

const defaults = { gracePeriodMs: 30_000, ownWritesTimeoutMs: 5000, cacheSyncTimeoutMs: 120_000 } as const;

export type ManagerTime = keyof typeof defaults;

export function resolveTimes(options: ManagerOptions): Required<Pick<ManagerOptions, ManagerTime>> {
  return {
    gracePeriodMs: options.gracePeriodMs ?? defaults.gracePeriodMs,
    ownWritesTimeoutMs: options.ownWritesTimeoutMs ?? defaults.ownWritesTimeoutMs,
    cacheSyncTimeoutMs: options.cacheSyncTimeoutMs ?? defaults.cacheSyncTimeoutMs,
  };
}
