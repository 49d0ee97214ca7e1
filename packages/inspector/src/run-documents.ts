// The documents about single keys: the causes, writes and outcomes of their runs. They are the contract of
// /inspect/v1/keys and /inspect/v1/key; a manager makes them.
import type { inspectorApiVersion } from './overview.ts';

/** One page of the keys that a controller has processed lately. */
export interface KeyList {
  readonly apiVersion: typeof inspectorApiVersion;
  readonly kind: 'KeyList';
  readonly controller: string;
  /** Number of matching keys in all pages. */
  readonly total: number;
  readonly items: readonly KeySummary[];
  /** Value of `continue` for the next page; absent on the last one. */
  readonly continue?: string | undefined;
}

/** The present state of a key. */
export type KeyState = 'running' | 'waiting' | 'delayed' | 'idle';

/** A key in a list of keys. */
export interface KeySummary {
  readonly key: string;
  readonly state: KeyState;
  /** Failures in a row. */
  readonly failures: number;
  readonly lastRun?: Pick<RunItem, 'startedAt' | 'durationMs' | 'result'> | undefined;
}

/** All data about one key. */
export interface KeyDocument {
  readonly apiVersion: typeof inspectorApiVersion;
  readonly kind: 'Key';
  readonly controller: string;
  readonly key: string;
  readonly state: KeyState;
  /** The time since which the key waits or is in work. */
  readonly since?: number | undefined;
  /** The time at which the key comes back. */
  readonly dueAt?: number | undefined;
  readonly failures: number;
  /** The causes that woke it since its last run began. */
  readonly pending: WakeCauses;
  /** The last one first. */
  readonly runs: readonly RunItem[];
}

/** A run of a key: its causes, writes and outcome. */
export interface RunItem {
  readonly startedAt: number;
  readonly durationMs?: number | undefined;
  /** 0 on the first try, one more after each failure. */
  readonly attempt: number;
  /**
   * `failed`: the key is tried again, unless the manager was stopping. `gave up`: a TerminalError ended the run, and nothing tries again until
   * the next change.
   */
  readonly result: 'running' | 'succeeded' | 'failed' | 'gave up';
  readonly error?: string | undefined;
  readonly causes: WakeCauses;
  readonly writes: RunWrites;
}

/** The first causes; `more` counts the others. No causes = the key was too far back in the queue for its cause to be kept. */
export interface WakeCauses {
  readonly items: readonly WakeCause[];
  readonly more: number;
}

/** The reason why a key was added to the queue. */
export interface WakeCause {
  /**
   * `listed`: it existed at the start. `resync`: an update that changed nothing. `trigger`: a value of an observable of the program.
   * `retry`: the last run failed and is tried again, unless it gave up for good. `requeueAfter` and `requeue`: the last run requested it.
   */
  readonly type:
    | 'listed'
    | 'added'
    | 'updated'
    | 'deleted'
    | 'resync'
    | 'trigger'
    | 'retry'
    | 'requeueAfter'
    | 'requeue';
  readonly at: number;
  /** The object that changed. Absent for timers, resyncs and other causes without one. */
  readonly object?: ChangedObject | undefined;
}

/** The object whose change woke a key: names and versions, without values. */
export interface ChangedObject {
  readonly kind: string;
  /** "" for Secrets. */
  readonly namespace: string;
  readonly name: string;
  /** Versions before and after; "" where there is none. */
  readonly oldVersion: string;
  readonly newVersion: string;
  /**
   * Says how the change led to the key: the object itself changed, it owns the changed object, or a function of the program maps to it.
   */
  readonly through: 'itself' | 'owner' | 'mapping';
}

/** The first writes of a run; `more` counts the others. */
export interface RunWrites {
  readonly items: readonly RunWrite[];
  readonly more: number;
}

/** A write of a run. */
export interface RunWrite {
  readonly verb: string;
  readonly kind: string;
  /** "namespace/name", or "name"; "" for Secrets and for whole collections. */
  readonly name: string;
  readonly subresource?: string | undefined;
  readonly isDryRun: boolean;
  /** The version that was answered, or the reason of a failure. Neither while it is under way. */
  readonly resourceVersion?: string | undefined;
  readonly error?: string | undefined;
  readonly durationMs?: number | undefined;
}
