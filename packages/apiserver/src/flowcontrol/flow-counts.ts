// FlowCounts counts the requests of one flow schema at one level. They are plain numbers, because every request changes them. Read by
// flow-control-metrics.ts.
import { DurationHistogram, Histogram } from '@kapstan/api/internal';

/** Source: flowcontrol/metrics queueLengthBuckets, requestDurationSecondsBuckets and the buckets beside them. */
const lengthBounds = [0, 10, 25, 50, 100, 250, 500, 1000];
const secondBounds = [0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30];
const watchBounds = [0, 1, 10, 100, 1000, 10_000];
const seatBounds = [1, 2, 4, 8, 16, 32, 64, 100];

/** The reason for a refusal, in the words of apiserver_flowcontrol_rejected_requests_total. */
export type RefusalReason = 'queue-full' | 'concurrency-limit' | 'time-out';

export class FlowCounts {
  readonly schemaName: string;
  readonly levelName: string;
  waiting = 0;
  seatsWaiting = 0;
  executing = 0;
  seatsInUse = 0;
  dispatched = 0;
  /** Number of times that a request was next and there were too few free seats for it. */
  unaccommodated = 0;
  readonly refused: Record<RefusalReason, number> = { 'queue-full': 0, 'concurrency-limit': 0, 'time-out': 0 };
  readonly queueLengths: Histogram = new Histogram(lengthBounds);
  /** Waits of requests that ran. */
  readonly waits: DurationHistogram = new DurationHistogram(secondBounds);
  /** Waits of requests that were refused. */
  readonly vainWaits: DurationHistogram = new DurationHistogram(secondBounds);
  readonly executions: DurationHistogram = new DurationHistogram(secondBounds);
  /** Histogram of the time until watches began. */
  readonly watchStarts: DurationHistogram = new DurationHistogram(secondBounds);
  /** Histogram of the number of watches to which a write must be delivered. */
  readonly watches: Histogram = new Histogram(watchBounds);
  readonly seats: Histogram = new Histogram(seatBounds);

  constructor(schemaName: string, levelName: string) {
    this.schemaName = schemaName;
    this.levelName = levelName;
  }

  /** True while a request is under way whose end will be counted here. */
  get isUsed(): boolean {
    return this.waiting > 0 || this.executing > 0 || this.seatsInUse > 0;
  }
}
