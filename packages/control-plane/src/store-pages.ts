// The pages below /debug/kapstan/store: stats, compaction and backup of the store of a running server. What
// `kapstan store … --kubeconfig` calls; the built-in rule lets system:masters in alone.
import { createReadStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { newNotImplemented, type Revision } from '@kapstan/api';
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
      respond: () => ({
        contentType: 'application/octet-stream',
        body: backup(embedded(options.engines.main), options),
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
  return { revision: await engine.currentRevision(), compactRevision: engine.compactRevision() };
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
  throw newNotImplemented('only the embedded store can be backed up through this server');
}

async function* backup(engine: LmdbEngine, { workDir }: StorePagesOptions): AsyncGenerator<Uint8Array, void> {
  const directory = await mkdtemp(join(workDir, 'backup-'));
  try {
    await engine.backup(directory);
    yield* createReadStream(join(directory, dataFileName), { highWaterMark: 1_048_576 });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

function jsonAnswer(value: unknown): PageAnswer {
  return { contentType: 'application/json', body: Buffer.from(`${JSON.stringify(value)}\n`) };
}
