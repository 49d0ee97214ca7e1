// RequestContext: who asks for what, made once at the edge (HTTP or in process) and passed down.
import type { CallSignal } from '@kapstan/api/internal';

/** An authenticated user. Source: authentication/user.Info. */
export interface UserInfo {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

export interface RequestContext {
  readonly user: UserInfo;
  /** Namespace of the request; "" for cluster-scoped resources and for all namespaces. */
  readonly namespace: string;
  /** dryRun=All: everything but the write. */
  readonly dryRun: boolean;
  /** Name under which fields are owned. */
  readonly fieldManager: string;
  readonly fieldValidation: 'Ignore' | 'Warn' | 'Strict';
  readonly signal?: CallSignal;
  /** Names the request in traces of storage. */
  readonly auditId?: string;
  /**
   * Between the long steps of a write: others get a turn of the event loop. Absent: the object is small enough for all in one.
   * Nothing that is read before may be relied on after it.
   */
  readonly nextTurn?: () => Promise<void>;
  /** Rejects with 403 when the user of an update may not create what turns out not to be there. Absent: everybody may. */
  authorizeCreate?(): Promise<void>;
  /** Adds a note to what is recorded of the request; the first value of a key counts. Absent: nothing is recorded. */
  annotate?(key: string, value: string): void;
  /** Adds a Warning header to the answer. Equal texts are sent once. */
  warn(text: string): void;
}
