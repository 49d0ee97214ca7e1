// Drops history below a revision. It first records on disk that nobody will read that history, then drops the rows in
// batches so small that writers hardly wait. Writes through committer.ts; started by lmdb-engine.ts.
import type { Clock, Revision } from '@kapstan/api';
import { sliceMs } from '@kapstan/api/internal';
import { isStorageError, StorageError } from '@kapstan/storage';
import type { Committer } from './committer.ts';
import type { Environment, WriteSet } from './environment.ts';
import { decodeNumber, decodeVersion, encodeIndexKey, encodeNumber, type VersionRow } from './row-codec.ts';

// Limits of a batch, which is read in one turn: a row of 1 MiB costs about 0.2 ms, one of 1 kB about 5 µs.
const rowsAtOnce = 500;
const bytesAtOnce = 4 * 1024 * 1024;

export class Compactor {
  readonly #env: Environment;
  readonly #committer: Committer;
  readonly #clock: Clock;
  #revision: Revision;
  /** The highest compact revision that is on disk or being written. */
  #promised: number;
  #running: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(env: Environment, committer: Committer, clock: Clock) {
    this.#env = env;
    this.#committer = committer;
    this.#clock = clock;
    this.#revision = env.meta('compactRevision') as Revision;
    this.#promised = this.#revision;
  }

  /** Reads and watches below this revision fail. It only grows. */
  get revision(): Revision {
    return this.#revision;
  }

  /** Finishes a compaction that a former process began. */
  resume(onError: (error: unknown) => void): void {
    this.#running = this.#sweep().catch((error: unknown) => {
      if (!isStorageError(error, 'Closed')) onError(error);
    });
  }

  /**
   * Resolves when the rows are gone. Rejects with `Compacted` when that revision is already compacted, as etcd does.
   */
  async compact(revision: Revision): Promise<void> {
    const current = this.#committer.revision;
    if (revision > current) throw new StorageError({ code: 'FutureRevision', revision: current });
    if (revision <= this.#revision) throw new StorageError({ code: 'Compacted', revision: this.#revision });
    this.#promised = Math.max(this.#promised, revision);
    await this.#committer.write((batch) => this.#env.putMeta(batch.writes, 'compactRevision', this.#promised));
    if (revision > this.#revision) this.#revision = revision;
    const swept = this.#running.then(() => this.#sweep());
    this.#running = swept.catch(() => undefined);
    await swept;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#running;
  }

  /** Drops rows up to the compact revision. Continues where the last sweep stopped, even after a crash. */
  async #sweep(): Promise<void> {
    const end = this.#revision;
    let from = this.#env.meta('compactedThrough');
    while (from < end && !this.#isClosed) {
      let through = from;
      await this.#committer.write((batch) => {
        through = this.#drop(batch.writes, from, end);
      });
      from = through;
    }
  }

  /**
   * Drops the rows that the rows in (from, end] replace: the version before each, and a delete itself. The newest
   * version of each live key at or below the compact revision stays. Returns how far this batch got.
   */
  #drop(writes: WriteSet, from: number, end: Revision): number {
    let through: number = end;
    let [rows, bytes] = [0, 0];
    const startedMs = this.#clock.monotonicNow();
    for (const { key, value } of this.#env.log.getRange({
      start: encodeNumber(from + 1),
      end: encodeNumber(end + 1),
    })) {
      const revision = decodeNumber(key) as Revision;
      const row = decodeVersion(value, revision);
      if (row.previousRevision !== 0) this.#remove(writes, row, row.previousRevision);
      if (row.type === 'delete') this.#remove(writes, row, revision);
      rows += 1;
      bytes += value.length;
      const isFull = rows >= rowsAtOnce || bytes >= bytesAtOnce;
      if (isFull || this.#clock.monotonicNow() - startedMs >= sliceMs) {
        through = revision;
        break;
      }
    }
    this.#env.putMeta(writes, 'compactedThrough', through);
    return through;
  }

  #remove(writes: WriteSet, row: VersionRow, revision: Revision): void {
    writes.remove(this.#env.log, encodeNumber(revision));
    writes.remove(this.#env.index, encodeIndexKey(row.key, revision));
  }
}
