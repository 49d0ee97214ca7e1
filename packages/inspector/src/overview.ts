// Overview: the present activity of a manager or a server, as the inspector shows it. These types are the contract of
// /inspect/v1/overview and /inspect/v1/live; run-documents.ts has the types for one key.

/** The version of every document below /inspect/v1/. Members may be added to a version; none changes or is removed. */
export const inspectorApiVersion = 'inspector.kapstan.dev/v1';

/** The first of many: `items` has at most as many as the document allows, `total` counts all. */
export interface Some<T> {
  readonly total: number;
  readonly items: readonly T[];
}

/**
 * Times end in `At` and are milliseconds since 1970; durations end in `Ms`. Sections that the process does not have are absent. No section
 * contains values of objects, labels, annotations, or names of Secrets.
 */
export interface Overview {
  readonly apiVersion: typeof inspectorApiVersion;
  readonly kind: 'Overview';
  /** A manager of controllers, or an API server. */
  readonly subject: 'manager' | 'server';
  /** The controllers of a manager, or the address of a server. */
  readonly name: string;
  readonly at: number;
  readonly sections: Sections;
}

/** The sections of an overview. */
export interface Sections {
  // ---- A manager ----
  readonly informers?: Some<InformerSection> | undefined;
  readonly queues?: Some<QueueSection> | undefined;
  readonly ownWrites?: Some<UnseenWriteItem> | undefined;
  readonly election?: ElectionSection | undefined;
  // ---- A server, which also has the informers and the election of its control loops ----
  readonly loops?: Some<LoopSection> | undefined;
  readonly caches?: Some<CacheSection> | undefined;
  readonly watchers?: WatcherSection | undefined;
  readonly requests?: RequestSection | undefined;
  readonly store?: Some<StoreSection> | undefined;
}

/** The names of the sections of an overview. */
export type SectionName = keyof Sections;

/** One list and watch of a manager, or of the control loops of a server. */
export interface InformerSection {
  /** "Deployment.apps", or "Pod". */
  readonly kind: string;
  /** Absent = all namespaces. */
  readonly namespace?: string | undefined;
  readonly phase: string;
  /** The time when the phase began. */
  readonly since: number;
  readonly hasSynced: boolean;
  readonly objects: number;
  /** Size of the objects as JSON, estimated from a few of them. Absent for a server, whose watch caches report it. */
  readonly estimatedBytes?: number | undefined;
  readonly resourceVersion: string;
  /** Time of the watch's last event or bookmark; absent without a watch. */
  readonly heardAt?: number | undefined;
  /** Number of whole lists after the first one. */
  readonly relists: number;
  /** Failed calls of handlers, index functions and the transform. */
  readonly handlerErrors: number;
  readonly lastError?: string | undefined;
}

/** The work of one controller. */
export interface QueueSection {
  readonly controller: string;
  readonly kind: string;
  readonly workers: number;
  /** True = its keys are names of Secrets, so they are not shown. */
  readonly hidesKeys: boolean;
  /** Numbers of runs that have ended, and of those that failed. */
  readonly runs: number;
  readonly failures: number;
  /** Keys that wait for a worker, the oldest first. */
  readonly waiting: Some<KeySince>;
  /** Keys in work, the longest first. */
  readonly running: Some<KeySince>;
  /** Keys that come back later, the next first. */
  readonly delayed: Some<KeyDue>;
  /** Keys whose last run failed, starting with the one that has failed longest. */
  readonly failing: Some<FailingKey>;
}

/** A key, and since when it waits or runs. */
export interface KeySince {
  readonly key: string;
  readonly since: number;
}

/** A key that waits, and until when. */
export interface KeyDue {
  readonly key: string;
  readonly dueAt: number;
}

/** A key whose last runs failed. */
export interface FailingKey {
  readonly key: string;
  /** The time when the first failure in a row ended. */
  readonly since: number;
  /** Failures in a row. */
  readonly failures: number;
  readonly error: string;
  readonly dueAt?: number | undefined;
}

/** A write that was answered and that the cache does not show yet. */
export interface UnseenWriteItem {
  /** Controller and key of the run that wrote. */
  readonly writer: string;
  readonly kind: string;
  readonly name: string;
  readonly resourceVersion: string;
  readonly since: number;
}

/** The election, as this process sees it. */
export interface ElectionSection {
  readonly lease: string;
  readonly identity: string;
  /** The last known holder; "" = nobody or unknown. */
  readonly leader: string;
  readonly isLeader: boolean;
  readonly renewedAt?: number | undefined;
}

/** A control loop of a server. */
export interface LoopSection {
  readonly name: string;
  readonly phase: 'syncing' | 'running' | 'down';
  /** Number of restarts after an unexpected end. */
  readonly restarts: number;
  readonly queues: readonly LoopQueueSection[];
  /** The reason for its last unexpected end, kept even when it runs again. */
  readonly lastError?: string | undefined;
}

/** A queue of a control loop. Its keys are not shown. */
export interface LoopQueueSection {
  readonly name: string;
  /** Keys that wait for a worker, that are in work, and that come back later. */
  readonly waiting: number;
  readonly running: number;
  readonly delayed: number;
  /** Numbers of runs that have ended since the loop started, and of those that failed. */
  readonly runs: number;
  readonly failures: number;
  /** The start of the longest current run. */
  readonly runningSince?: number | undefined;
  /** The time when the next key comes back. */
  readonly nextDueAt?: number | undefined;
}

/** The watch cache of one resource of a server. */
export interface CacheSection {
  /** "deployments.apps". */
  readonly resource: string;
  readonly state: string;
  readonly revision: number;
  readonly objects: number;
  readonly storedBytes: number;
  /** Events in the history, and how many it can hold. */
  readonly history: number;
  readonly historyCapacity: number;
  readonly watchers: number;
  /** Watchers that still read past events. */
  readonly catchingUp: number;
  /** Events that the live watchers have not been offered yet. */
  readonly backlog: number;
  /** Requests that wait for the cache to reach a revision. */
  readonly waitingReads: number;
  readonly lastError?: string | undefined;
}

/** Watches of a server. */
export interface WatcherSection {
  readonly users: Some<WatchingUser>;
  /** The watches that are furthest behind. */
  readonly behind: Some<BehindWatch>;
  /** Watches ended because their clients read too slowly. */
  readonly ended: number;
}

/** A user with the number of watches. */
export interface WatchingUser {
  readonly user: string;
  readonly watches: number;
  /** Events and bytes that wait for the sockets of this user. */
  readonly waitingEvents: number;
  readonly waitingBytes: number;
}

/** A watch whose reader is behind. */
export interface BehindWatch {
  readonly user: string;
  readonly resource: string;
  readonly waitingEvents: number;
  readonly waitingBytes: number;
  /** The time since which the socket takes nothing; absent = it takes bytes. */
  readonly blockedAt?: number | undefined;
}

/** The present requests of a server, and slow ones. */
export interface RequestSection {
  readonly underWay: Some<RequestItem>;
  /** Requests of half a second or more, newest first. `total` counts all since the start. */
  readonly slow: Some<RequestItem>;
}

/** A request of the server, under way or slow. */
export interface RequestItem {
  readonly verb: string;
  /** "deployments.apps/scale", or the path when it is not a resource. */
  readonly resource: string;
  readonly namespace: string;
  /** "" when the name is hidden or there is none. */
  readonly name: string;
  readonly user: string;
  readonly startedAt: number;
  /** Absent while it is under way. */
  readonly durationMs?: number | undefined;
  /** 0 while there is no answer. */
  readonly status: number;
  readonly steps: readonly RequestStep[];
}

/** A step of a slow request. */
export interface RequestStep {
  readonly step: string;
  /** Absent for the step under way. */
  readonly durationMs?: number | undefined;
}

/** A store of a server. */
export interface StoreSection {
  readonly name: string;
  readonly numbers: Readonly<Record<string, number>>;
}
