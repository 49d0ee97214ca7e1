// WatchTracker counts the open watches to which a write must be delivered, by resource, namespace and name. It ignores selectors. Used by
// work-estimator.ts. Source: util/flowcontrol/watch_tracker.go.
import type { FlowTarget } from './flow-schema.ts';

type ResourceTarget = Extract<FlowTarget, { type: 'resource' }>;

/** Forgets the watch. Call it once. */
export type ForgetWatch = () => void;

export class WatchTracker {
  readonly #counts = new Map<string, number>();
  /**
   * Maps a resource to the field by which a cache finds watches. A watch of one value of that field is not counted, because most writes are
   * not delivered to it.
   */
  readonly #indexes: ReadonlyMap<string, string>;

  constructor(indexes: ReadonlyMap<string, string>) {
    this.#indexes = indexes;
  }

  /** `exactValue` returns the value that the watch's selector requires of a field. */
  register(watch: ResourceTarget, exactValue: (field: string) => string | undefined): ForgetWatch {
    const field = this.#indexes.get(watch.resource);
    const isNarrow = field !== undefined && (exactValue(field) ?? '') !== '';
    if (isNarrow) return () => undefined;
    const key = keyOf(watch, watch.namespace, watch.name);
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
    return () => {
      const left = (this.#counts.get(key) ?? 1) - 1;
      if (left === 0) this.#counts.delete(key);
      else this.#counts.set(key, left);
    };
  }

  /** Returns the number of watches that may see the request's write. */
  interestedIn(write: ResourceTarget): number {
    const counts = this.#counts;
    if (counts.size === 0) return 0;
    const { namespace, name } = write;
    let watches = counts.get(keyOf(write, '', '')) ?? 0;
    if (namespace !== '') watches += counts.get(keyOf(write, namespace, '')) ?? 0;
    if (name !== '') watches += counts.get(keyOf(write, namespace, name)) ?? 0;
    return watches;
  }
}

function keyOf({ group, resource }: ResourceTarget, namespace: string, name: string): string {
  return `${group}/${resource}/${namespace}/${name}`;
}
