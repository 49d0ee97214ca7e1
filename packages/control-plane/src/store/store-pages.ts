// The pages below /debug/kapstan/store: stats, compaction and backup of the store of a running server. What
// `kapstan store … --kubeconfig` calls; the built-in rule lets system:masters in alone.
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
  /** Where a backup is made before it is sent; removed afterwards. */
  readonly workDir: string;
  /** Told after the compaction of each store. */
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

/** Of the main store; `overrides`: of the others, where there are some. */
async function statsOfAll({ all: [main, ...others] }: StoreEngines): Promise<unknown> {
  const stats = await Promise.all([main, ...others].map((engine) => statsOf(engine as Engine)));
  const [first, ...overrides] = stats;
  return overrides.length === 0 ? first : { ...(first as object), overrides };
}

async function statsOf(engine: Engine): Promise<unknown> {
  if (engine instanceof LmdbEngine) return engine.stats();
  const [revision, fileBytes] = await Promise.all([engine.currentRevision(), engine.storedBytes()]);
  return { revision, compactRevision: engine.compactRevision(), fileBytes };
}

/** All stores, each to its present revision; the answer tells that of the main one. */
async function compact({ engines, forgetBefore }: StorePagesOptions): Promise<{ readonly revision: Revision }> {
  const compacted = engines.all.map(async (engine) => {
    const revision = await compactOne(engine);
    forgetBefore(engine, revision);
    return { revision };
  });
  const [main] = await Promise.all(compacted);
  return main as { readonly revision: Revision };
}

/** One that is compacted already is fine. */
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

/** Made whole before a byte is sent, so that a failure is an answer; its file has no name any more while it is sent. */
async function backup(engine: LmdbEngine, { workDir }: StorePagesOptions, signal: AbortSignal): Promise<Readable> {
  const directory = await mkdtemp(join(workDir, 'backup-')).catch(refuseForSpace);
  try {
    await engine.backup(directory).catch(refuseForSpace);
    const copy = await open(join(directory, dataFileName));
    const pieces = copy.createReadStream({ highWaterMark: 1_048_576, signal });
    // Who is gone before the first piece reads no error.
    return pieces.on('error', () => undefined);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

function refuseForSpace(error: unknown): never {
  const isFull = isStorageError(error, 'Full') || (error as NodeJS.ErrnoException).code === 'ENOSPC';
  if (!isFull) throw error;
  throw insufficientStorage(
    'the server has no room for the copy that it makes beside its store before it sends it; free some, or stop it and back up its data directory',
  );
}

function jsonAnswer(value: unknown): PageAnswer {
  return { contentType: 'application/json', body: Buffer.from(`${JSON.stringify(value)}\n`) };
}
