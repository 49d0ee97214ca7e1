// The health of a reflector's source: the value, its stream, and the warnings when no callback is set. Used by reflector.ts.
import type { Clock } from '@kapstan/api';
import type { ListWatchPhase } from '@kapstan/api/internal';
import { Observable } from 'rxjs/internal/Observable';
import { emitProcessWarning, errorText, type Warn } from '../guards/process-warning.ts';
import { SerialEmitter } from './serial-emitter.ts';

/** The state of the source. */
export interface ReflectorStatus {
  readonly phase: ListWatchPhase;
  /** Time at which the phase began: wall clock, milliseconds since 1970. */
  readonly since: number;
  /** The reason for `stale`, `retrying` and `failed`. */
  readonly error?: unknown;
}

/** The current status and its stream. */
export class StatusSource {
  /** Shared. Replays the present status. Never errors. Completes on close. Slow consumers: each change is delivered at once. */
  readonly status$: Observable<ReflectorStatus>;
  readonly #clock: Clock;
  readonly #emitter = new SerialEmitter<ReflectorStatus>();
  readonly #completions = new Set<() => void>();
  #status: ReflectorStatus;
  #isComplete = false;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#status = { phase: 'syncing', since: clock.now() };
    this.status$ = new Observable((subscriber) => {
      subscriber.next(this.#status);
      if (this.#isComplete) {
        subscriber.complete();
        return undefined;
      }
      const complete = (): void => subscriber.complete();
      this.#completions.add(complete);
      const unsubscribe = this.#emitter.subscribe((status) => subscriber.next(status));
      return () => {
        this.#completions.delete(complete);
        unsubscribe();
      };
    });
  }

  get status(): ReflectorStatus {
    return this.#status;
  }

  set({ phase, error }: Omit<ReflectorStatus, 'since'>): void {
    const since = phase === this.#status.phase ? this.#status.since : this.#clock.now();
    this.#status = error === undefined ? { phase, since } : { phase, since, error };
    this.#emitter.emit(this.#status);
  }

  complete(): void {
    this.#isComplete = true;
    for (const complete of [...this.#completions]) complete();
  }
}

/**
 * Warns about failing answers of a reflector's source, so that a wrong address or token is not silent. It warns once for each phase,
 * because each retry would give the same warning. Source: client-go DefaultWatchErrorHandler, which also ignores an expired version.
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
