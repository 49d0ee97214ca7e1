// StoreCounters: what an ObjectStore counts of itself. Filled by its parts, shown by store-metrics.ts. Numbers only: a store is
// too busy for a metrics library.
import type { Clock } from '@kapstan/api';
import { DurationHistogram, Histogram, type HistogramCounts } from './histogram.ts';

/** A request to the engine, under the name that kube-apiserver has for it. */
export type StoreOperation =
  | 'get'
  | 'list'
  | 'listWithCount'
  | 'create'
  | 'update'
  | 'delete'
  | 'getCurrentResourceVersion';

/** What a store has done since it was opened. Counts never go back. */
export interface StoreInspection {
  readonly requests: readonly {
    readonly operation: StoreOperation;
    readonly durations: HistogramCounts;
    readonly errors: number;
  }[];
  /** Of all watches together. */
  readonly eventsReceived: number;
  /** Reports of progress. */
  readonly bookmarks: number;
  readonly decodeErrors: number;
  /** Keys, attempts included, that shared a lease when it was replaced. */
  readonly leaseObjects: HistogramCounts;
  /** Objects that lists read, looked at and returned. */
  readonly lists: {
    readonly fetched: number;
    readonly evaluated: number;
    readonly returned: number;
    readonly durations: HistogramCounts;
  };
}

/** Bounds in seconds. Source: k8s.io/apiserver storage/etcd3/metrics. */
const requestBounds: readonly number[] = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
];
const leaseBounds: readonly number[] = [10, 50, 100, 500, 1000, 2500, 5000];

interface Requests {
  readonly durations: DurationHistogram;
  errors: number;
}

export class StoreCounters {
  eventsReceived = 0;
  bookmarks = 0;
  decodeErrors = 0;
  readonly leaseObjects: Histogram = new Histogram(leaseBounds);
  readonly #clock: Clock;
  readonly #requests = new Map<StoreOperation, Requests>();
  readonly #lists = { fetched: 0, evaluated: 0, returned: 0 };
  readonly #listDurations: DurationHistogram = new DurationHistogram(requestBounds);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Runs a request to the engine; a commit whose comparison fails is no error. */
  async request<R>(operation: StoreOperation, work: () => Promise<R>): Promise<R> {
    const startMs = this.#clock.monotonicNow();
    const requests = this.#of(operation);
    try {
      return await work();
    } catch (error) {
      requests.errors++;
      throw error;
    } finally {
      requests.durations.observe(this.#clock.monotonicNow() - startMs);
    }
  }

  /** As {@link request}, of one that went well in this turn. */
  requested(operation: StoreOperation, durationMs: number): void {
    this.#of(operation).durations.observe(durationMs);
  }

  listed(list: {
    readonly startMs: number;
    readonly fetched: number;
    readonly evaluated: number;
    returned: number;
  }): void {
    this.#listDurations.observe(this.#clock.monotonicNow() - list.startMs);
    this.#lists.fetched += list.fetched;
    this.#lists.evaluated += list.evaluated;
    this.#lists.returned += list.returned;
  }

  inspect(): StoreInspection {
    return {
      requests: [...this.#requests].map(([operation, { durations, errors }]) => ({
        operation,
        durations: durations.counts(),
        errors,
      })),
      eventsReceived: this.eventsReceived,
      bookmarks: this.bookmarks,
      decodeErrors: this.decodeErrors,
      leaseObjects: this.leaseObjects.counts(),
      lists: { ...this.#lists, durations: this.#listDurations.counts() },
    };
  }

  #of(operation: StoreOperation): Requests {
    const known = this.#requests.get(operation);
    if (known !== undefined) return known;
    const requests = { durations: new DurationHistogram(requestBounds), errors: 0 };
    this.#requests.set(operation, requests);
    return requests;
  }
}
