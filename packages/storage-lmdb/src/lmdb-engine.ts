// The embedded engine: the Engine port over one LMDB environment. It connects committer (writes), range-reader (reads),
// watch-feed, lease-book and compactor, which do not know each other.
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type CancelTimer, type Clock, type Logger, type Revision, silentLogger, systemClock } from '@kapstan/api';
import {
  type Commit,
  type CommitResult,
  type Engine,
  type EngineRead,
  type EngineWatch,
  type EngineWatchOptions,
  type EngineWatchSink,
  type KeyRange,
  type RangeOptions,
  type RangeResult,
  StorageError,
} from '@kapstan/storage';
import { type CheckReport, checkStore, type ReadValue } from './check.ts';
import { Committer, closedBy } from './committer.ts';
import { Compactor } from './compactor.ts';
import { DataDirLock } from './data-dir-lock.ts';
import { isOutOfSpace } from './disk-space.ts';
import { type Durability, dataFileName, Environment } from './environment.ts';
import { checkKey, findableKey, findableRange } from './key-check.ts';
import { LeaseBook } from './lease-book.ts';
import { abandonNewStore, beginNewStore, endNewStore } from './new-store.ts';
import { ensurePrivateDirectory } from './private-directory.ts';
import { RangeReader } from './range-reader.ts';
import { TurnQueue } from './turn-queue.ts';
import { WatchFeed } from './watch-feed.ts';

/** Options of an {@link LmdbEngine}: its directory and its limits. */
export interface LmdbEngineOptions {
  /**
   * Directory of the store, created with mode 0700 if needed. An existing one that is open to other users is accepted
   * with a warning; the files in it get mode 0600. Only one process at a time may have it open.
   */
  readonly dataDir: string;
  /**
   * The event that an acknowledged commit survives. 'disk' (default): a loss of power. 'process': the end of the
   * process; a loss of power may then break the store, so use it for stores that are thrown away, as in tests.
   */
  readonly durability?: Durability;
  /** Clock for leases and progress. Default {@link systemClock}. */
  readonly clock?: Clock;
  /** Default: nothing is logged. */
  readonly logger?: Logger;
  /**
   * Maximum size of a value in bytes, at least 1. Larger ones are refused as `TooLarge`. Default 1 572 864 (1.5 MiB, as
   * etcd).
   */
  readonly maxValueBytes?: number;
  /**
   * Maximum size of live data and history in bytes, at least 262 144. Puts beyond it fail with `Full`. Default 8 589
   * 934 592 (8 GiB).
   */
  readonly quotaBytes?: number;
  /**
   * Time between progress reports to each watch that wants them, in ms. 0 = only on request. Default 600 000, as etcd.
   */
  readonly progressIntervalMs?: number;
  /** Called once when a transaction has failed. The engine then refuses everything, and a server should exit. */
  readonly onFatal?: (error: unknown) => void;
}

const defaults = {
  durability: 'disk',
  clock: systemClock,
  logger: silentLogger,
  maxValueBytes: 1_572_864,
  quotaBytes: 8_589_934_592,
  progressIntervalMs: 600_000,
  onFatal: (): void => undefined,
} as const satisfies Omit<Required<LmdbEngineOptions>, 'dataDir'>;

/** Size and activity of the store. */
export interface LmdbEngineStats {
  readonly revision: Revision;
  readonly compactRevision: Revision;
  readonly keys: number;
  /** Number of versions in the event log. */
  readonly versions: number;
  readonly leases: number;
  readonly watches: number;
  /** Bytes in pages that hold data; the quota limits these. */
  readonly usedBytes: number;
  /** Size of the data file in bytes. */
  readonly fileBytes: number;
  /** Successful commits since the engine was opened, and the transactions in which everything was written. */
  readonly commits: number;
  readonly transactions: number;
}

/**
 * Opens the store of a data directory, or creates one. Rejects with `Unreachable` when another process has it open,
 * `Corrupt` when it is not a store of a known format, and TypeError for options out of range.
 */
export async function openLmdbEngine(options: LmdbEngineOptions): Promise<LmdbEngine> {
  const resolved = resolveOptions(options);
  const dataDir = resolve(options.dataDir);
  ensurePrivateDirectory(dataDir, resolved.logger);
  const lock = await DataDirLock.acquire(dataDir, resolved.clock);
  let env: Environment | undefined;
  let isNew = false;
  try {
    // Twice the quota leaves room for free pages, so that the map hardly ever has to grow.
    const { quotaBytes, durability } = resolved;
    isNew = durability === 'disk' && beginNewStore(dataDir);
    env = new Environment({ dataDir, mapSizeBytes: 2 * quotaBytes, durability });
    await env.checkFormat(dataDir);
    if (isNew) endNewStore(dataDir);
    return new LmdbEngine(env, lock, resolved);
  } catch (error) {
    await env?.close();
    if (isNew) abandonNewStore(dataDir);
    await lock.release();
    throw error;
  }
}

type ResolvedOptions = Required<LmdbEngineOptions>;

function resolveOptions(options: LmdbEngineOptions): ResolvedOptions {
  const resolved = { ...defaults, ...options };
  // A missing or empty path must not create a store in the working directory.
  if (typeof resolved.dataDir !== 'string' || resolved.dataDir === '') {
    throw new TypeError(`dataDir must be the path of a directory, not ${JSON.stringify(resolved.dataDir)}`);
  }
  const { durability } = resolved;
  if (durability !== 'disk' && durability !== 'process')
    throw new TypeError(`durability must be 'disk' or 'process', not ${JSON.stringify(durability)}`);
  const least = { maxValueBytes: 1, quotaBytes: 262_144, progressIntervalMs: 0 };
  for (const [name, minimum] of Object.entries(least) as [keyof typeof least, number][]) {
    const value = resolved[name];
    if (!Number.isSafeInteger(value) || value < minimum) {
      throw new TypeError(`${name} must be a whole number of at least ${minimum}, not ${value}`);
    }
  }
  return resolved;
}

export class LmdbEngine implements Engine {
  readonly supportsProgressRequests = true;
  readonly #env: Environment;
  readonly #lock: DataDirLock;
  readonly #options: ResolvedOptions;
  readonly #turns: TurnQueue = new TurnQueue();
  readonly #committer: Committer;
  readonly #reader: RangeReader;
  readonly #feed: WatchFeed;
  readonly #leases: LeaseBook;
  readonly #compactor: Compactor;
  #refusal: StorageError | undefined;
  #closing: Promise<void> | undefined;
  /** Backups under way. Closing LMDB while it copies would kill the process. */
  #backups: Promise<unknown> = Promise.resolve();
  #cancelProgress: CancelTimer | undefined;

  /** Call {@link openLmdbEngine} instead. */
  constructor(env: Environment, lock: DataDirLock, options: ResolvedOptions) {
    this.#env = env;
    this.#lock = lock;
    this.#options = options;
    const { clock, logger } = options;
    this.#leases = new LeaseBook({ env, clock, logger });
    const compactRevision = (): Revision => this.#compactor.revision;
    const turns = this.#turns;
    this.#feed = new WatchFeed({
      env,
      turns,
      clock,
      compactRevision,
      revision: env.snapshotRevision(),
      onSinkError: (error) => logger.error('a watch ended because its sink threw', { error }),
    });
    this.#committer = new Committer({
      env,
      dataDir: options.dataDir,
      quotaBytes: options.quotaBytes,
      logger,
      hasLease: (lease) => this.#leases.has(lease),
      feed: this.#feed,
      onFatal: (error) => this.#stop(error),
    });
    this.#compactor = new Compactor(env, this.#committer, clock);
    this.#reader = new RangeReader({ env, turns, clock, revision: () => this.#committer.revision, compactRevision });
    this.#leases.start(this.#committer);
    this.#compactor.resume((error) => logger.error('compaction failed', { error }));
  }

  async get(key: string, options: RangeOptions = {}): Promise<EngineRead> {
    this.#refuseIfClosed();
    const findable = findableKey(key);
    options.signal?.throwIfAborted();
    return this.#reader.get(findable, options);
  }

  isNewest(key: string, revision: Revision): boolean {
    return this.#refusal === undefined && this.#reader.isNewest(key, revision);
  }

  async range(range: KeyRange, options: RangeOptions = {}): Promise<RangeResult> {
    this.#refuseIfClosed();
    return this.#reader.range(findableRange(range), options);
  }

  async count(range: KeyRange): Promise<number> {
    this.#refuseIfClosed();
    return this.#reader.count(findableRange(range));
  }

  async commit(commit: Commit): Promise<CommitResult> {
    this.#refuseIfClosed();
    checkKey(commit.key);
    this.#checkSize(commit);
    return this.#committer.commit(commit);
  }

  watch(range: KeyRange, options: EngineWatchOptions, sink: EngineWatchSink): EngineWatch {
    this.#refuseIfClosed();
    const watch = this.#feed.watch(range, options, sink);
    if (options.progressNotify) this.#armProgress();
    return watch;
  }

  async currentRevision(): Promise<Revision> {
    this.#refuseIfClosed();
    return this.#committer.revision;
  }

  async requestProgress(): Promise<void> {
    this.#refuseIfClosed();
    this.#feed.requestProgress();
  }

  async grantLease(ttlSeconds: number): Promise<number> {
    this.#refuseIfClosed();
    if (!Number.isSafeInteger(ttlSeconds) || ttlSeconds < 1) {
      throw new TypeError(`ttlSeconds of a lease must be a whole number of at least 1, not ${ttlSeconds}`);
    }
    return this.#leases.grant(ttlSeconds);
  }

  async compact(revision: Revision): Promise<void> {
    this.#refuseIfClosed();
    return this.#compactor.compact(revision);
  }

  compactRevision(): Revision {
    return this.#compactor.revision;
  }

  /** Rejects with `Closed` after a failed write, and after {@link close}. */
  async checkHealth(): Promise<void> {
    this.#refuseIfClosed();
  }

  checkReadiness(): Promise<void> {
    return this.checkHealth();
  }

  /** Resolves to the size of the data file in bytes. */
  async storedBytes(): Promise<number> {
    this.#refuseIfClosed();
    return this.#env.fileBytes();
  }

  /**
   * Reads the whole store and compares its tables, while commits wait. The engine knows values only as bytes:
   * `readValue` throws for a value that cannot be decoded. Default: values are not checked.
   */
  async check(readValue?: ReadValue): Promise<CheckReport> {
    this.#refuseIfClosed();
    return this.#committer.exclusive(() => checkStore(this.#env, this.#turns, readValue));
  }

  async stats(): Promise<LmdbEngineStats> {
    this.#refuseIfClosed();
    const { revision, commits, transactions } = this.#committer;
    return {
      revision,
      compactRevision: this.#compactor.revision,
      keys: this.#env.count(this.#env.current),
      versions: this.#env.count(this.#env.log),
      leases: this.#leases.size,
      watches: this.#feed.size,
      usedBytes: this.#env.usedBytes(),
      fileBytes: this.#env.fileBytes(),
      commits,
      transactions,
    };
  }

  /**
   * Copies the store at one revision into a directory that must not hold one yet, while writers continue. Use {@link
   * restoreLmdbBackup} to replace this store with the copy, because a copy that is opened directly would issue revisions
   * again. Rejects with `Full` when there is not enough room: the copy takes a little more than {@link
   * LmdbEngineStats.usedBytes}.
   */
  async backup(targetDir: string): Promise<void> {
    this.#refuseIfClosed();
    ensurePrivateDirectory(targetDir, this.#options.logger);
    const target = join(targetDir, dataFileName);
    if (existsSync(target)) throw new StorageError({ code: 'InvalidObject', message: `${target} exists already` });
    const copied = this.#env.backup(targetDir).catch((error: unknown) => {
      if (!isOutOfSpace(error, targetDir, 0)) throw error;
      const message = `no space left for the backup on the file system of ${targetDir}`;
      throw new StorageError({ code: 'Full', message, cause: error });
    });
    this.#backups = Promise.allSettled([this.#backups, copied]);
    await copied;
  }

  /**
   * Refuses later calls with `Closed`, lets accepted commits, grants and backups finish, ends the watches with
   * `Closed`, and releases the directory. Idempotent.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    this.#refusal ??= new StorageError({ code: 'Closed' });
    this.#cancelProgress?.();
    // A check holds commits back, so it must end first.
    this.#turns.stop(this.#refusal);
    // These parts still write through the committer, so they are closed before it.
    await this.#leases.close();
    await this.#compactor.close();
    await this.#committer.close(this.#refusal);
    this.#feed.end(this.#refusal);
    await this.#backups;
    await this.#env.close();
    await this.#lock.release();
  }

  /** Stops the engine. A failed write is final, because the state on disk is known only after reopening. */
  #stop(error: unknown): void {
    this.#refusal ??= closedBy(error);
    this.#options.logger.error('the store stopped after a failed write; restart the process to open it again', {
      error,
    });
    this.#feed.end(this.#refusal);
    this.#options.onFatal(error);
  }

  #refuseIfClosed(): void {
    if (this.#refusal !== undefined) throw this.#refusal;
  }

  #checkSize({ key, change }: Commit): void {
    if (change.type !== 'put' || change.value.length <= this.#options.maxValueBytes) return;
    const message = `value of ${change.value.length} bytes is larger than ${this.#options.maxValueBytes}`;
    throw new StorageError({ code: 'TooLarge', key, message });
  }

  #armProgress(): void {
    const { clock, progressIntervalMs } = this.#options;
    if (progressIntervalMs === 0 || this.#cancelProgress !== undefined) return;
    this.#cancelProgress = clock.setBackgroundTimer(() => {
      this.#cancelProgress = undefined;
      if (!this.#feed.hasProgressWatchers) return;
      this.#feed.requestProgress();
      this.#armProgress();
    }, progressIntervalMs);
  }
}
