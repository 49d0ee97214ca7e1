// Pages below /debug/kapstan/store: stats, compaction and backup of a running server's store. `kapstan store … --kubeconfig`
// calls them; the built-in rule admits only system:masters.
import { mkdtemp, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type { Revision } from '@kapstan/api';
import { insufficientStorage, notImplemented } from '@kapstan/api/errors';
import type { Page, PageAnswer } from '@kapstan/apiserver';
import { type Engine, isStorageError } from '@kapstan/storage';
import { dataFileName, LmdbEngine } from '@kapstan/storage-lmdb';
import type { StoreEngines } from './store-engines.ts';

export interface StorePagesOptions {
  readonly engines: StoreEngines;
  /** Directory in which a backup is made before it is sent; the backup is removed afterwards. */
  readonly workDir: string;
  /** Called after the compaction of each store. */
  readonly forgetBefore: (engine: Engine, revision: Revision) => void;
}

export const storePagesRoot = '/debug/kapstan/store';

export function storePages(options: StorePagesOptions): Page[] {
  return [
    {
      path: `${storePagesRoot}/stats`,
      method: 'GET',
      respond: async () => jsonAnswer(await statsOfAll(options.engines)),
    },
    { path: `${storePagesRoot}/compact`, method: 'POST', respond: async () => jsonAnswer(await compact(options)) },
    {
      path: `${storePagesRoot}/backup`,
      method: 'GET',
      respond: async ({ signal }) => ({
        contentType: 'application/octet-stream',
        body: await backup(embedded(options.engines.main), options, signal),
      }),
    },
  ];
}

/** Returns the stats of the main store; `overrides` holds those of the other stores, if there are any. */
async function statsOfAll({ all: [main, ...others] }: StoreEngines): Promise<unknown> {
  const stats = await Promise.all([main, ...others].map((engine) => statsOf(engine as Engine)));
  const [first, ...overrides] = stats;
  return overrides.length === 0 ? first : { ...(first as object), overrides };
}

/** Returns the numbers of a store. */
export async function statsOf(engine: Engine): Promise<object> {
  if (engine instanceof LmdbEngine) return engine.stats();
  const [revision, fileBytes] = await Promise.all([engine.currentRevision(), engine.storedBytes()]);
  return { revision, compactRevision: engine.compactRevision(), fileBytes };
}

/** Compacts all stores to their current revisions; returns the revision of the main one. */
async function compact({ engines, forgetBefore }: StorePagesOptions): Promise<{ readonly revision: Revision }> {
  const compacted = engines.all.map(async (engine) => {
    const revision = await compactOne(engine);
    forgetBefore(engine, revision);
    return { revision };
  });
  const [main] = await Promise.all(compacted);
  return main as { readonly revision: Revision };
}

/** Succeeds also when the store is compacted to this revision already. */
async function compactOne(engine: Engine): Promise<Revision> {
  const revision = await engine.currentRevision();
  try {
    await engine.compact(revision);
  } catch (error) {
    if (!isStorageError(error, 'Compacted')) throw error;
  }
  return revision;
}

function embedded(engine: Engine): LmdbEngine {
  if (engine instanceof LmdbEngine) return engine;
  throw notImplemented(
    'only the embedded store can be backed up through this server; for etcd there is etcdctl snapshot save',
  );
}

/**
 * Makes the whole backup before a byte is sent, so that a failure can still be answered with an error. The file is unlinked while it is
 * sent.
 */
async function backup(engine: LmdbEngine, { workDir }: StorePagesOptions, signal: AbortSignal): Promise<Readable> {
  const directory = await mkdtemp(join(workDir, 'backup-')).catch(refuseForSpace);
  try {
    await engine.backup(directory).catch(refuseForSpace);
    const copy = await open(join(directory, dataFileName));
    const pieces = copy.createReadStream({ highWaterMark: 1_048_576, signal });
    // When the client leaves before the first piece, the stream's error has no other listener.
    return pieces.on('error', () => undefined);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

function refuseForSpace(error: unknown): never {
  const isFull = isStorageError(error, 'Full') || (error as NodeJS.ErrnoException).code === 'ENOSPC';
  if (!isFull) throw error;
  throw insufficientStorage(
    'not enough disk space for the copy that the server makes next to its store before sending it; free some space, or stop the server and back up its data directory',
  );
}

function jsonAnswer(value: unknown): PageAnswer {
  return { contentType: 'application/json', body: Buffer.from(`${JSON.stringify(value)}\n`) };
}
