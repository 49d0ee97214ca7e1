// Group commit: everything asked for while one transaction is on its way to disk goes into the next one.
// Above it lmdb-engine.ts; below it environment.ts. Tells watch-feed.ts what became durable.
import type { Logger, Revision } from '@kapstan/api';
import { type Commit, type CommitResult, type EngineEvent, StorageError } from '@kapstan/storage';
import { Batch, type BatchContext } from './commit-batch.ts';
import { freeBytes, isOutOfSpace } from './disk-space.ts';
import type { Environment } from './environment.ts';

export interface CommitterOptions extends BatchContext {
  readonly env: Environment;
  readonly dataDir: string;
  /** Largest amount of live data, in bytes. Puts beyond it are refused as `Full`. */
  readonly quotaBytes: number;
  /** Default: says nothing. */
  readonly logger?: Logger;
  /** Called in the turn in which revisions became durable, before their commits resolve. */
  readonly onDurable: (events: readonly EngineEvent[], revision: Revision) => void;
  /** Called once, when a transaction failed: nothing can be written any more. */
  readonly onFatal: (error: unknown) => void;
}

/** One thing to do in the next transaction. `apply` runs synchronously; what it returns runs when it is durable. */
interface Job {
  readonly apply: (batch: Batch) => () => void;
  readonly reject: (error: unknown) => void;
}

interface ExclusiveWork {
  /** Never rejects. */
  readonly run: () => Promise<void>;
  readonly reject: (error: unknown) => void;
}

const maxBatchJobs = 1_000;
const maxBatchBytes = 8 * 1024 * 1024;
/** Pages touched for the trees above the rows, as a factor on the bytes written. Generous: it only triggers a look. */
const treeOverhead = 4;

export class Committer {
  readonly #options: CommitterOptions;
  readonly #queue: Job[] = [];
  readonly #exclusive: ExclusiveWork[] = [];
  #revision: Revision;
  /** A transaction is on its way, or exclusive work. */
  #isRunning = false;
  /** The last transaction found no room on the disk. */
  #isOutOfRoom = false;
  /** What ran last. */
  #wasExclusive = false;
  /** What every call gets once the committer is closed, or a transaction failed. */
  #refusal: StorageError | undefined;
  #usedBytes: number;
  readonly #idle: (() => void)[] = [];
  /** Numbers for stats and benchmarks. */
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
    return new Promise((resolve, reject) => {
      const isPut = commit.change.type === 'put';
      this.#enqueue((batch) => {
        commit.signal?.throwIfAborted();
        if (isPut && this.#isFull(batch)) throw new StorageError({ code: 'Full', key: commit.key });
        const result = batch.commit(commit);
        if (result.succeeded) this.commits += 1;
        return () => resolve(result);
      }, reject);
    });
  }

  /** Puts changes of the engine's own (leases, compaction) into the next transaction. Resolves when they are durable. */
  write(fill: (batch: Batch) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#enqueue((batch) => {
        fill(batch);
        return resolve;
      }, reject);
    });
  }

  /** Runs `work` while no transaction is on its way; those asked for meanwhile wait. */
  exclusive<T>(work: () => Promise<T>): Promise<T> {
    if (this.#refusal !== undefined) return Promise.reject(this.#refusal);
    return new Promise((resolve, reject) => {
      this.#exclusive.push({ run: () => work().then(resolve, reject), reject });
      this.#next();
    });
  }

  /** Refuses what is asked for from now on with the error; resolves when all that was accepted before is done. */
  async close(refusal: StorageError): Promise<void> {
    this.#refusal ??= refusal;
    await this.drain();
  }

  /** Resolves when nothing is queued or on its way. */
  async drain(): Promise<void> {
    if (this.#isRunning) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  #enqueue(apply: Job['apply'], reject: Job['reject']): void {
    if (this.#refusal !== undefined) return reject(this.#refusal);
    this.#queue.push({ apply, reject });
    this.#next();
  }

  async #run(): Promise<void> {
    const { batch, done, jobs } = this.#fill();
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
    if (batch.events.length > 0) this.#options.onDurable(batch.events, batch.revision);
    for (const resolve of done) resolve();
    this.#goOn();
  }

  // Atomic: compares see the effects of the earlier commits of the batch, and no other writer exists.
  #fill(): { batch: Batch; done: (() => void)[]; jobs: Job[] } {
    const batch = new Batch(this.#options.env, this.#options, this.#revision);
    const done: (() => void)[] = [];
    const jobs: Job[] = [];
    while (jobs.length < maxBatchJobs && batch.writes.bytes < maxBatchBytes) {
      const job = this.#queue.shift();
      if (job === undefined) break;
      try {
        done.push(batch.attempt(() => job.apply(batch)));
        jobs.push(job);
      } catch (error) {
        job.reject(error);
      }
    }
    batch.finish();
    return { batch, done, jobs };
  }

  /** Transactions and exclusive work take turns where both wait, so neither starves the other. */
  #next(): void {
    if (this.#isRunning) return;
    const hasCommits = this.#queue.length > 0;
    const work = hasCommits && this.#wasExclusive ? undefined : this.#exclusive.shift();
    this.#wasExclusive = work !== undefined;
    if (work === undefined && !hasCommits) return this.#rest();
    this.#isRunning = true;
    // A turn later, so that all commits asked for in this turn share the transaction.
    if (work === undefined) setImmediate(() => void this.#run());
    else void work.run().then(() => this.#goOn());
  }

  #goOn(): void {
    this.#isRunning = false;
    this.#next();
  }

  #rest(): void {
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  #isFull(batch: Batch): boolean {
    const { quotaBytes, env } = this.#options;
    const estimate = (): number => this.#usedBytes + batch.writes.bytes * treeOverhead;
    if (estimate() < quotaBytes) return false;
    this.#usedBytes = env.usedBytes();
    return estimate() >= quotaBytes;
  }

  /** The transaction was given up before its header: nothing of it is there, and the next one may find room. */
  #refuseForSpace(cause: unknown, inFlight: readonly Job[]): void {
    const message = 'no space left on the file system of the data directory';
    for (const job of inFlight) job.reject(new StorageError({ code: 'Full', message, cause }));
    if (!this.#isOutOfRoom) {
      const { dataDir: directory, logger } = this.#options;
      const fields = { directory, freeBytes: freeBytes(directory) };
      logger?.error('The disk is full: writes are refused, reads go on', fields);
    }
    this.#isOutOfRoom = true;
    this.#goOn();
  }

  #noteRoom(): void {
    if (!this.#isOutOfRoom) return;
    this.#isOutOfRoom = false;
    this.#options.logger?.info('There is room on the disk again', { directory: this.#options.dataDir });
  }

  #fail(error: unknown, inFlight: readonly Job[]): void {
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

/** What every call gets after a failed transaction. */
export function closedBy(cause: unknown): StorageError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new StorageError({ code: 'Closed', message: `the store stopped after a failed write: ${reason}`, cause });
}
