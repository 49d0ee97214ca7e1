// Makes a data directory from a backup so that no revision that clients saw after the backup is issued again (I11). The
// command line uses it on a stopped store; it opens the environment itself, as lmdb-engine.ts does.
import { copyFileSync, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Revision, silentLogger } from '@kapstan/api';
import { StorageError } from '@kapstan/storage';
import { DataDirLock } from './data-dir-lock.ts';
import { dataFileName, Environment, syncDirectory, WriteSet } from './environment.ts';
import { endNewStore } from './new-store.ts';
import { ensurePrivateDirectory, makePrivate } from './private-directory.ts';

/** Options of a restore. */
export interface RestoreOptions {
  /** A backup made by {@link LmdbEngine.backup}. It is not changed. */
  readonly backupDir: string;
  /** Directory for the restored store, created if needed. It must not hold a store. */
  readonly dataDir: string;
  /**
   * Number added to the last revision, at least 0. It must exceed the number of writes since the backup. History up to
   * the new revision counts as compacted, so every client lists again. Default 1 000 000 000, as etcd's documents
   * advise. Use 0 only for a copy that replaces nothing.
   */
  readonly revisionBump?: number;
}

const defaultBump = 1_000_000_000;
const workDirName = 'restore.tmp';

/** Restores the backup. Resolves to the revision at which the restored store begins. */
export async function restoreLmdbBackup(options: RestoreOptions): Promise<Revision> {
  const { revisionBump = defaultBump } = options;
  if (!Number.isSafeInteger(revisionBump) || revisionBump < 0) {
    throw new TypeError(`revisionBump must be a whole number of at least 0, not ${revisionBump}`);
  }
  const source = join(resolve(options.backupDir), dataFileName);
  if (!existsSync(source)) throw refusal(`there is no backup in ${options.backupDir}`);
  const dataDir = resolve(options.dataDir);
  ensurePrivateDirectory(dataDir, silentLogger);
  const lock = await DataDirLock.acquire(dataDir);
  try {
    if (existsSync(join(dataDir, dataFileName))) throw refusal(`${dataDir} holds a store already`);
    return await restore(source, dataDir, revisionBump);
  } finally {
    await lock.release();
  }
}

/** Works in a directory inside the target, so that neither a crash nor a refusal leaves a store that looks complete. */
async function restore(source: string, dataDir: string, revisionBump: number): Promise<Revision> {
  const workDir = join(dataDir, workDirName);
  rmSync(workDir, { recursive: true, force: true });
  mkdirSync(workDir, { mode: 0o700 });
  try {
    copyFileSync(source, join(workDir, dataFileName));
    makePrivate(join(workDir, dataFileName));
    const revision = await bumpRevision(workDir, revisionBump, source);
    // The mark of an interrupted first start would cause the restored store to be removed.
    endNewStore(dataDir);
    renameSync(join(workDir, dataFileName), join(dataDir, dataFileName));
    syncDirectory(dataDir);
    return revision;
  } finally {
    rmSync(workDir, { recursive: true });
  }
}

async function bumpRevision(workDir: string, revisionBump: number, source: string): Promise<Revision> {
  const env = new Environment({ dataDir: workDir });
  try {
    // LMDB takes an empty file for a new store.
    if (env.isEmpty()) throw refusal(`there is no store in the backup ${source}`);
    await env.checkFormat(workDir);
    const revision = env.snapshotRevision() + revisionBump;
    const writes = new WriteSet();
    env.putMeta(writes, 'revision', revision);
    if (revisionBump > 0) env.putMeta(writes, 'compactRevision', revision);
    await env.write(writes);
    return revision as Revision;
  } finally {
    await env.close();
  }
}

function refusal(message: string): StorageError {
  return new StorageError({ code: 'InvalidObject', message });
}
