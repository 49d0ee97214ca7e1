import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { VirtualClock } from '@kapstan/api/testing';
import { type EngineFixture, engineConformance, enginePrograms } from '@kapstan/storage/testing';
import { type LmdbEngine, openLmdbEngine } from './index.ts';

// Thousands of transactions need not survive a power loss, so they are kept in memory where that is possible.
const memory = '/dev/shm';
const folder = existsSync(memory) ? memory : tmpdir();

/**
 * Reads the file as a process killed now would leave it. LMDB's thread may write one more transaction meanwhile. The
 * headers are read first, and that transaction does not overwrite the pages that they refer to.
 */
function dataOfKilled(path: string): Buffer {
  const headers = readFileSync(path).subarray(0, 8_192);
  const data = readFileSync(path);
  headers.copy(data);
  return data;
}

async function openFixture(parent = tmpdir()): Promise<EngineFixture> {
  const root = mkdtempSync(join(parent, 'kapstan-lmdb-'));
  let dataDir = join(root, '0');
  let crashes = 0;
  const clock = new VirtualClock();
  let engine = await openLmdbEngine({ dataDir, clock });
  return {
    get engine(): LmdbEngine {
      return engine;
    },
    elapse: (ms) => clock.advance(ms),
    reopen: async () => {
      await engine.close();
      engine = await openLmdbEngine({ dataDir, clock });
    },
    crash: async () => {
      const former = engine;
      crashes += 1;
      const copy = join(root, String(crashes));
      mkdirSync(copy, { mode: 0o700 });
      writeFileSync(join(copy, 'data.mdb'), dataOfKilled(join(dataDir, 'data.mdb')));
      await former.close();
      dataDir = copy;
      engine = await openLmdbEngine({ dataDir, clock });
    },
    check: async () => {
      const { problems } = await engine.check();
      if (problems.length > 0) throw new Error(problems.join('\n'));
    },
    dispose: async () => {
      await engine.close();
      if (clock.pendingTimers > 0) throw new Error(`${clock.pendingTimers} timers are left after close`);
      rmSync(root, { recursive: true });
    },
  };
}

engineConformance('LmdbEngine', () => openFixture());
enginePrograms('LmdbEngine', () => openFixture(folder));
