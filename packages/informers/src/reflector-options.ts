// What a reflector is given: the store that it fills and how it lists, watches and reports. Used by reflector.ts.

import type { Clock, DeepReadonly, KubernetesObject } from '@kapstan/api';
import type { ListWatchOptions } from '@kapstan/api/internal';
import type { ExpectedKind } from './reflector-events.ts';
import type { ReflectorStatus } from './reflector-status.ts';

/** What a reflector writes into. Methods are synchronous; what they throw is reported and costs that event only. */
export interface ReflectorStore<T extends KubernetesObject> {
  /** ADDED of a watch. */
  add(object: DeepReadonly<T>): void;
  /** MODIFIED of a watch. */
  update(object: DeepReadonly<T>): void;
  /** DELETED of a watch, with the last state. */
  delete(object: DeepReadonly<T>): void;
  /** The whole state, of a list or an initial stream, at a version. What it throws counts as a failed list. */
  replace(objects: Iterable<DeepReadonly<T>>, resourceVersion: string): void;
  /** A watch has told all up to this version. */
  bookmark?(resourceVersion: string): void;
  /** The period of resyncs is over. What it throws ends the watch, and a list follows. */
  resync?(): void;
}

export interface ReflectorOptions extends ListWatchOptions {
  /** Default: the system's. */
  readonly clock?: Clock;
  /** Uniform in [0, 1), for jitter and watch timeouts. Default Math.random. */
  readonly random?: () => number;
  /** Label selector of lists and watches. Default: everything. */
  readonly labelSelector?: string;
  /** Field selector of lists and watches. Default: everything. */
  readonly fieldSelector?: string;
  /** Period of resyncs to the store, in milliseconds, counted from the end of a list. 0 (default) = never. */
  readonly resyncMs?: number;
  /** Asked before each resync. Default: always. */
  readonly shouldResync?: () => boolean;
  /** What is listed, for warnings. Default: the source's resource, "pods"; "objects" where it does not say. */
  readonly name?: string;
  /**
   * What the objects are: an event with another kind of object is reported and left out. Default: the source's resource, and
   * where it does not say anything but a Table.
   */
  readonly expected?: ExpectedKind;
  /**
   * Told of each failed list and watch, after which it is tried again. Must be quick. Default: a process warning when the
   * trouble begins and when it changes its phase, not for each retry; none where only the version had expired.
   */
  readonly onWatchError?: (error: unknown, status: ReflectorStatus) => void;
  /**
   * Told, once each, of an initial stream that says nothing for ten seconds, which goes on, and of a state that took longer
   * to get and write. Default: a process warning.
   */
  readonly onWarning?: (text: string) => void;
  /** Told when the store throws on one event, the event holds no usable object, or other foreign code throws. Default: a process warning. */
  readonly onStoreError?: (error: unknown) => void;
}
