// One LMDB environment and its five tables. The committer and the reader are above it, npm lmdb below.
// docs/decisions/0002-lmdb-layout.md lists the promises of lmdb-js and how we checked them.

import { chmodSync, closeSync, constants, fsyncSync, mkdtempSync, openSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Revision } from '@kapstan/api';
import { messageOf } from '@kapstan/api/internal';
import { StorageError } from '@kapstan/storage';
import type { Database, RootDatabase } from 'lmdb';
import { findFault } from './data-file.ts';
import { isOutOfSpace } from './disk-space.ts';
import { loadLmdb } from './lmdb-binding.ts';
import { reserveRoom } from './reserved-room.ts';
import { decodeNumber, encodeNumber, formatVersion } from './row-codec.ts';

export type Table = Database<Buffer, Buffer>;

const tableOptions = { encoding: 'binary', keyEncoding: 'binary', cache: false } as const;
/** Lets only the owner read the files. lmdb-js passes this to mdb_env_open, though its types do not have it. */
const fileOptions = { permissionsMode: 0o600 } as const;
/** Longest key that LMDB takes with pages of 4 KiB. */
const maxTableKeyBytes = 1_978;
const defaultMapBytes = 2 ** 30;
const formatKey = Buffer.from('format');
/** Revision of an empty store, as in etcd: 0 means "none" everywhere, and a list must have a resource version. */
const firstRevision = 1;

/** Names of the numbers in the meta table. */
export type MetaName = 'revision' | 'compactRevision' | 'compactedThrough' | 'lastLease';

interface Operation {
  readonly table: Table;
  readonly key: Buffer;
  /** Absent = remove the key. */
  readonly value?: Buffer;
}

/**
 * The changes of one transaction. They are collected first, so that nothing can throw once LMDB has begun to take them.
 */
export class WriteSet {
  readonly operations: Operation[] = [];
  /** Bytes of keys and values, without LMDB's overhead. */
  bytes = 0;

  /** Throws for a key that LMDB would refuse, before LMDB has taken half of the changes. */
  put(table: Table, key: Buffer, value: Buffer): void {
    checkKeySize(key);
    this.operations.push({ table, key, value });
    this.bytes += key.length + value.length;
  }

  remove(table: Table, key: Buffer): void {
    checkKeySize(key);
    this.operations.push({ table, key });
    this.bytes += key.length;
  }

  /** Drops the changes after the first `operations`, which have `bytes` bytes. */
  truncate(operations: number, bytes: number): void {
    this.operations.length = operations;
    this.bytes = bytes;
  }
}

function checkKeySize(key: Buffer): void {
  if (key.length > maxTableKeyBytes) throw new TypeError(`a key of ${key.length} bytes does not fit into a table`);
}

export interface EnvironmentOptions {
  readonly dataDir: string;
  /** Address space to map at first, in bytes. LMDB maps more when the file outgrows it. Default 1 GiB. */
  readonly mapSizeBytes?: number;
  /** True: the data file must exist and is not changed. Default false. */
  readonly isReadOnly?: boolean;
  /** See the engine's option. Default 'disk'. */
  readonly durability?: Durability;
}

/** The event that an acknowledged commit survives: 'process' is the end of the process, 'disk' a loss of power too. */
export type Durability = 'disk' | 'process';

export class Environment {
  /** Revision → version. The history from which watches are fed, and the only table that holds values. */
  readonly log: Table;
  /** (key, revision) → put or delete. */
  readonly index: Table;
  /** Key → its newest revision. */
  readonly current: Table;
  /** Lease → deadline, and (lease, key) for each key bound to it. */
  readonly leases: Table;
  readonly #meta: Table;
  readonly #root: RootDatabase<Buffer, Buffer>;
  readonly #durability: Durability;

  constructor(options: EnvironmentOptions) {
    this.#root = openRoot(options);
    this.#durability = options.durability ?? 'disk';
    const [log, index, current, leases, meta] = openTables(this.#root);
    this.log = log;
    this.index = index;
    this.current = current;
    this.leases = leases;
    this.#meta = meta;
  }

  /** Writes the format version of a new environment. Throws `Corrupt` when the environment has another one. */
  async checkFormat(dataDir: string): Promise<void> {
    const found = this.#meta.get(formatKey)?.toString();
    if (found === undefined && this.isEmpty()) {
      const writes = new WriteSet();
      writes.put(this.#meta, formatKey, Buffer.from(String(formatVersion)));
      this.putMeta(writes, 'revision', firstRevision);
      await this.write(writes);
      if (this.#durability === 'disk') syncDirectory(dataDir);
      return;
    }
    if (found === String(formatVersion)) return;
    const has = found === undefined ? 'no format version' : `format ${found}`;
    throw new StorageError({
      code: 'Corrupt',
      message: `data directory ${dataDir} has ${has}; this program reads and writes format ${formatVersion}`,
    });
  }

  /**
   * Returns false also when the tables are missing: lmdb-js opened for reading returns undefined instead of making
   * them.
   */
  holdsStore(): boolean {
    const tables: (Table | undefined)[] = [this.log, this.index, this.current, this.leases, this.#meta];
    return tables.every((table) => table !== undefined) && !this.isEmpty();
  }

  isEmpty(): boolean {
    const tables = [this.log, this.index, this.current, this.leases, this.#meta];
    return tables.every((table) => [...table.getKeys({ limit: 1 })].length === 0);
  }

  /** Returns a number of the meta table in the present snapshot; 0 when it was never written. */
  meta(name: MetaName): number {
    const bytes = this.#meta.get(Buffer.from(name));
    return bytes === undefined ? 0 : decodeNumber(bytes);
  }

  putMeta(writes: WriteSet, name: MetaName, value: number): void {
    writes.put(this.#meta, Buffer.from(name), encodeNumber(value));
  }

  /**
   * Returns the newest revision in the snapshot that reads of this turn see. It is durable, but perhaps not yet
   * announced.
   */
  snapshotRevision(): Revision {
    return this.meta('revision') as Revision;
  }

  /**
   * Returns whether the environment is unchanged at this revision and usable after a failed write. If a transaction's
   * header was not written, the state on disk is unknown, and LMDB begins no more transactions (MDB_PANIC).
   */
  stillHolds(revision: Revision): boolean {
    this.#root.resetReadTxn();
    try {
      return this.snapshotRevision() === revision;
    } catch {
      return false;
    }
  }

  /**
   * Runs all changes in one transaction on LMDB's write thread. Resolves when they are on disk; rejects with the cause
   * when the transaction was abandoned. Reads in the turn in which it resolves see the changes.
   */
  async write(writes: WriteSet): Promise<void> {
    try {
      await this.#root.batch(() => {
        for (const { table, key, value } of writes.operations) void (value ? table.put(key, value) : table.remove(key));
      });
    } catch (error) {
      throw await causeOf(error);
    }
    this.#root.resetReadTxn();
  }

  /**
   * Returns the bytes of pages that hold data. Free pages in the file do not count, so deleting and compacting lower
   * it.
   */
  usedBytes(): number {
    const tables = [this.log, this.index, this.current, this.leases, this.#meta];
    const pages = tables.map((table) => {
      const stats = table.getStats() as TableStats;
      return stats.treeBranchPageCount + stats.treeLeafPageCount + stats.overflowPages;
    });
    return pages.reduce((sum, count) => sum + count, 0) * (this.log.getStats() as TableStats).pageSize;
  }

  /** Returns the number of entries without reading them. */
  count(table: Table): number {
    return (table.getStats() as TableStats).entryCount;
  }

  /** Returns the size of the data file: used and free pages. */
  fileBytes(): number {
    const stats = this.log.getStats() as TableStats;
    return (stats.lastPageNumber + 1) * stats.pageSize;
  }

  /**
   * Writes a consistent copy into an existing directory, on another thread, while writers continue. Free pages are left
   * out. The copy gets its name once it is complete and on disk; a failed one leaves nothing.
   */
  async backup(targetDir: string): Promise<void> {
    const workDir = mkdtempSync(join(targetDir, 'backup-'));
    try {
      await this.#root.backup(workDir, true);
      const copy = join(workDir, dataFileName);
      // LMDB creates the copy with the mode that the umask leaves.
      chmodSync(copy, 0o600);
      sync(copy);
      renameSync(copy, join(targetDir, dataFileName));
    } finally {
      rmSync(workDir, { recursive: true });
    }
    syncDirectory(targetDir);
  }

  close(): Promise<void> {
    return this.#root.close();
  }
}

/** Writes a directory's names to disk: a new file can vanish in a power loss although its content was synced. */
export function syncDirectory(directory: string): void {
  if (process.platform !== 'win32') sync(directory);
}

function sync(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** The result of lmdb's getStats, which its own types leave empty. */
interface TableStats {
  readonly pageSize: number;
  readonly entryCount: number;
  readonly treeBranchPageCount: number;
  readonly treeLeafPageCount: number;
  readonly overflowPages: number;
  readonly lastPageNumber: number;
}

/** The file of the store in its directory. */
export const dataFileName = 'data.mdb';

type Tables = [log: Table, index: Table, current: Table, leases: Table, meta: Table];

/**
 * Opens each table in a separate transaction. If one transaction makes several, a later write that the disk refuses
 * corrupts the heap of the process (test/reliability/refused-page.test.ts).
 */
function openTables(root: RootDatabase<Buffer, Buffer>): Tables {
  const names = ['log', 'index', 'current', 'leases', 'meta'];
  return names.map((name) => root.openDB<Buffer, Buffer>(name, tableOptions)) as Tables;
}

function openRoot(options: EnvironmentOptions): RootDatabase<Buffer, Buffer> {
  const { isReadOnly = false, durability = 'disk' } = options;
  const { open } = loadLmdb();
  const access = isReadOnly ? constants.R_OK : constants.R_OK | constants.W_OK;
  const fault = findFault(join(options.dataDir, dataFileName), access);
  if (fault !== undefined) throw cannotOpen(options.dataDir, fault);
  try {
    reserveRoom(options.dataDir, { dataFile: dataFileName, isFlushed: durability === 'disk' });
    return open<Buffer, Buffer>(options.dataDir, {
      ...tableOptions,
      ...fileOptions,
      noSubdir: false,
      readOnly: isReadOnly,
      maxDbs: 8,
      mapSize: options.mapSizeBytes ?? defaultMapBytes,
      // Overlapping sync would show a commit before it is on disk (I10).
      overlappingSync: false,
      noSync: durability === 'process',
      eventTurnBatching: false,
      compression: false,
    });
  } catch (error) {
    throw cannotOpen(options.dataDir, messageOf(error), error);
  }
}

function cannotOpen(dataDir: string, reason: string, cause?: unknown): StorageError {
  const code = isOutOfSpace(cause, dataDir, 0) ? 'Full' : 'Corrupt';
  return new StorageError({ code, message: `cannot open the store in ${dataDir}: ${reason}`, cause });
}

/**
 * Returns the real cause. lmdb-js rejects with a general error whose `commitError` is a promise that rejects with it.
 */
async function causeOf(error: unknown): Promise<unknown> {
  const { commitError } = error as { commitError?: Promise<never> };
  return commitError === undefined ? error : commitError.then(() => error).catch((cause: unknown) => cause);
}
