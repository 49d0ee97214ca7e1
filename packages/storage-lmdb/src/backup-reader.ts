// Reads a backup in place: neither the copy nor its directory is changed. See also store-restore.ts.
import { mkdtempSync, realpathSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Revision } from '@kapstan/api';
import { StorageError } from '@kapstan/storage';
import { type CheckReport, checkStore, type ReadValue } from './check.ts';
import { dataFileName, Environment } from './environment.ts';
import { TurnQueue } from './turn-queue.ts';

/** Contents of a backup. */
export interface LmdbBackupStats {
  /** Revision at which the copy was made. */
  readonly revision: Revision;
  readonly compactRevision: Revision;
  readonly keys: number;
  /** Versions in the event log. */
  readonly versions: number;
  readonly fileBytes: number;
}

/** A backup of an embedded store. */
export interface LmdbBackup extends AsyncDisposable {
  stats(): LmdbBackupStats;
  /** Runs the same check as the engine. */
  check(readValue?: ReadValue): Promise<CheckReport>;
  close(): Promise<void>;
}

/**
 * Opens a backup of {@link LmdbEngine.backup} for reading; several processes may do so at once. Rejects with
 * `InvalidObject` when there is none, `Corrupt` when it is damaged or of an unknown format. Close it afterwards.
 */
export async function openLmdbBackup(backupDir: string): Promise<LmdbBackup> {
  const file = join(resolve(backupDir), dataFileName);
  if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) === 0) {
    throw new StorageError({ code: 'InvalidObject', message: `there is no backup in ${backupDir}` });
  }
  // LMDB creates a lock file next to the data, and the backup's directory may be full or read-only.
  const workDir = mkdtempSync(join(tmpdir(), 'kapstan-backup-'));
  const remove = (): void => rmSync(workDir, { recursive: true, force: true });
  try {
    symlinkSync(realpathSync(file), join(workDir, dataFileName));
    const env = new Environment({ dataDir: workDir, isReadOnly: true });
    await refusingOthers(env, backupDir);
    return new OpenBackup(env, remove);
  } catch (error) {
    remove();
    throw error;
  }
}

/** Closes the environment and throws when it does not hold a store of this package. */
async function refusingOthers(env: Environment, backupDir: string): Promise<void> {
  try {
    const message = `there is no store in the backup ${backupDir}`;
    if (!env.holdsStore()) throw new StorageError({ code: 'InvalidObject', message });
    await env.checkFormat(backupDir);
  } catch (error) {
    await env.close();
    throw error;
  }
}

class OpenBackup implements LmdbBackup {
  readonly #env: Environment;
  readonly #remove: () => void;
  readonly #turns = new TurnQueue();

  constructor(env: Environment, remove: () => void) {
    this.#env = env;
    this.#remove = remove;
  }

  stats(): LmdbBackupStats {
    const env = this.#env;
    return {
      revision: env.snapshotRevision(),
      compactRevision: env.meta('compactRevision') as Revision,
      keys: env.count(env.current),
      versions: env.count(env.log),
      fileBytes: env.fileBytes(),
    };
  }

  check(readValue?: ReadValue): Promise<CheckReport> {
    return checkStore(this.#env, this.#turns, readValue);
  }

  async close(): Promise<void> {
    await this.#env.close();
    this.#remove();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
