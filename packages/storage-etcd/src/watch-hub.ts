// WatchHub carries all watches of an engine over one stream. Each watch has an id; when the stream breaks, they
// continue from their positions on a new one. Part of etcd-engine.ts; watch-stream.ts is the stream, etcd-watch.ts one
// watch.
import type { CancelTimer, Clock, Logger, Revision } from '@kapstan/api';
import { onNextTurn } from '@kapstan/api/internal';
import {
  type EngineWatch,
  type EngineWatchOptions,
  type EngineWatchSink,
  type KeyRange,
  StorageError,
} from '@kapstan/storage';
import type { AuthToken } from './auth-token.ts';
import type { EndpointPool } from './endpoint-pool.ts';
import { isStaleToken } from './etcd-error.ts';
import { EtcdWatch } from './etcd-watch.ts';
import { WatchStream, type WatchStreamSink } from './watch-stream.ts';
import type { WatchResponse } from './wire.ts';

export interface WatchHubOptions {
  readonly pool: EndpointPool;
  readonly token: AuthToken;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Key to watch when the range contains no keys. */
  readonly quietKey: string;
  /** Called when etcd reported that history below the revision is gone. */
  readonly onCompacted: (revision: Revision) => void;
}

const firstBackoffMs = 50;
const longestBackoffMs = 5_000;
/** Time between progress requests. etcd does not answer while some watch lags behind, so the request is repeated. */
const askAgainMs = 100;
const mostAsks = 50;

export class WatchHub implements WatchStreamSink {
  readonly #options: WatchHubOptions;
  readonly #watches: Map<number, EtcdWatch> = new Map();
  readonly #closing: AbortController = new AbortController();
  #lastId = 0;
  #stream: WatchStream | undefined;
  #isOpening = false;
  #backoffMs = firstBackoffMs;
  #cancelReopen: CancelTimer | undefined;
  /** Progress requests to send until all watches have reported. 0 = nobody waits. */
  #asksLeft = 0;
  #cancelAsk: CancelTimer | undefined;

  constructor(options: WatchHubOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#watches.size;
  }

  watch(range: KeyRange, options: EngineWatchOptions, sink: EngineWatchSink): EngineWatch {
    const { after, progressNotify: wantsProgress = false } = options;
    this.#lastId += 1;
    const { quietKey } = this.#options;
    const watch = new EtcdWatch({ id: this.#lastId, range, after, wantsProgress, sink, quietKey });
    this.#watches.set(watch.id, watch);
    if (this.#stream === undefined) this.#open();
    else this.#stream.create(watch);
    return { close: () => this.#remove(watch) };
  }

  /**
   * Requests the progress of all watches. Repeats the request until every watch could report, {@link mostAsks} times at
   * most.
   */
  askProgress(): void {
    if (this.#watches.size === 0) return;
    const isAsked = this.#asksLeft === mostAsks;
    this.#asksLeft = mostAsks;
    // Requests of one turn are sent as one.
    if (!isAsked) onNextTurn(() => this.#ask());
  }

  /** Ends every watch with the error. */
  end(error: Error): void {
    this.#closing.abort(error);
    this.#cancelReopen?.();
    this.#cancelAsk?.();
    this.#stream?.close();
    for (const watch of [...this.#watches.values()]) this.#fail(watch, error);
  }

  #open(): void {
    if (this.#isOpening || this.#cancelReopen !== undefined) return;
    this.#isOpening = true;
    this.#connect()
      .catch((error: unknown) => this.#reopenLater(error))
      .finally(() => {
        this.#isOpening = false;
      });
  }

  async #connect(): Promise<void> {
    const { pool, token } = this.#options;
    const client = await pool.ready(this.#closing.signal);
    const metadata = await token.metadata(client, this.#closing.signal);
    this.#closing.signal.throwIfAborted();
    const stream = new WatchStream({ client, metadata, sink: this });
    // Atomic: from here on watch() creates its watches on the stream itself.
    this.#stream = stream;
    for (const watch of this.#watches.values()) stream.create(watch);
    if (this.#asksLeft > 0) this.#ask();
  }

  onMessage(id: number, message: WatchResponse): void {
    this.#backoffMs = firstBackoffMs;
    const watch = this.#watches.get(id);
    if (watch === undefined) return;
    if (message.canceled) return this.#onCanceled(watch, message);
    if (message.created && watch.place !== undefined) {
      watch.place = { ...watch.place, madeAt: message.header.revision };
    }
    this.#deliver(watch, () => {
      if (message.events.length > 0) watch.take(message.events, message.fragment);
      else if (!message.created) watch.progress(message.header.revision);
    });
  }

  #onCanceled(watch: EtcdWatch, { compactRevision, cancelReason }: WatchResponse): void {
    if (compactRevision > 0) {
      this.#options.onCompacted(compactRevision as Revision);
      return this.#fail(watch, new StorageError({ code: 'Compacted', revision: compactRevision }));
    }
    const { token } = this.#options;
    if (token.isUsed && !watch.wasDenied && /permission denied|auth/.test(cancelReason)) {
      // Old versions send only this when the stream's token has expired.
      watch.wasDenied = true;
      return this.#restart(cancelReason);
    }
    const message = cancelReason === '' ? 'etcd cancelled the watch' : cancelReason;
    this.#fail(watch, new StorageError({ code: 'Unreachable', message }));
  }

  #restart(reason: string): void {
    const stream = this.#stream;
    if (stream === undefined) return;
    this.#options.token.reject(stream.metadata);
    stream.close();
    this.onEnd(stream, new Error(reason));
  }

  onProgressOfAll(stream: WatchStream, revision: number): void {
    let isTold = true;
    for (const watch of [...this.#watches.values()]) {
      if (stream.covers(watch, revision)) this.#deliver(watch, () => watch.progress(revision));
      else isTold = false;
    }
    if (!isTold) return;
    this.#asksLeft = 0;
    this.#cancelAsk?.();
  }

  #ask(): void {
    this.#cancelAsk?.();
    if (this.#asksLeft === 0 || this.#stream === undefined || this.#closing.signal.aborted) return;
    this.#asksLeft -= 1;
    this.#stream.askProgress();
    this.#cancelAsk = this.#options.clock.setBackgroundTimer(() => this.#ask(), askAgainMs);
  }

  onEnd(stream: WatchStream, error: unknown): void {
    if (this.#stream !== stream) return;
    this.#stream = undefined;
    this.#cancelAsk?.();
    for (const watch of this.#watches.values()) watch.place = undefined;
    if (isStaleToken(error)) this.#options.token.reject(stream.metadata);
    this.#options.pool.demote(stream.client);
    this.#reopenLater(error);
  }

  #reopenLater(error: unknown): void {
    if (this.#closing.signal.aborted || this.#watches.size === 0) return;
    const backoffMs = this.#backoffMs;
    this.#backoffMs = Math.min(2 * backoffMs, longestBackoffMs);
    this.#options.logger.warn('the watch stream broke; opening another', { error, backoffMs });
    this.#cancelReopen = this.#options.clock.setBackgroundTimer(() => {
      this.#cancelReopen = undefined;
      if (this.#watches.size > 0) this.#open();
    }, backoffMs);
  }

  /** Delivers to a sink. A sink that throws loses its watch. */
  #deliver(watch: EtcdWatch, delivery: () => void): void {
    try {
      delivery();
    } catch (error) {
      this.#options.logger.error('a watch ended because its sink threw', { error });
      this.#cancelOnStream(watch);
      this.#fail(watch, error as Error);
    }
  }

  #fail(watch: EtcdWatch, error: Error): void {
    this.#watches.delete(watch.id);
    try {
      watch.fail(error);
    } catch (thrown) {
      this.#options.logger.error('the sink of a watch threw while the watch was ended', { error: thrown });
    }
  }

  #remove(watch: EtcdWatch): void {
    if (watch.isClosed) return;
    watch.close();
    this.#watches.delete(watch.id);
    this.#cancelOnStream(watch);
  }

  #cancelOnStream(watch: EtcdWatch): void {
    if (!this.#closing.signal.aborted) this.#stream?.cancel(watch);
  }
}
