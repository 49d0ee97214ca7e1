// Dispatcher delivers each event to the watchers that it concerns, and lets new watchers catch up in slices. It sits
// between watch-cache.ts and cache-watcher.ts. Source: apiserver storage/cacher/cacher.go (dispatchEvents).
import type { Clock, KubernetesObject, Logger, Revision } from '@kapstan/api';
import { DurationHistogram, onNextTurn, turnMs } from '@kapstan/api/internal';
import type { CacheWatcher, EndReason } from './cache-watcher.ts';
import { dispatchBounds } from './histogram-bounds.ts';
import type { HistoryRing } from './history-ring.ts';
import { scopeOf, WatcherIndex } from './watcher-index.ts';

const eventsPerSlice = 100;
/** A watch that takes longer to catch up is logged. Source: cache_watcher.go initProcessThreshold. */
const slowStartMs = 500;

export interface DispatcherOptions<T extends KubernetesObject> {
  readonly ring: HistoryRing<T>;
  readonly indexedFields: readonly string[];
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Counters of a dispatcher. They never go down. */
export interface DispatchCounters {
  /** Events dispatched to the live watchers. */
  dispatched: number;
  /** Objects and past events that watchers examined while they caught up. */
  initEvents: number;
  /** Watches that their clients did not close, by the reason of their end. */
  readonly ended: Record<EndReason, number>;
}

/** The watchers of one scope: a key or prefix, and the value of an indexed field that they require. */
export interface WatcherScope {
  /** "/registry/pods/default/" or "/registry/pods/ spec.nodeName=n1". */
  readonly scope: string;
  readonly watchers: number;
  /** Watchers that have not begun yet or still read past events. */
  readonly catchingUp: number;
  /** The largest number of objects and events that one watcher has yet to examine. */
  readonly behind: number;
}

/**
 * Delivers events synchronously and never nested (I4): within a turn's budget at once, the others in later turns,
 * before the ring would drop them. There is no other buffer: a slow sink closes its watch.
 */
export class Dispatcher<T extends KubernetesObject> {
  readonly counters: DispatchCounters = {
    dispatched: 0,
    initEvents: 0,
    ended: { relist: 0, overrun: 0, failed: 0, refused: 0, stopped: 0 },
  };
  readonly latency: DurationHistogram = new DurationHistogram(dispatchBounds);
  readonly #ring: HistoryRing<T>;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #fields: readonly string[];
  readonly #index: WatcherIndex<T>;
  readonly #watchers = new Set<CacheWatcher<T>>();
  /** Watchers that are catching up, with the time of their start. */
  readonly #catchingUp = new Map<CacheWatcher<T>, number>();
  /** Watchers whose readers are too slow for their initial events. */
  readonly #heldBack = new Set<CacheWatcher<T>>();
  // Invariant: live watchers were offered every event before this ring position, and none from this position on.
  #next: number;
  #isDelivering = false;
  #isTurnOpen = false;
  #spentMs = 0;

  constructor({ ring, indexedFields, clock, logger }: DispatcherOptions<T>) {
    this.#ring = ring;
    this.#clock = clock;
    this.#logger = logger;
    this.#fields = indexedFields;
    this.#index = new WatcherIndex<T>(indexedFields);
    this.#next = ring.end;
    ring.unread = () => this.#next;
  }

  get watcherCount(): number {
    return this.#watchers.size;
  }

  get catchingUpCount(): number {
    return this.#catchingUp.size + this.#heldBack.size;
  }

  /** Number of events in the ring that the live watchers have not been offered yet. */
  get backlog(): number {
    return this.#ring.end - this.#next;
  }

  /**
   * Returns the revision for bookmarks to live watchers: the cache's revision, or 0 while they have not been offered
   * all its events.
   */
  reached(cacheRevision: Revision): Revision {
    return this.backlog > 0 ? (0 as Revision) : cacheRevision;
  }

  scopes(): WatcherScope[] {
    const scopes = new Map<string, WatcherScope>();
    for (const watcher of this.#watchers) {
      const scope = scopeOf(watcher, this.#fields);
      const known = scopes.get(scope) ?? { scope, watchers: 0, catchingUp: 0, behind: 0 };
      const behind = watcher.isLive ? this.backlog : watcher.behind(this.#ring);
      scopes.set(scope, {
        scope,
        watchers: known.watchers + 1,
        catchingUp: known.catchingUp + (watcher.isLive ? 0 : 1),
        behind: Math.max(known.behind, behind),
      });
    }
    return [...scopes.values()];
  }

  /** Adds a watcher that has not begun, so that it ends together with the others. */
  register(watcher: CacheWatcher<T>): void {
    this.#watchers.add(watcher);
  }

  /** Lets a registered watcher that has begun catch up, starting in the next turn. */
  start(watcher: CacheWatcher<T>): void {
    this.#catchingUp.set(watcher, this.#clock.monotonicNow());
    this.#openTurn();
  }

  /** Forgets a closed watcher. `reason` is absent when its client closed it. */
  remove(watcher: CacheWatcher<T>, reason?: EndReason): void {
    if (reason !== undefined) this.counters.ended[reason]++;
    this.#watchers.delete(watcher);
    this.#catchingUp.delete(watcher);
    this.#heldBack.delete(watcher);
    this.#index.remove(watcher);
  }

  /** Delivers new events. Must be called after each event that was put into the ring. */
  dispatch(): void {
    // The running loop will reach the event.
    if (this.#isDelivering) return;
    if (this.#watchers.size === 0) {
      this.counters.dispatched += this.backlog;
      this.#next = this.#ring.end;
      return;
    }
    this.#openTurn();
    if (this.#spentMs < turnMs) this.#deliver(turnMs - this.#spentMs);
    // The next event would push an older event out of the ring that live watchers have not been offered yet (I3).
    else if (this.backlog >= this.#ring.maxCapacity || this.#ring.isOverfull) this.#deliver(Number.POSITIVE_INFINITY);
  }

  /**
   * Ends watches that are held back once the ring has moved past them, so that they do not keep old objects in memory.
   */
  endOverrun(): void {
    for (const watcher of this.#heldBack) if (watcher.isOverrun(this.#ring)) watcher.end('overrun');
  }

  /** Ends all watches, because they may miss events from now on. */
  terminateAll(reason: EndReason): void {
    for (const watcher of this.#watchers) watcher.end(reason);
    this.#next = this.#ring.end;
  }

  #deliver(budgetMs: number): void {
    const begin = this.#clock.monotonicNow();
    let now = begin;
    this.#isDelivering = true;
    try {
      while (this.#next < this.#ring.end && now - begin < budgetMs) {
        const event = this.#ring.at(this.#next);
        if (event === undefined) {
          this.#endLive();
          break;
        }
        this.#next++;
        this.#index.offer(event);
        this.counters.dispatched++;
        now = this.#clock.monotonicNow();
        this.latency.observe(now - event.timeMs);
      }
    } finally {
      this.#isDelivering = false;
      this.#spentMs += now - begin;
    }
  }

  /** Ends the live watchers that the ring has moved past, because silence would hide a gap. */
  #endLive(): void {
    this.#next = this.#ring.end;
    for (const watcher of this.#watchers) if (watcher.isLive) watcher.end('overrun');
  }

  /** Schedules the next turn: one immediate per turn, however many events and watchers there are. */
  #openTurn(): void {
    if (this.#isTurnOpen) return;
    this.#isTurnOpen = true;
    this.#spentMs = 0;
    onNextTurn(() => this.#onNextTurn());
  }

  #onNextTurn(): void {
    this.#isTurnOpen = false;
    this.endOverrun();
    if (this.backlog === 0 && this.#catchingUp.size === 0) return;
    this.#openTurn();
    if (this.backlog > 0 && !this.#isDelivering) this.#deliver(turnMs);
    this.#pump();
  }

  #pump(): void {
    const begin = this.#clock.monotonicNow();
    for (const [watcher, startedMs] of this.#catchingUp) {
      // The watcher is added again below, so the loop returns to it after the others while the budget lasts.
      this.#catchingUp.delete(watcher);
      if (watcher.isOverrun(this.#ring)) {
        watcher.end('overrun');
        continue;
      }
      const looked = watcher.catchUp(this.#ring, { limit: eventsPerSlice, until: this.#next });
      this.counters.initEvents += looked;
      if (watcher.isLive) this.#goLive(watcher, startedMs);
      else if (watcher.isHeldBack) this.#holdBack(watcher, startedMs);
      else if (!watcher.isClosed) this.#catchingUp.set(watcher, startedMs);
      if (this.#clock.monotonicNow() - begin >= turnMs) return;
    }
  }

  #holdBack(watcher: CacheWatcher<T>, startedMs: number): void {
    this.#heldBack.add(watcher);
    watcher.whenRoom(() => {
      if (!this.#heldBack.delete(watcher)) return;
      this.#catchingUp.set(watcher, startedMs);
      this.#openTurn();
    });
  }

  #goLive(watcher: CacheWatcher<T>, startedMs: number): void {
    this.#index.add(watcher);
    const tookMs = this.#clock.monotonicNow() - startedMs;
    if (tookMs > slowStartMs) this.#logger.info('a watch took long to catch up', { key: watcher.key, tookMs });
  }
}
