// Options of a client's calls, with the API's names. Names of times include the unit.
import type { OwnerReference } from '../objects/kubernetes-object.ts';
import type { CallTracer } from '../tracing/call-tracer.ts';

/** Options that every call to a server takes: when it is given up, and what observes it. */
export interface CallOptions {
  /** Cancels the call; the promise rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Time after which the call fails, in milliseconds. 0 = no limit. Default: the client's. */
  readonly timeoutMs?: number | undefined;
  /**
   * Called right before each attempt, also before later attempts that the client makes itself. The call rejects with
   * whatever it throws. A client that makes one attempt at once need not call it.
   */
  readonly beforeAttempt?: (() => void) | undefined;
  /** Makes the call a part of a trace. A manager sets it for calls of a reconcile; default: the client's own tracing. */
  readonly trace?: CallTracer | undefined;
}

/** Options of a get. */
export interface GetOptions extends CallOptions {
  /** `""` (default) = most recent, `"0"` = any, otherwise not older than this version. */
  readonly resourceVersion?: string | undefined;
}

/** Selects the objects of a list or watch. */
export interface SelectionOptions {
  /** Namespace to search. Absent or "" = all. */
  readonly namespace?: string | undefined;
  /** Label selector in Kubernetes' syntax: "app=web,tier!=db". */
  readonly labelSelector?: string | undefined;
  /** Field selector in Kubernetes' syntax: "metadata.name=a". */
  readonly fieldSelector?: string | undefined;
}

export interface ListOptions extends SelectionOptions, CallOptions {
  readonly resourceVersion?: string | undefined;
  readonly resourceVersionMatch?: 'Exact' | 'NotOlderThan' | undefined;
  /** Maximum number of items in one answer. For `list()`, which returns all objects, the size of a page. 0 or absent = no limit. */
  readonly limit?: number | undefined;
  /** Token of the previous page. */
  readonly continue?: string | undefined;
}

export interface WatchOptions extends SelectionOptions {
  /** Cancels the watch. Unsubscribing does the same. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Time in which the source must accept the watch, in milliseconds; the watch itself is limited only by
   * `timeoutSeconds`. 0 = no limit. Default: the client's. A source that accepts or fails at once may ignore it.
   */
  readonly timeoutMs?: number | undefined;
  /**
   * Delivers events after this version. Absent or "" = the present state first, then changes; "0" = the same from any
   * cached state.
   */
  readonly resourceVersion?: string | undefined;
  readonly resourceVersionMatch?: 'NotOlderThan' | undefined;
  /** Streams the present state first and ends it with a bookmark (WatchList). Needs `resourceVersionMatch: 'NotOlderThan'`. */
  readonly sendInitialEvents?: boolean | undefined;
  readonly allowWatchBookmarks?: boolean | undefined;
  /** The server ends the watch after this time, in seconds. Absent = the server's choice. */
  readonly timeoutSeconds?: number | undefined;
  /**
   * Called once when the source has accepted the watch, before the first event. An implementation that cannot know may
   * ignore it.
   */
  readonly onOpen?: (() => void) | undefined;
}

/** Options of create, update and patch: field manager, dry run, how unknown fields are treated. */
export interface WriteOptions extends CallOptions {
  /** True = do everything except the write. */
  readonly dryRun?: boolean | undefined;
  /** Name of the owner of the written fields. Default: the client's user agent up to the first slash. */
  readonly fieldManager?: string | undefined;
  /** How the server treats unknown and duplicate fields. Default: the server's default, 'Warn'. */
  readonly fieldValidation?: 'Ignore' | 'Warn' | 'Strict' | undefined;
}

/** Options of a server-side apply, as the query of Kubernetes' PATCH with `application/apply-patch+yaml`. */
export interface ApplyOptions extends WriteOptions {
  readonly fieldManager: string;
  /** True = take over fields of other managers. Default false: conflicts are answered with 409. */
  readonly force?: boolean | undefined;
  /** Owner reference to add to the applied object. */
  readonly owner?: OwnerReference | undefined;
}

export interface Preconditions {
  readonly uid?: string;
  readonly resourceVersion?: string;
}

export type PropagationPolicy = 'Orphan' | 'Background' | 'Foreground';

/** Options of a delete: preconditions, the fate of dependents, and how long a graceful end may take. */
export interface DeleteOptions extends CallOptions {
  readonly gracePeriodSeconds?: number | undefined;
  readonly preconditions?: Preconditions | undefined;
  readonly propagationPolicy?: PropagationPolicy | undefined;
  readonly dryRun?: boolean | undefined;
}
