export { engineConformance } from './engine-conformance.ts';
export type { EngineFixture, OpenEngine } from './engine-fixture.ts';
export { type EngineProgramsOptions, enginePrograms } from './engine-programs.ts';
export { WatchRecorder } from './engine-recorder.ts';
export { fillDisk, makeRoom, mountSmallDisk, unmountSmallDisk } from './small-disk.ts';
export { storageConformance } from './storage-conformance.ts';
export {
  keyOf,
  namesOf,
  type OpenStorage,
  podAttributes,
  podOf,
  podStoreOptions,
  predicate,
  root,
  StorageBench,
  type StorageFixture,
} from './storage-fixture.ts';
export { StorageRecorder } from './storage-recorder.ts';
