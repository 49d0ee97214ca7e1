import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { VirtualClock } from '@kapstan/api/testing';
import { type EngineFixture, engineConformance, enginePrograms } from '@kapstan/storage/testing';
import { type LmdbEngine, openLmdbEngine } from './index.ts';

async function openFixture(): Promise<EngineFixture> {
  const dataDir = mkdtempSync(join(tmpdir(), 'kapstan-lmdb-'));
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
    check: async () => {
      const { problems } = await engine.check();
      if (problems.length > 0) throw new Error(problems.join('\n'));
    },
    dispose: async () => {
      await engine.close();
      if (clock.pendingTimers > 0) throw new Error(`${clock.pendingTimers} timers are left after close`);
      rmSync(dataDir, { recursive: true });
    },
  };
}

engineConformance('LmdbEngine', openFixture);
enginePrograms('LmdbEngine', openFixture);
