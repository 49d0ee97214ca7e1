// Options of the calls that a client makes, in the words of the API. Times carry their unit in the name.
import type { OwnerReference } from '../objects/kubernetes-object.ts';

export interface CallOptions {
  /** Cancels the call; the promise rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /** Time after which the call fails, in milliseconds. 0 = no limit. Default: the client's. */
  readonly timeoutMs?: number;
  /**
   * Called right before each attempt, also before those that the client repeats by itself after a while; what it throws, the call
   * rejects with. A client that sends at once and once may leave it out.
   */
  readonly beforeAttempt?: () => void;
}

export interface GetOptions extends CallOptions {
  /** `""` (default) = most recent, `"0"` = any, else not older than. */
  readonly resourceVersion?: string;
}

/** What a list and a watch select. */
export interface SelectionOptions {
  /** Namespace to look at. Absent or "" = all. */
  readonly namespace?: string;
  /** Kubernetes label selector syntax: "app=web,tier!=db". */
  readonly labelSelector?: string;
  /** Kubernetes field selector syntax: "metadata.name=a". */
  readonly fieldSelector?: string;
}

export interface ListOptions extends SelectionOptions, CallOptions {
  readonly resourceVersion?: string;
  readonly resourceVersionMatch?: 'Exact' | 'NotOlderThan';
  /** Most items in one answer; in `list()`, which gives all objects, the size of a page. 0 or absent = no limit. */
  readonly limit?: number;
  /** Token of the previous page. */
  readonly continue?: string;
}

export interface WatchOptions extends SelectionOptions {
  /** Cancels the watch. Unsubscribing does the same. */
  readonly signal?: AbortSignal;
  /**
   * Time in which the source must have accepted the watch, in milliseconds; the watch itself has no limit but `timeoutSeconds`.
   * 0 = none. Default: the client's. A source that accepts at once, or fails, may leave it out.
   */
  readonly timeoutMs?: number;
  /** Events after this version; absent or "" = the present state first, then changes; "0" = the same from any cached state. */
  readonly resourceVersion?: string;
  readonly resourceVersionMatch?: 'NotOlderThan';
  /** Streams the present state first and ends it with a bookmark (WatchList). Needs `resourceVersionMatch: 'NotOlderThan'`. */
  readonly sendInitialEvents?: boolean;
  readonly allowWatchBookmarks?: boolean;
  /** The server ends the watch after this time, in seconds. Absent = the server's choice. */
  readonly timeoutSeconds?: number;
  /** Called once when the source has accepted the watch, before the first event. An implementation that cannot know may leave it out. */
  readonly onOpen?: () => void;
}

export interface WriteOptions extends CallOptions {
  /** Runs everything but the write. */
  readonly dryRun?: boolean;
  /** Name under which fields are owned. Default: the client's user agent up to the first slash. */
  readonly fieldManager?: string;
  /** What the server does with unknown and duplicate fields. Default: the server's, 'Warn'. */
  readonly fieldValidation?: 'Ignore' | 'Warn' | 'Strict';
}

export interface ApplyOptions extends WriteOptions {
  readonly fieldManager: string;
  /** Take over fields that others own. Default false: conflicts are a 409. */
  readonly force?: boolean;
  /** Owner reference to add to the applied object. */
  readonly owner?: OwnerReference;
}

export interface Preconditions {
  readonly uid?: string;
  readonly resourceVersion?: string;
}

export type PropagationPolicy = 'Orphan' | 'Background' | 'Foreground';

export interface DeleteOptions extends CallOptions {
  readonly gracePeriodSeconds?: number;
  readonly preconditions?: Preconditions;
  readonly propagationPolicy?: PropagationPolicy;
  readonly dryRun?: boolean;
}
