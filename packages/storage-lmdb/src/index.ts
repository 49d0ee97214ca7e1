export { type LmdbBackup, type LmdbBackupStats, openLmdbBackup } from './backup-reader.ts';
export type { CheckReport, ReadValue } from './check.ts';
export type { Durability } from './environment.ts';
export { dataFileName } from './environment.ts';
export { isLmdbAvailable } from './lmdb-binding.ts';
export { LmdbEngine, type LmdbEngineOptions, type LmdbEngineStats, openLmdbEngine } from './lmdb-engine.ts';
export { type RestoreOptions, restoreLmdbBackup } from './store-restore.ts';
