// Compactor compacts in step with the other servers of the cluster. It uses the same key and value as kube-apiserver.
// Started and closed by etcd-engine.ts. Source: apiserver storage/etcd3/compact.go.
import type { CancelTimer, Clock, Logger, Revision } from '@kapstan/api';
import { type Engine, type EngineWatch, isStorageError, type KeyValue, rangeOfOne } from '@kapstan/storage';

/** A key outside every prefix. Its value is the last compacted revision in decimal digits. */
const compactRevisionKey = 'compact_rev_key';

export interface CompactorOptions {
  readonly engine: Engine;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Time between two rounds, in ms. 0 = no rounds, and the key is not watched. */
  readonly intervalMs: number;
  /** Called with the revision to which a server compacts. */
  readonly onCompacted: (revision: Revision) => void;
}

const none = 0 as Revision;
const watchAgainMs = 1_000;

/**
 * Each round claims the key by the revision at which this server last saw it, then compacts to the revision that was
 * newest one round ago. A server that finds the key changed leaves the round to the server that changed it.
 */
export class Compactor {
  readonly #options: CompactorOptions;
  #seenAt = none;
  /** Newest revision at the last round. 0 = there was no round yet. */
  #previous = none;
  #cancelRound: CancelTimer | undefined;
  #cancelWatch: CancelTimer | undefined;
  #watch: EngineWatch | undefined;
  #isClosed = false;

  constructor(options: CompactorOptions) {
    this.#options = options;
  }

  start(): void {
    if (this.#options.intervalMs === 0) return;
    this.#arm();
    this.#follow();
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelRound?.();
    this.#cancelWatch?.();
    this.#watch?.close();
  }

  #arm(): void {
    if (this.#isClosed) return;
    const { clock, intervalMs, logger } = this.#options;
    this.#cancelRound = clock.setBackgroundTimer(() => {
      this.round()
        .catch((error: unknown) => {
          if (!this.#isClosed) logger.warn('compaction failed; the next round tries again', { error });
        })
        .finally(() => this.#arm());
    }, intervalMs);
  }

  /** Runs one round. Public for callers with their own schedule. */
  async round(): Promise<void> {
    const { engine, onCompacted } = this.#options;
    const target = this.#previous;
    const change = { type: 'put', value: Buffer.from(String(target)) } as const;
    const result = await engine.commit({ key: compactRevisionKey, expectedRevision: this.#seenAt, change });
    this.#previous = result.revision;
    if (!result.succeeded) {
      this.#seenAt = result.current?.modRevision ?? none;
      onCompacted(revisionIn(result.current));
      return;
    }
    this.#seenAt = result.revision;
    if (target !== none) await compactOrBeLate(engine, target);
  }

  /** Follows the other servers' compactions as they happen. */
  #follow(): void {
    this.#readAndWatch().catch((error: unknown) => this.#followLater(error));
  }

  async #readAndWatch(): Promise<void> {
    const { engine, onCompacted } = this.#options;
    const { kv, revision } = await engine.get(compactRevisionKey);
    if (this.#isClosed) return;
    onCompacted(revisionIn(kv));
    const range = rangeOfOne(compactRevisionKey);
    this.#watch = engine.watch(
      range,
      { after: revision },
      {
        onEvents: (events) => onCompacted(revisionIn(events.at(-1)?.kv)),
        onProgress: () => undefined,
        onError: (error) => this.#followLater(error),
      },
    );
  }

  #followLater(error: unknown): void {
    if (this.#isClosed) return;
    this.#options.logger.warn('cannot follow compactions; trying again', { error });
    this.#cancelWatch = this.#options.clock.setBackgroundTimer(() => this.#follow(), watchAgainMs);
  }
}

async function compactOrBeLate(engine: Engine, revision: Revision): Promise<void> {
  try {
    await engine.compact(revision);
  } catch (error) {
    // A process that ignores the key has compacted further.
    if (!isStorageError(error, 'Compacted')) throw error;
  }
}

function revisionIn(kv: KeyValue | undefined): Revision {
  const value = Number(kv === undefined ? 0 : new TextDecoder().decode(kv.value));
  return (Number.isSafeInteger(value) && value > 0 ? value : 0) as Revision;
}
