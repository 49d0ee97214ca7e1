export { MemoryEngine } from './memory-engine.ts';
export { engineConformance } from './engine-conformance.ts';
export type { EngineFixture, OpenEngine } from './engine-fixture.ts';
export { enginePrograms, type EngineProgramsOptions } from './engine-programs.ts';
export { WatchRecorder } from './engine-recorder.ts';
