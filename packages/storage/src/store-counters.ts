// StoreCounters counts the activity of an ObjectStore. The store's parts fill it, store-metrics.ts shows it. It holds
// plain numbers, because a store is too busy for a metrics library.
import type { Clock } from '@kapstan/api';
import { DurationHistogram, Histogram, type HistogramCounts } from '@kapstan/api/internal';

/** A request to the engine, named as in kube-apiserver's metrics. */
export type StoreOperation =
  | 'get'
  | 'list'
  | 'listWithCount'
  | 'create'
  | 'update'
  | 'delete'
  | 'getCurrentResourceVersion';

/** Counts of a store since it was opened. They never go down. */
export interface StoreInspection {
  readonly requests: readonly {
    readonly operation: StoreOperation;
    readonly durations: HistogramCounts;
    readonly errors: number;
  }[];
  /** Events received by all watches together. */
  readonly eventsReceived: number;
  /** Progress reports received. */
  readonly bookmarks: number;
  readonly decodeErrors: number;
  /** Number of keys that shared each lease, counted when it was replaced. Failed attempts count too. */
  readonly leaseObjects: HistogramCounts;
  /** Objects that lists fetched, evaluated and returned. */
  readonly lists: {
    readonly fetched: number;
    readonly evaluated: number;
    readonly returned: number;
    readonly durations: HistogramCounts;
  };
}

/** Bucket bounds in seconds. Source: k8s.io/apiserver storage/etcd3/metrics. */
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

  /** Runs a request to the engine and counts it. A commit whose comparison fails is not an error. */
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

  /** Counts a request that is over, and how long it took. */
  requested(operation: StoreOperation, durationMs: number): void {
    this.#of(operation).durations.observe(durationMs);
  }

  /** Counts the error of a request, which {@link requested} counts too. */
  failed(operation: StoreOperation): void {
    this.#of(operation).errors++;
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
