// WatchFeed serves all watches of an engine: it replays the event log, then delivers live events, in one order and
// without gap or duplicate. committer.ts feeds it; it reads history through version-reader.ts.
import type { Clock, Revision } from '@kapstan/api';
import { onNextTurn, sliceMs } from '@kapstan/api/internal';
import {
  commonPrefix,
  type EngineEvent,
  type EngineWatch,
  type EngineWatchOptions,
  type EngineWatchSink,
  isInRange,
  type KeyRange,
  StorageError,
} from '@kapstan/storage';
import type { DurableSink } from './committer.ts';
import type { Environment } from './environment.ts';
import { decodeNumber, decodeVersion, encodeNumber, toKeyValue, type VersionRow } from './row-codec.ts';
import type { TurnQueue } from './turn-queue.ts';
import { readVersion } from './version-reader.ts';
import { WatchersByPrefix } from './watchers-by-prefix.ts';

export interface WatchFeedOptions {
  readonly env: Environment;
  readonly turns: TurnQueue;
  readonly clock: Clock;
  readonly compactRevision: () => Revision;
  /** The newest durable revision when the engine was opened. */
  readonly revision: Revision;
  /** Called when a sink threw. Its watch has been ended. */
  readonly onSinkError: (error: unknown) => void;
}

interface Watcher {
  readonly range: KeyRange;
  /** Common prefix of the range's keys, which quickly rules most events out. */
  readonly prefix: string;
  readonly sink: EngineWatchSink;
  readonly wantsProgress: boolean;
  /** Every event up to this revision was delivered, or precedes the watch's start. */
  position: Revision;
  state: 'replaying' | 'live' | 'closed';
}

// Limits of a slice of history. Sinks take longer than reading does, so the time is checked too, after every few rows.
const sliceRows = 500;
const sliceBytes = 4 * 1024 * 1024;
const rowsAtOnce = 50;

export class WatchFeed implements DurableSink {
  readonly #options: WatchFeedOptions;
  readonly #watchers: WatchersByPrefix<Watcher> = new WatchersByPrefix();
  #revision: Revision;
  #isProgressAsked = false;

  constructor(options: WatchFeedOptions) {
    this.#options = options;
    this.#revision = options.revision;
  }

  get size(): number {
    return this.#watchers.size;
  }

  /** True when some watch wants progress reports at intervals. */
  get hasProgressWatchers(): boolean {
    for (const watcher of this.#watchers) if (watcher.wantsProgress) return true;
    return false;
  }

  watch(range: KeyRange, options: EngineWatchOptions, sink: EngineWatchSink): EngineWatch {
    const { after, progressNotify = false } = options;
    const watcher: Watcher = {
      ...{ range, sink, prefix: commonPrefix(range) },
      ...{ wantsProgress: progressNotify, position: after, state: 'replaying' },
    };
    this.#watchers.add(watcher);
    // Nothing is delivered inside the caller's turn. A watch from the present goes live now, so that it misses nothing.
    if (after >= this.#revision) watcher.state = 'live';
    else
      this.#options.turns.run(() => this.#replaySlice(watcher)).catch((error) => this.#fail(watcher, error as Error));
    return { close: () => this.#remove(watcher) };
  }

  // Atomic: revision and delivery change together; a watcher that turned live in between would have a gap.
  /** Delivers the events that became durable. Never called from within a sink. */
  deliver(events: readonly EngineEvent[], revision: Revision): void {
    this.#revision = revision;
    for (const event of events)
      for (const watchers of this.#watchers.candidates(event.key)) this.#offer(event, watchers);
  }

  #offer(event: EngineEvent, watchers: ReadonlySet<Watcher>): void {
    const single = [event];
    for (const watcher of watchers) {
      if (watcher.state !== 'live' || event.revision <= watcher.position) continue;
      if (!event.key.startsWith(watcher.prefix)) continue;
      if (isInRange(watcher.range, event.key)) this.#send(watcher, single, event.revision);
    }
  }

  /** Reports its progress to every watch that wants it, in a later turn and never inside the caller's. */
  requestProgress(): void {
    if (this.#isProgressAsked) return;
    this.#isProgressAsked = true;
    onNextTurn(() => {
      this.#isProgressAsked = false;
      for (const watcher of this.#watchers) this.#sendProgress(watcher);
    });
  }

  /** Ends every watch with the error. */
  end(error: Error): void {
    for (const watcher of [...this.#watchers]) this.#fail(watcher, error);
  }

  #replaySlice(watcher: Watcher): boolean {
    if (isClosed(watcher)) return true;
    const compacted = this.#options.compactRevision();
    if (watcher.position < compacted) {
      this.#fail(watcher, new StorageError({ code: 'Compacted', revision: compacted }));
      return true;
    }
    const isRead = this.#replayRows(watcher);
    if (isClosed(watcher)) return true;
    if (!isRead) return false;
    // This runs in the turn that delivered the last row, so the next durable event arrives live.
    watcher.position = this.#revision;
    watcher.state = 'live';
    if (watcher.wantsProgress) this.#sendProgress(watcher);
    return true;
  }

  /** Delivers a slice of history. Returns true when it reached the newest announced revision. */
  #replayRows(watcher: Watcher): boolean {
    const { clock } = this.#options;
    const untilMs = clock.monotonicNow() + sliceMs;
    const spent = { rows: 0, bytes: 0 };
    do {
      const isRead = this.#replayFew(watcher, spent);
      if (isRead || isClosed(watcher)) return isRead;
    } while (spent.rows < sliceRows && spent.bytes < sliceBytes && clock.monotonicNow() < untilMs);
    return false;
  }

  /** Reads a few rows, then delivers them, because a sink may do anything. Returns true when there were no more. */
  #replayFew(watcher: Watcher, spent: { rows: number; bytes: number }): boolean {
    const { env } = this.#options;
    const bounds = { start: encodeNumber(watcher.position + 1), end: encodeNumber(this.#revision + 1) };
    const events: EngineEvent[] = [];
    let [rows, isRead] = [0, true];
    for (const { key, value } of env.log.getRange(bounds)) {
      if (rows >= rowsAtOnce || spent.bytes >= sliceBytes) {
        isRead = false;
        break;
      }
      rows += 1;
      spent.bytes += value.length;
      watcher.position = decodeNumber(key) as Revision;
      const row = decodeVersion(value, watcher.position);
      if (isInRange(watcher.range, row.key)) events.push(toEvent(env, row));
    }
    spent.rows += rows;
    for (const event of events) this.#send(watcher, [event], event.revision);
    return isRead;
  }

  #send(watcher: Watcher, events: readonly EngineEvent[], revision: Revision): void {
    if (isClosed(watcher)) return;
    try {
      watcher.sink.onEvents(events, revision);
    } catch (error) {
      this.#endThrower(watcher, error);
    }
  }

  #sendProgress(watcher: Watcher): void {
    if (watcher.state !== 'live' || !watcher.wantsProgress || watcher.position > this.#revision) return;
    try {
      watcher.sink.onProgress(this.#revision);
    } catch (error) {
      this.#endThrower(watcher, error);
    }
  }

  /** Ends the watch of a sink that threw. Its neighbours and the writers do not notice (I8). */
  #endThrower(watcher: Watcher, error: unknown): void {
    this.#options.onSinkError(error);
    this.#fail(watcher, error instanceof Error ? error : new Error(String(error)));
  }

  #fail(watcher: Watcher, error: Error): void {
    if (!this.#remove(watcher)) return;
    try {
      watcher.sink.onError(error);
    } catch (second) {
      this.#options.onSinkError(second);
    }
  }

  #remove(watcher: Watcher): boolean {
    watcher.state = 'closed';
    return this.#watchers.delete(watcher);
  }
}

/** This is a function so that TypeScript does not narrow the state: a sink may close its watch inside any call. */
function isClosed(watcher: Watcher): boolean {
  return watcher.state === 'closed';
}

function toEvent(env: Environment, row: VersionRow): EngineEvent {
  const { type, key, revision, previousRevision } = row;
  const previous = previousRevision === 0 ? undefined : readVersion(env, previousRevision);
  return {
    type,
    key,
    revision,
    kv: type === 'put' ? toKeyValue(row) : undefined,
    previous: previous && toKeyValue(previous),
  };
}
