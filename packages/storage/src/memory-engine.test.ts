import { VirtualClock } from '@kapstan/api/testing';
import { MemoryEngine } from './memory-engine.ts';
import { engineConformance } from './testing/engine-conformance.ts';
import type { EngineFixture } from './testing/engine-fixture.ts';
import { enginePrograms } from './testing/engine-programs.ts';

async function open(): Promise<EngineFixture> {
  const clock = new VirtualClock();
  const engine = new MemoryEngine({ clock });
  return { engine, elapse: (ms) => clock.advance(ms), dispose: () => engine.close() };
}

engineConformance('MemoryEngine', open);
enginePrograms('MemoryEngine', open);
