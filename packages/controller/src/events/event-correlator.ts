// EventCorrelator makes one event from many similar ones and drops floods: aggregate, count, then filter spam, like
// client-go's record.EventCorrelator. Source: client-go tools/record/events_cache.go.

import { type Clock, systemClock } from '@kapstan/api';
import {
  boundCallbacks,
  checkedElsewhere,
  type OptionTable,
  optional,
  requireClock,
  requireFunction,
  requireNotNegative,
  TokenBucket,
} from '@kapstan/api/internal';
import { LruMap } from '../guards/lru-map.ts';
import { givenOptions, requirePartOptions } from '../guards/part-options.ts';

/** A message as the recorder received it, before it becomes an Event. */
export interface EventDraft {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  readonly component: string;
  readonly host: string;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  /** Wall clock, milliseconds since 1970. */
  readonly recordedAtMs: number;
  readonly involvedObject: InvolvedObject;
}

/** The object that an Event is about. */
export interface InvolvedObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly fieldPath?: string;
}

/** The write that results from an event. */
export type CorrelatedEvent =
  /** The limit is exceeded, so nothing is written. */
  | { readonly type: 'skip' }
  | {
      readonly type: 'create';
      readonly message: string;
      readonly firstTimestampMs: number;
      readonly onWritten: (written: WrittenEvent) => void;
    }
  | {
      readonly type: 'count';
      readonly message: string;
      readonly firstTimestampMs: number;
      readonly count: number;
      readonly written: WrittenEvent;
      readonly onWritten: (written: WrittenEvent) => void;
    };

/** The event into which all similar ones were counted. */
export interface WrittenEvent {
  readonly name: string;
  readonly namespace: string;
}

/** Options of an {@link EventCorrelator}: when events are merged and dropped. Defaults are client-go's. */
export interface EventCorrelatorOptions {
  /** Default: the real clock. */
  readonly clock?: Clock;
  /** Keys remembered per step. Default 4096. */
  readonly cacheSize?: number;
  /** Distinct messages of one kind after which they are combined. Default 10. */
  readonly maxSimilar?: number;
  /** Pause after which similar events are counted from one again, in milliseconds. Default 600 000. */
  readonly similarWindowMs?: number;
  /** Number of events of one spam key that pass at once. At least 1. Default 25. */
  readonly spamBurst?: number;
  /** Further events per second beyond the burst. Above 0. Default 1/300. */
  readonly spamPerSecond?: number;
  /**
   * Returns a key; events with the same one share a burst. By default, events of one source, object and type share a
   * burst, whatever their reasons.
   */
  readonly spamKey?: (draft: EventDraft) => string;
}

const defaults = {
  clock: systemClock,
  cacheSize: 4096,
  maxSimilar: 10,
  similarWindowMs: 600_000,
  spamBurst: 25,
  spamPerSecond: 1 / 300,
  spamKey: (draft: EventDraft) => keyOf([...sourceKey(draft), ...objectKey(draft.involvedObject), draft.type]),
} as const;

const optionTable: OptionTable<EventCorrelatorOptions> = {
  clock: requireClock,
  cacheSize: optional(requireNotNegative),
  maxSimilar: optional(requireNotNegative),
  similarWindowMs: optional(requireNotNegative),
  // Checked by the bucket.
  spamBurst: checkedElsewhere,
  spamPerSecond: checkedElsewhere,
  spamKey: requireFunction,
};

interface Similar {
  readonly messages: Set<string>;
  lastMs: number;
}

interface Counted {
  count: number;
  readonly firstTimestampMs: number;
  written?: WrittenEvent;
}

const combinedPrefix = '(combined from similar events): ';

/** Recorders of different sources must not share one. */
export class EventCorrelator {
  readonly #options: Required<EventCorrelatorOptions>;
  readonly #similar: LruMap<string, Similar>;
  readonly #counted: LruMap<string, Counted>;
  readonly #buckets: LruMap<string, TokenBucket>;

  /** Throws TypeError on bad options. */
  constructor(options: EventCorrelatorOptions = {}) {
    requirePartOptions(options, optionTable, 'an EventCorrelator');
    this.#options = { ...defaults, ...givenOptions(boundCallbacks(options, ['spamKey'])) };
    // Makes a bucket now, so that options it refuses throw here and not at the first event of each kind.
    this.#newBucket();
    this.#similar = new LruMap(this.#options.cacheSize);
    this.#counted = new LruMap(this.#options.cacheSize);
    this.#buckets = new LruMap(this.#options.cacheSize);
  }

  /** Counts an event and returns the write that it causes. The counts change even when it is skipped. */
  correlate(draft: EventDraft): CorrelatedEvent {
    const { message, key } = this.#aggregate(draft);
    const counted = this.#count(key, draft.recordedAtMs);
    if (this.#isSpam(draft)) return { type: 'skip' };
    const onWritten = (written: WrittenEvent): void => {
      counted.written = written;
    };
    const { firstTimestampMs, count, written } = counted;
    if (written === undefined) return { type: 'create', message, firstTimestampMs, onWritten };
    return { type: 'count', message, firstTimestampMs, count, written, onWritten };
  }

  /**
   * Returns the message to show and the key to count under: the event's own, or the shared ones of all similar events
   * once there are many.
   */
  #aggregate(draft: EventDraft): { readonly message: string; readonly key: string } {
    const similarKey = keyOf([...sourceKey(draft), ...objectKey(draft.involvedObject), draft.type, draft.reason]);
    const now = this.#options.clock.now();
    let similar = this.#similar.get(similarKey);
    if (similar === undefined || now - similar.lastMs > this.#options.similarWindowMs)
      similar = { messages: new Set(), lastMs: now };
    similar.messages.add(draft.message);
    similar.lastMs = now;
    this.#similar.set(similarKey, similar);
    if (similar.messages.size < this.#options.maxSimilar) {
      return { message: draft.message, key: keyOf([similarKey, draft.involvedObject.fieldPath ?? '', draft.message]) };
    }
    // Invariant: the set stays bounded during a flood of distinct messages.
    const oldest = similar.messages.values().next();
    if (!oldest.done) similar.messages.delete(oldest.value);
    similar.messages.add(draft.message);
    return { message: `${combinedPrefix}${draft.message}`, key: similarKey };
  }

  #count(key: string, recordedAtMs: number): Counted {
    const counted = this.#counted.get(key) ?? { count: 0, firstTimestampMs: recordedAtMs };
    counted.count++;
    this.#counted.set(key, counted);
    return counted;
  }

  #isSpam(draft: EventDraft): boolean {
    const key = this.#options.spamKey(draft);
    let bucket = this.#buckets.get(key);
    if (bucket === undefined) {
      bucket = this.#newBucket();
      this.#buckets.set(key, bucket);
    }
    return !bucket.tryTake();
  }

  #newBucket(): TokenBucket {
    const { spamPerSecond, spamBurst, clock } = this.#options;
    return new TokenBucket({ perSecond: spamPerSecond, burst: spamBurst, clock });
  }
}

const sourceKey = (draft: EventDraft): string[] => [draft.component, draft.host];
const objectKey = (object: InvolvedObject): string[] => [
  object.kind,
  object.namespace ?? '',
  object.name,
  object.uid ?? '',
  object.apiVersion,
];

function keyOf(parts: readonly string[]): string {
  return JSON.stringify(parts);
}
