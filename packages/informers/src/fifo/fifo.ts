// The port between reflector and shared informer: changes by key or in order. Implemented by DeltaFifo and InOrderFifo.

import type { DeepReadonly, KubernetesObject, ObjectKey } from '@kapstan/api';
import { immediate } from '@kapstan/api/internal';
import { errorText } from '../guards/process-warning.ts';
import {
  type DeletedFinalStateUnknown,
  deletionHandlingKey,
  isDeletedFinalStateUnknown,
} from './deleted-final-state-unknown.ts';

/** `Replaced`: from a list. `Sync`: from a resync, without a change. */
export type DeltaType = 'Added' | 'Updated' | 'Deleted' | 'Replaced' | 'Sync';

/** One change. Only `Deleted` carries tombstones. */
export interface Delta<T extends KubernetesObject> {
  readonly type: DeltaType;
  readonly object: DeepReadonly<T> | DeletedFinalStateUnknown<T>;
}

/** Changes of one object, oldest first; never empty. */
export type Deltas<T extends KubernetesObject> = readonly Delta<T>[];

/** The objects that the consumer of a FIFO already holds, usually an {@link Indexer}. */
export interface KnownObjects<T extends KubernetesObject> {
  /** Returns the keys of all objects, in any order. */
  listKeys(): Iterable<ObjectKey>;
  /** Returns the object of a key, or undefined. */
  getByKey(key: ObjectKey): DeepReadonly<T> | undefined;
}

/**
 * Turns a received object into the object to cache. Applied to its own result it must return an equal one, and it must keep name and
 * namespace. It must not change its argument, which is shared and may be frozen: use `deepCopy` or a spread.
 */
export type Transform<T extends KubernetesObject> = (object: DeepReadonly<T>) => DeepReadonly<T>;

/** Options of a {@link Fifo}. */
export interface FifoOptions<T extends KubernetesObject> {
  /** Determines the objects that a replace has removed, and those that a resync delivers. */
  readonly knownObjects?: KnownObjects<T>;
  /**
   * Applied to each object once, before it is queued, but not to tombstones and resyncs. When it throws, the call throws an Error with that
   * cause.
   */
  readonly transform?: Transform<T>;
}

/** Receives the entry that a pop returns. `isInInitialList`: the entry was queued by the first replace. */
export type ProcessDeltas<T extends KubernetesObject> = (
  deltas: Deltas<T>,
  isInInitialList: boolean,
  key: ObjectKey,
) => void;

/**
 * Returns the change to queue: tombstones unchanged, objects transformed. Throws an Error with the object's name and
 * the cause when the transform throws, TypeError when it returns no object or one with another name.
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
  // An async transform returns a promise, which has no metadata either.
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

/** Recognises the engine's errors for a change of a frozen object, whose texts do not name the code that did it. */
function isOfFrozen(error: unknown): boolean {
  const texts = /^Cannot (?:assign to read only|delete|add) property |object is not extensible$/;
  return error instanceof TypeError && texts.test(error.message);
}

/** Changes on their way into a store. Synchronous: one turn is one critical section. */
export interface Fifo<T extends KubernetesObject> {
  /** Number of waiting entries: objects for `DeltaFifo`, changes for `InOrderFifo`. */
  readonly length: number;
  /**
   * True once all entries of the first replace were popped and processed, or at once when another change came before any replace.
   */
  readonly hasSynced: boolean;
  /** True after {@link Fifo.close}. */
  readonly isClosed: boolean;
  /** Version up to which everything received was popped, from an event, a list or a bookmark. "" at first. */
  readonly resourceVersion: string;
  /** Queues a new object. Like the next three methods, it throws the transform's error, and TypeError for an object without metadata. */
  add(object: DeepReadonly<T>): void;
  /** Queues a changed object. */
  update(object: DeepReadonly<T>): void;
  /**
   * Queues a deletion. `DeltaFifo` ignores an object that is neither known nor queued. When the transform throws, the deletion is queued
   * nevertheless, as a tombstone with the last known state.
   */
  delete(object: DeepReadonly<T> | DeletedFinalStateUnknown<T>): void;
  /**
   * Queues the complete set of objects; known and queued objects that are missing from it get a tombstone (invariant I7).
   */
  replace(objects: Iterable<DeepReadonly<T>>, resourceVersion?: string): void;
  /** Notes that nothing else happened up to this version; it counts once everything queued before it is popped. */
  bookmark(resourceVersion: string): void;
  /** Queues a `Sync` for each known object that has nothing queued. */
  resync(): void;
  /**
   * Passes the oldest entry to `process` and returns true; returns false when there is none. Rethrows the error of `process`; the entry is
   * removed nevertheless.
   */
  pop(process: ProcessDeltas<T>): boolean;
  /**
   * Queues popped changes again, unless newer ones of the object are queued. Absent in `InOrderFifo`, whose order it would break. Source:
   * AddIfNotPresent of client-go's DeltaFIFO.
   */
  addIfNotPresent?(key: ObjectKey, deltas: Deltas<T>): void;
  /** Closes the FIFO. Queued entries can still be popped; a pop from a closed and empty FIFO throws. */
  close(): void;
}

/** Thrown by a pop from a closed and empty FIFO. */
export class FifoClosedError extends Error {
  constructor() {
    super('DeltaFIFO: manipulating with closed queue');
    this.name = 'FifoClosedError';
  }
}
