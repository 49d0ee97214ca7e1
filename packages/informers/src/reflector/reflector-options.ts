// Options of a reflector: the store that it fills and how it lists, watches and reports. Used by reflector.ts.
import type { Clock, DeepReadonly, KubernetesObject } from '@kapstan/api';
import type { ListWatchOptions } from '@kapstan/api/internal';
import type { ExpectedKind } from './reflector-events.ts';
import type { ReflectorStatus } from './reflector-status.ts';

/** The store that a reflector writes to. Methods are synchronous; an error they throw is reported and costs only that event. */
export interface ReflectorStore<T extends KubernetesObject> {
  /** Handles ADDED of a watch. */
  add(object: DeepReadonly<T>): void;
  /** Handles MODIFIED of a watch. */
  update(object: DeepReadonly<T>): void;
  /** Handles DELETED of a watch, with the last state. */
  delete(object: DeepReadonly<T>): void;
  /** Replaces the whole state with the state of a list or an initial stream, at a version. An error it throws counts as a failed list. */
  replace(objects: Iterable<DeepReadonly<T>>, resourceVersion: string): void;
  /** Notes that a watch has delivered everything up to this version. */
  bookmark?(resourceVersion: string): void;
  /** Called at each resync period. An error it throws ends the watch, and a list follows. */
  resync?(): void;
}

/** Options of a {@link Reflector}: times, page size, whether the first list is streamed. */
export interface ReflectorOptions extends ListWatchOptions {
  /** Default: the system's. */
  readonly clock?: Clock;
  /** Uniform in [0, 1), for jitter and watch timeouts. Default Math.random. */
  readonly random?: () => number;
  /** Label selector of lists and watches. Default: everything. */
  readonly labelSelector?: string | undefined;
  /** Field selector of lists and watches. Default: everything. */
  readonly fieldSelector?: string | undefined;
  /** Period of resyncs to the store, in milliseconds, counted from the end of a list. 0 (default) = never. */
  readonly resyncMs?: number;
  /** Called before each resync. Default: always true. */
  readonly shouldResync?: () => boolean;
  /**
   * Name of the listed objects, for warnings. Default: the source's resource, such as "pods"; "objects" when unknown.
   */
  readonly name?: string;
  /**
   * The kind of the objects: an event with another kind is reported and ignored. Default: the source's resource; when unknown, anything but
   * a Table.
   */
  readonly expected?: ExpectedKind;
  /**
   * Called for each failed list and watch, before it is tried again. It must be quick. Default: a process warning when the trouble begins
   * and when its phase changes, not for each retry; none when only the version had expired.
   */
  readonly onWatchError?: (error: unknown, status: ReflectorStatus) => void;
  /**
   * Called once for each initial stream that is silent for ten seconds (the stream continues), and once for each state that took longer to
   * get and write. Default: a process warning.
   */
  readonly onWarning?: (text: string) => void;
  /**
   * Called when the store throws on one event, the event holds no usable object, or other foreign code throws. Default: a process warning.
   */
  readonly onStoreError?: (error: unknown) => void;
}
