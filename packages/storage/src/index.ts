export { type Codec, jsonCodec } from './codec.ts';
export type {
  Commit,
  CommitResult,
  Engine,
  EngineEvent,
  EngineRead,
  EngineWatch,
  EngineWatchOptions,
  EngineWatchSink,
  KeyRange,
  KeyValue,
  RangeOptions,
  RangeResult,
} from './engine.ts';
export {
  type Attributes,
  defaultAttributes,
  type GetAttributes,
  isEverything,
  matches,
  matchesAttributes,
  matchesSingleName,
  type SelectionPredicate,
} from './selection-predicate.ts';
export type {
  GuaranteedUpdateOptions,
  ResponseMeta,
  Storage,
  StorageCreateOptions,
  StorageDeleteOptions,
  StorageEvent,
  StorageGetOptions,
  StorageListOptions,
  StorageStats,
  StorageWatch,
  StorageWatchOptions,
  StorageWatchSink,
  StoredList,
  TryUpdate,
  UpdateResult,
  ValidateDeletion,
} from './storage.ts';
export { isStorageError, StorageError, type StorageErrorCode, type StorageErrorInit, storageErrors } from './storage-error.ts';
export { type Encoding, jsonEncoding, Stored } from './stored.ts';
