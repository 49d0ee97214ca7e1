// How a reflector's source is doing, and who is told when nobody asks.
import type { ListWatchPhase } from '@kapstan/api';
import { emitProcessWarning, errorText, type Warn } from './process-warning.ts';

/** How the source is doing. */
export interface ReflectorStatus {
  readonly phase: ListWatchPhase;
  /** Wall clock, milliseconds since 1970: since when the phase holds. */
  readonly since: number;
  /** Why, for `stale`, `retrying` and `failed`. */
  readonly error?: unknown;
}

/**
 * Tells what a reflector's source answers, so that a wrong address or token is not silent: once a phase, as each retry would
 * say the same. Source: client-go DefaultWatchErrorHandler, which is quiet about an expired version too.
 */
export function watchErrorWarning(
  name: string,
  warn: Warn = emitProcessWarning,
): (error: unknown, status: ReflectorStatus) => void {
  let told: ReflectorStatus | undefined;
  return (error, status) => {
    const isTold = told?.phase === status.phase && told.since === status.since;
    if (isTold || status.phase === 'stale') return;
    told = status;
    warn(`${name}: failed to list or watch, trying again: ${errorText(error)}`);
  };
}
