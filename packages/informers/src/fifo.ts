// The port between reflector and shared informer: changes by key or in order. Implemented by DeltaFifo and InOrderFifo.

import type { DeepReadonly, KubernetesObject, ObjectKey } from '@kapstan/api';
import { immediate } from '@kapstan/api/internal';
import {
  type DeletedFinalStateUnknown,
  deletionHandlingKey,
  isDeletedFinalStateUnknown,
} from './deleted-final-state-unknown.ts';
import { errorText } from './process-warning.ts';

/** `Replaced`: from a list. `Sync`: a resync; nothing changed. */
export type DeltaType = 'Added' | 'Updated' | 'Deleted' | 'Replaced' | 'Sync';

/** One change. Only `Deleted` carries tombstones. */
export interface Delta<T extends KubernetesObject> {
  readonly type: DeltaType;
  readonly object: DeepReadonly<T> | DeletedFinalStateUnknown<T>;
}

/** Changes of one object, oldest first; never empty. */
export type Deltas<T extends KubernetesObject> = readonly Delta<T>[];

/** What the consumer of a FIFO holds already: an {@link Indexer}, as a rule. */
export interface KnownObjects<T extends KubernetesObject> {
  /** Keys of all objects, in any order. */
  listKeys(): Iterable<ObjectKey>;
  /** The object of a key, or undefined. */
  getByKey(key: ObjectKey): DeepReadonly<T> | undefined;
}

/**
 * Makes the object that is cached from the one that came. Must return the same for what it returned, and keep name and namespace.
 * May not change its argument, which others share and which may be frozen: `deepCopy` first, or a spread.
 */
export type Transform<T extends KubernetesObject> = (object: DeepReadonly<T>) => DeepReadonly<T>;

export interface FifoOptions<T extends KubernetesObject> {
  /** Decides which objects vanished in a replace and what a resync delivers. */
  readonly knownObjects?: KnownObjects<T>;
  /** Applied to each object once, before it is queued; not to tombstones and resyncs. What it throws leaves the call as the cause of an Error. */
  readonly transform?: Transform<T>;
}

/** Takes what a pop hands out. `isInInitialList`: it was queued by the first replace. */
export type ProcessDeltas<T extends KubernetesObject> = (
  deltas: Deltas<T>,
  isInInitialList: boolean,
  key: ObjectKey,
) => void;

/**
 * What is queued for what came: tombstones as they are, objects transformed. Throws what the transform throws, as the cause of an
 * Error that names the object, and TypeError for a transform that gives no object, or one of another name, which nobody could
 * ever delete again.
 */
export function transformed<T extends KubernetesObject>(
  key: ObjectKey,
  incoming: DeepReadonly<T> | DeletedFinalStateUnknown<T>,
  transform: Transform<T> | undefined,
): DeepReadonly<T> | DeletedFinalStateUnknown<T> {
  if (transform === undefined || isDeletedFinalStateUnknown<T>(incoming)) return incoming;
  const object = immediate(callTransform(transform, incoming, key), `what the transform of ${key} gives`) as
    | DeepReadonly<T>
    | null
    | undefined;
  // A promise, from an async transform, has none either.
  if (object?.metadata === undefined) throw new TypeError(`the transform of ${key} returned no object`);
  const newKey = deletionHandlingKey(object);
  if (newKey !== key) throw new TypeError(`the transform of ${key} returned ${newKey}`);
  return object;
}

function callTransform<T extends KubernetesObject>(
  transform: Transform<T>,
  object: DeepReadonly<T>,
  key: ObjectKey,
): DeepReadonly<T> {
  try {
    return transform(object);
  } catch (cause) {
    const hint = isOfFrozen(cause) ? '; a transform may not change its argument: copy it' : '';
    throw new Error(`the transform of ${key} failed: ${errorText(cause)}${hint}`, { cause });
  }
}

/** The engine's texts for a change of what is frozen: they do not say whose it is. */
function isOfFrozen(error: unknown): boolean {
  const texts = /^Cannot (?:assign to read only|delete|add) property |object is not extensible$/;
  return error instanceof TypeError && texts.test(error.message);
}

/** Changes on their way into a store. Synchronous: one turn is one critical section. */
export interface Fifo<T extends KubernetesObject> {
  /** Entries that wait: objects for `DeltaFifo`, changes for `InOrderFifo`. */
  readonly length: number;
  /** True once everything of the first replace was popped and processed, or at once when a change came before any replace. */
  readonly hasSynced: boolean;
  /** {@link Fifo.close} was called. */
  readonly isClosed: boolean;
  /** Version up to which everything that came has been popped: of an event, a list or a bookmark. "" at first. */
  readonly resourceVersion: string;
  /** An object came. This and the next three throw what the transform throws, and TypeError for an object without metadata. */
  add(object: DeepReadonly<T>): void;
  /** An object changed. */
  update(object: DeepReadonly<T>): void;
  /**
   * An object went. `DeltaFifo` leaves out what is neither known nor queued. Where it throws what the transform throws, the
   * deletion is queued all the same, as a tombstone of the last state known.
   */
  delete(object: DeepReadonly<T> | DeletedFinalStateUnknown<T>): void;
  /** These are all there are: known and queued objects that are missing get a tombstone (invariant I7). */
  replace(objects: Iterable<DeepReadonly<T>>, resourceVersion?: string): void;
  /** Nothing more up to this version; it counts once what is queued before it is popped. */
  bookmark(resourceVersion: string): void;
  /** Queues a `Sync` for each known object that has nothing queued. */
  resync(): void;
  /** Hands the oldest entry to `process` and returns true; false when there is none. Throws what `process` throws; the entry is gone then. */
  pop(process: ProcessDeltas<T>): boolean;
  /**
   * Queues changes again that a pop handed out, unless newer ones of the object are queued. Absent where that would break the
   * order: `InOrderFifo`. Source: AddIfNotPresent of client-go's DeltaFIFO.
   */
  addIfNotPresent?(key: ObjectKey, deltas: Deltas<T>): void;
  /** What is queued can still be popped; a pop from a closed and empty FIFO throws. */
  close(): void;
}

/** Thrown by a pop from a closed and empty FIFO. */
export class FifoClosedError extends Error {
  constructor() {
    super('DeltaFIFO: manipulating with closed queue');
    this.name = 'FifoClosedError';
  }
}
