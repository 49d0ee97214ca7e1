// WatchRegistry knows the open watches, so that a stopping server can end them, and counts their events.

import { type Clock, delay, type GroupResource } from '@kapstan/api';
import {
  DurationHistogram,
  formatGroupResource,
  type GroupVersionResource,
  Histogram,
  type MetricFamily,
} from '@kapstan/api/internal';
import type { RequestScope } from '../exchange/request-labels.ts';
import type { WatchResponse } from './watch-response.ts';
import type { OpenWatch, OverflowReason } from './watch-response-options.ts';

interface Overflows extends GroupResource {
  readonly count: number;
  readonly reasons: ReadonlyMap<OverflowReason, number>;
}

/**
 * Counts of the events of one resource's watches. They are plain numbers, because a library's counters cost more than
 * the event.
 */
export interface WatchCounts {
  /** Bytes per event. */
  readonly sizes: Histogram;
  /** Time to the end of the initial events, by the scope of the watch. */
  readonly initialTimes: Map<RequestScope, DurationHistogram>;
}

/** 1 KiB, doubled up to 128 KiB. */
const sizeBounds = Array.from({ length: 8 }, (_, i) => 1024 * 2 ** i);
const initialTimeBounds = [0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 4, 6, 8, 10, 15, 20, 30, 45, 60];

/** Minimum number of watches ended per second, however much time there is. Source: server/genericapiserver.go. */
const minEndsPerSecond = 200;
const stepMs = 5;

export function observeInitialTime(counts: WatchCounts, scope: RequestScope, durationMs: number): void {
  const times = counts.initialTimes.get(scope) ?? new DurationHistogram(initialTimeBounds);
  counts.initialTimes.set(scope, times);
  times.observe(durationMs);
}

export class WatchRegistry {
  readonly #open = new Set<WatchResponse>();
  readonly #overflows = new Map<string, Overflows>();
  readonly #counts = new Map<string, { readonly of: GroupVersionResource; readonly counts: WatchCounts }>();
  #isClosing = false;

  /** Counts of watches ended because their client read too slowly, by resource. They only grow. */
  get overflows(): Iterable<Overflows> {
    return this.#overflows.values();
  }

  countOverflow({ group, resource }: GroupResource, reason: OverflowReason): void {
    const key = formatGroupResource({ group, resource });
    const { count = 0, reasons = new Map<OverflowReason, number>() } = this.#overflows.get(key) ?? {};
    const more = new Map(reasons).set(reason, (reasons.get(reason) ?? 0) + 1);
    this.#overflows.set(key, { group, resource, count: count + 1, reasons: more });
  }

  /** Returns the counts of a resource, to be increased by the caller. */
  countsOf({ group, version, resource }: GroupVersionResource): WatchCounts {
    const key = `${group}/${version}/${resource}`;
    const known = this.#counts.get(key)?.counts;
    if (known !== undefined) return known;
    const counts: WatchCounts = { sizes: new Histogram(sizeBounds), initialTimes: new Map() };
    this.#counts.set(key, { of: { group, version, resource }, counts });
    return counts;
  }

  /**
   * Returns the counts and sizes of events and the times of streamed lists. Source: endpoints/metrics (WatchEvents,
   * WatchEventsSizes).
   */
  metrics(): readonly MetricFamily[] {
    const all = [...this.#counts.values()].map(({ of, counts }) => ({ labels: { ...of }, counts }));
    const sizes = all.map(({ labels, counts }) => ({ labels, value: counts.sizes.counts() }));
    return [
      {
        name: 'kapstan_slow_watches_ended_total',
        help: 'Watches ended because their client read too slowly, by reason: stuck, behind, or the limit of its user or of the server.',
        type: 'counter',
        samples: [...this.#overflows.values()].flatMap(({ group, resource, reasons }) =>
          [...reasons].map(([reason, value]) => ({ labels: { group, resource, reason }, value })),
        ),
      },
      {
        name: 'apiserver_watch_events_total',
        help: 'Events sent to the clients of watches.',
        type: 'counter',
        samples: sizes.map(({ labels, value }) => ({ labels, value: value.count })),
      },
      {
        name: 'apiserver_watch_events_sizes',
        help: 'Sizes of these events in bytes.',
        type: 'histogram',
        samples: sizes,
      },
      {
        name: 'apiserver_watch_list_duration_seconds',
        help: 'Time until watches have sent their initial events.',
        type: 'histogram',
        samples: all.flatMap(({ labels, counts }) =>
          [...counts.initialTimes].map(([scope, times]) => ({ labels: { ...labels, scope }, value: times.counts() })),
        ),
      },
    ];
  }

  get size(): number {
    return this.#open.size;
  }

  /** Watches ended because their client read too slowly. */
  get overflowCount(): number {
    return [...this.#overflows.values()].reduce((sum, { count }) => sum + count, 0);
  }

  *inspect(): Generator<OpenWatch, void, undefined> {
    for (const watch of this.#open) yield watch.inspect();
  }

  add(watch: WatchResponse): void {
    this.#open.add(watch);
    if (this.#isClosing) watch.finish();
  }

  remove(watch: WatchResponse): void {
    this.#open.delete(watch);
  }

  /**
   * Ends every watch after its queued events, including watches that begin later because their request was under way. A
   * grace period spreads the ends, and so the reconnects. Resolves when all have been told to end.
   */
  async endAll({ graceMs, clock }: { readonly graceMs: number; readonly clock: Clock }): Promise<void> {
    this.#isClosing = true;
    const waiting = [...this.#open];
    const perSecond = graceMs === 0 ? Number.POSITIVE_INFINITY : (waiting.length * 1000) / graceMs;
    const perStep = Math.ceil((Math.max(minEndsPerSecond, perSecond) * stepMs) / 1000);
    for (;;) {
      for (const watch of waiting.splice(0, perStep)) watch.finish();
      if (waiting.length === 0) return;
      await delay(clock, stepMs);
    }
  }
}
