// Drops history below a revision: first the promise on disk that nobody reads it any more, then the rows, in batches
// small enough that writers hardly wait. Writes through committer.ts; started by lmdb-engine.ts.
import type { Revision } from '@kapstan/api';
import { isStorageError, StorageError } from '@kapstan/storage';
import type { Committer } from './committer.ts';
import type { Environment, WriteSet } from './environment.ts';
import { decodeNumber, decodeVersion, encodeIndexKey, encodeNumber, type VersionRow } from './row-codec.ts';

const rowsAtOnce = 500;

export class Compactor {
  readonly #env: Environment;
  readonly #committer: Committer;
  #revision: Revision;
  #running: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(env: Environment, committer: Committer) {
    this.#env = env;
    this.#committer = committer;
    this.#revision = env.meta('compactRevision') as Revision;
  }

  /** Reads and watches below this fail. Only grows. */
  get revision(): Revision {
    return this.#revision;
  }

  /** Finishes what a former process began. */
  resume(onError: (error: unknown) => void): void {
    this.#running = this.#sweep().catch((error: unknown) => {
      if (!isStorageError(error, 'Closed')) onError(error);
    });
  }

  /** Resolves when the rows are gone. Rejects with `Compacted` when that revision is compacted already, as etcd does. */
  async compact(revision: Revision): Promise<void> {
    const current = this.#committer.revision;
    if (revision > current) throw new StorageError({ code: 'FutureRevision', revision: current });
    if (revision <= this.#revision) throw new StorageError({ code: 'Compacted', revision: this.#revision });
    await this.#committer.write((batch) => this.#env.putMeta(batch.writes, 'compactRevision', this.#promise(revision)));
    if (revision > this.#revision) this.#revision = revision;
    const swept = this.#running.then(() => this.#sweep());
    this.#running = swept.catch(() => undefined);
    await swept;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#running;
  }

  /** Two compactions at once: the stored revision must not fall back to the lower one. */
  #promise(revision: Revision): number {
    return Math.max(revision, this.#env.meta('compactRevision'));
  }

  /** Drops rows up to the compact revision, going on where the last sweep stopped, also after a crash. */
  async #sweep(): Promise<void> {
    const end = this.#revision;
    let from = this.#env.meta('compactedThrough');
    while (from < end && !this.#isClosed) {
      const through = this.#nextStop(from, end);
      await this.#committer.write((batch) => this.#drop(batch.writes, from, through));
      from = through;
    }
  }

  /** Last revision of the next batch. */
  #nextStop(from: number, end: Revision): number {
    const bounds = { start: encodeNumber(from + 1), end: encodeNumber(end + 1), offset: rowsAtOnce - 1, limit: 1 };
    for (const key of this.#env.log.getKeys(bounds)) return decodeNumber(key);
    return end;
  }

  /**
   * A row in (from, through] makes the version before it unreachable, and itself when it is a delete: what stays is, for
   * each live key, its newest version at or below the compact revision.
   */
  #drop(writes: WriteSet, from: number, through: number): void {
    const bounds = { start: encodeNumber(from + 1), end: encodeNumber(through + 1) };
    for (const { key, value } of this.#env.log.getRange(bounds)) {
      const row = decodeVersion(value, decodeNumber(key) as Revision);
      if (row.previousRevision !== 0) this.#remove(writes, row, row.previousRevision);
      if (row.type === 'delete') this.#remove(writes, row, row.revision);
    }
    this.#env.putMeta(writes, 'compactedThrough', through);
  }

  #remove(writes: WriteSet, row: VersionRow, revision: Revision): void {
    writes.remove(this.#env.log, encodeNumber(revision));
    writes.remove(this.#env.index, encodeIndexKey(row.key, revision));
  }
}
