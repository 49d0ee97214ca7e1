// RequestContext names the user and the purpose of a request. Made once at the edge (HTTP or in process) and passed
// down.
import type { DeepReadonly, UnstructuredObject } from '@kapstan/api';
import type { CallSignal } from '@kapstan/api/internal';
import type { Span } from '../../tracing/span.ts';

/** An authenticated user. Source: authentication/user.Info. */
export interface UserInfo {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** The options of a write as the writer sent them, before defaults. Admission receives them. */
export interface WriteIntent {
  readonly fieldManager?: string;
  readonly fieldValidation?: string;
}

/** Everything that the registry knows about a request: its user, its purpose, its deadline. */
export interface RequestContext {
  readonly user: UserInfo;
  /** The request's namespace; "" for cluster-scoped resources and for all namespaces. */
  readonly namespace: string;
  /** The verb as authorizers know it: "update", "patch". Absent = a request of the server itself, for no user. */
  readonly verb?: string | undefined;
  /** dryRun=All: everything is done except the write. */
  readonly dryRun: boolean;
  /** Name of the owner of the written fields. */
  readonly fieldManager: string;
  readonly fieldValidation: 'Ignore' | 'Warn' | 'Strict';
  /** Absent = the client expressed no intent. */
  readonly intent?: WriteIntent | undefined;
  readonly signal?: CallSignal | undefined;
  /** Identifies the request in traces of storage. */
  readonly auditId?: string | undefined;
  /** The part of the request's trace that is under way. Absent = the request is not traced. */
  readonly span?: Span | undefined;
  /** Value of the header baggage for requests on behalf of this one. Absent = none. */
  readonly baggage?: string | undefined;
  /**
   * Called between the long steps of a write, so that other work gets a turn of the event loop. State that was read
   * before it may have changed after it. Absent = the object is small enough for one turn.
   */
  readonly nextTurn?: (() => Promise<void>) | undefined;
  /**
   * Called with the object when mutating admission has changed it, before it is validated. `old` is absent when the
   * object is created. Rejects to refuse. Absent = nothing is checked.
   */
  whenAdmitted?(
    next: DeepReadonly<UnstructuredObject>,
    old: DeepReadonly<UnstructuredObject> | undefined,
  ): Promise<void>;
  /** Rejects with 403 when an update would create the object and its user may not. Absent = every user may. */
  readonly authorizeCreate?: (() => Promise<void>) | undefined;
  /**
   * Adds an annotation to the audit events of the request; the first value of a key counts. Absent = nothing is
   * recorded.
   */
  readonly annotate?: ((key: string, value: string) => void) | undefined;
  /** True when the audit event holds the request's object, so that annotations may reveal its content. Default false. */
  readonly auditsRequest?: boolean | undefined;
  /** Adds a Warning header to the answer. Equal texts are sent once. */
  warn(text: string): void;
}
