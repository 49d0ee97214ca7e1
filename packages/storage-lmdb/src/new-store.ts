// Makes the data file of a new store, called by lmdb-engine.ts. The file gets its name once its tables are on disk: a
// loss of power or a full disk at the first start must not leave a file that is no store, which the next start refuses.
import { mkdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { dataFileName, Environment, type EnvironmentOptions, syncDirectory } from './environment.ts';

const workDirName = 'new-store.tmp';

/** Creates an empty store unless there is one. The directory must be locked. Rejects as opening an environment does. */
export async function createStoreIfMissing(options: EnvironmentOptions): Promise<void> {
  const { dataDir } = options;
  const dataFile = join(dataDir, dataFileName);
  if ((statSync(dataFile, { throwIfNoEntry: false })?.size ?? 0) > 0) return;
  const workDir = join(dataDir, workDirName);
  rmSync(workDir, { recursive: true, force: true });
  mkdirSync(workDir, { mode: 0o700 });
  try {
    await createTables({ ...options, dataDir: workDir, shownDir: dataDir });
    renameSync(join(workDir, dataFileName), dataFile);
  } finally {
    rmSync(workDir, { recursive: true });
  }
  syncDirectory(dataDir);
}

async function createTables(options: EnvironmentOptions): Promise<void> {
  const env = new Environment(options);
  try {
    await env.checkFormat(options.dataDir);
  } finally {
    await env.close();
  }
}
