// Group commit: commits that arrive while one transaction is being written share the next one. lmdb-engine.ts is above
// it, environment.ts below; watch-feed.ts receives the events that became durable.
import type { Logger, Revision } from '@kapstan/api';
import { messageOf, onNextTurn } from '@kapstan/api/internal';
import { type Commit, type CommitResult, type EngineEvent, StorageError } from '@kapstan/storage';
import { Batch, type BatchContext, type BatchJob } from './commit-batch.ts';
import { type CommitHost, CommitJob } from './commit-job.ts';
import { freeBytes, isOutOfSpace } from './disk-space.ts';
import type { Environment } from './environment.ts';

/** The receiver of durable events. */
export interface DurableSink {
  /** Called in the turn in which the revisions became durable, before their commits resolve. */
  deliver(events: readonly EngineEvent[], revision: Revision): void;
}

export interface CommitterOptions extends BatchContext {
  readonly env: Environment;
  readonly dataDir: string;
  /** Largest amount of live data, in bytes. Puts beyond it are refused as `Full`. */
  readonly quotaBytes: number;
  /** Default: nothing is logged. */
  readonly logger?: Logger;
  readonly feed: DurableSink;
  /** Called once, when a transaction has failed and nothing can be written any more. */
  readonly onFatal: (error: unknown) => void;
}

interface ExclusiveWork {
  /** Never rejects. */
  readonly run: () => Promise<void>;
  readonly reject: (error: unknown) => void;
}

const maxBatchJobs = 1_000;
const maxBatchBytes = 8 * 1024 * 1024;
/**
 * Pages that LMDB copies above the rows, as a factor on the bytes written. A generous guess: it only decides when to
 * measure.
 */
const treeOverhead = 4;

export class Committer implements CommitHost {
  readonly #options: CommitterOptions;
  readonly #queue: BatchJob[] = [];
  readonly #exclusive: ExclusiveWork[] = [];
  #revision: Revision;
  /** True while a transaction or exclusive work is under way. */
  #isRunning = false;
  /** True when the last transaction found no room on the disk. */
  #isOutOfRoom = false;
  /** True when exclusive work ran last. */
  #wasExclusive = false;
  /** The error of every call after the committer was closed or a transaction failed. */
  #refusal: StorageError | undefined;
  #usedBytes: number;
  readonly #idle: (() => void)[] = [];
  /** Counts for stats and benchmarks. */
  commits = 0;
  transactions = 0;

  constructor(options: CommitterOptions) {
    this.#options = options;
    this.#revision = options.env.snapshotRevision();
    this.#usedBytes = options.env.usedBytes();
  }

  /** The last revision that is durable and announced. No reader sees a newer one. */
  get revision(): Revision {
    return this.#revision;
  }

  commit(commit: Commit): Promise<CommitResult> {
    return new Promise((resolve, reject) => this.#enqueue(new CommitJob(commit, this, { resolve, reject })));
  }

  /** Adds the engine's own changes (leases, compaction) to the next transaction. Resolves when they are durable. */
  write(fill: (batch: Batch) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#enqueue({ apply: fill, done: resolve, reject });
    });
  }

  /** Runs `work` while no transaction is under way. Commits that arrive meanwhile wait. */
  exclusive<T>(work: () => Promise<T>): Promise<T> {
    if (this.#refusal !== undefined) return Promise.reject(this.#refusal);
    return new Promise((resolve, reject) => {
      this.#exclusive.push({ run: () => work().then(resolve, reject), reject });
      this.#next();
    });
  }

  /** Refuses later calls with the error. Resolves when everything accepted before is done. */
  async close(refusal: StorageError): Promise<void> {
    this.#refusal ??= refusal;
    await this.drain();
  }

  /** Resolves when nothing is queued or under way. */
  async drain(): Promise<void> {
    if (this.#isRunning) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  #enqueue(job: BatchJob): void {
    if (this.#refusal !== undefined) return job.reject(this.#refusal);
    this.#queue.push(job);
    this.#next();
  }

  async #run(): Promise<void> {
    const { batch, jobs } = this.#fill();
    try {
      if (batch.writes.operations.length > 0) {
        this.transactions += 1;
        await this.#options.env.write(batch.writes);
      }
    } catch (error) {
      const { env, dataDir } = this.#options;
      const mayGoOn = isOutOfSpace(error, dataDir, batch.writes.bytes) && env.stillHolds(this.#revision);
      return mayGoOn ? this.#refuseForSpace(error, jobs) : this.#fail(error, jobs);
    }
    if (batch.writes.operations.length > 0) this.#noteRoom();
    this.#usedBytes += batch.writes.bytes * treeOverhead;
    this.#revision = batch.revision;
    if (batch.events.length > 0) this.#options.feed.deliver(batch.events, batch.revision);
    for (const job of jobs) job.done();
    this.#goOn();
  }

  // Atomic: compares see the effects of the batch's earlier commits, and no other writer exists.
  #fill(): { batch: Batch; jobs: BatchJob[] } {
    const batch = new Batch(this.#options.env, this.#options, this.#revision);
    const jobs: BatchJob[] = [];
    while (jobs.length < maxBatchJobs && batch.writes.bytes < maxBatchBytes) {
      const job = this.#queue.shift();
      if (job === undefined) break;
      try {
        batch.attempt(job);
        jobs.push(job);
      } catch (error) {
        job.reject(error);
      }
    }
    batch.finish();
    return { batch, jobs };
  }

  /**
   * Starts the next work. If both kinds wait, transactions and exclusive work alternate, so neither starves the other.
   */
  #next(): void {
    if (this.#isRunning) return;
    const hasCommits = this.#queue.length > 0;
    const work = hasCommits && this.#wasExclusive ? undefined : this.#exclusive.shift();
    this.#wasExclusive = work !== undefined;
    if (work === undefined && !hasCommits) return this.#rest();
    this.#isRunning = true;
    // Start one turn later, so that all commits of this turn share the transaction.
    if (work === undefined) onNextTurn(() => void this.#run());
    else void work.run().then(() => this.#goOn());
  }

  #goOn(): void {
    this.#isRunning = false;
    this.#next();
  }

  #rest(): void {
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  /** Returns whether a put would exceed the quota. Measures the store only when an estimate says so. */
  isFull(batch: Batch): boolean {
    const { quotaBytes, env } = this.#options;
    const estimate = (): number => this.#usedBytes + batch.writes.bytes * treeOverhead;
    if (estimate() < quotaBytes) return false;
    this.#usedBytes = env.usedBytes();
    return estimate() >= quotaBytes;
  }

  /**
   * Handles a transaction that LMDB gave up before its header: none of it was written, and the next one may find room.
   */
  #refuseForSpace(cause: unknown, inFlight: readonly BatchJob[]): void {
    const message = 'no space left on the file system of the data directory';
    for (const job of inFlight) job.reject(new StorageError({ code: 'Full', message, cause }));
    if (!this.#isOutOfRoom) {
      const { dataDir: directory, logger } = this.#options;
      const fields = { directory, freeBytes: freeBytes(directory) };
      logger?.error('the disk is full; writes are refused until there is room, reads continue', fields);
    }
    this.#isOutOfRoom = true;
    this.#goOn();
  }

  #noteRoom(): void {
    if (!this.#isOutOfRoom) return;
    this.#isOutOfRoom = false;
    this.#options.logger?.info('the disk has room again; writes are accepted', { directory: this.#options.dataDir });
  }

  #fail(error: unknown, inFlight: readonly BatchJob[]): void {
    this.#refusal = closedBy(error);
    for (const job of inFlight)
      job.reject(
        new StorageError({
          code: 'Unreachable',
          maybeApplied: true,
          message: 'the store failed to write',
          cause: error,
        }),
      );
    for (const waiting of [...this.#queue.splice(0), ...this.#exclusive.splice(0)]) waiting.reject(this.#refusal);
    this.#goOn();
    this.#options.onFatal(error);
  }
}

/** Returns the error of every call after a failed transaction. */
export function closedBy(cause: unknown): StorageError {
  const reason = messageOf(cause);
  return new StorageError({ code: 'Closed', message: `the store stopped after a failed write: ${reason}`, cause });
}
