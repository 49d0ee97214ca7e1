import { VirtualClock } from '@kapstan/api/testing';
import { engineConformance } from './engine-conformance.ts';
import type { EngineFixture } from './engine-fixture.ts';
import { enginePrograms } from './engine-programs.ts';
import { MemoryEngine } from './memory-engine.ts';

async function open(): Promise<EngineFixture> {
  const clock = new VirtualClock();
  const engine = new MemoryEngine({ clock });
  return { engine, elapse: (ms) => clock.advance(ms), dispose: () => engine.close() };
}

engineConformance('MemoryEngine', open);
enginePrograms('MemoryEngine', open);
