export { formatMetrics, type HistogramCounts, type MetricFamily, type MetricSample } from '@kapstan/api/internal';
export { type Codec, jsonCodec } from './codec.ts';
export { encodeContinue, nextPage } from './continue-token.ts';
export { DryRunStorage } from './dry-run-storage.ts';
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
  isStorageError,
  StorageError,
  type StorageErrorCode,
  storageErrors,
} from './errors/storage-error.ts';
export { type StorageVerb, toStatus } from './errors/to-status.ts';
export { jsonLine, jsonMember } from './json-splice.ts';
export { commonPrefix, compareKeys, isInRange, keyAfter, rangeOf, rangeOfOne } from './key-range.ts';
export { KeySpace, normalizePrefix } from './keys.ts';
export { type ListPosition, validateListOptions } from './list-options.ts';
export { MemoryEngine } from './memory-engine.ts';
export { mergeSeries } from './merge-series.ts';
export { ObjectStore, type ObjectStoreOptions } from './object-store.ts';
export { checkPreconditions } from './preconditions.ts';
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
  ChangeEvent,
  GuaranteedUpdateOptions,
  ResponseMeta,
  Storage,
  StorageCallOptions,
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
  UnreadableDeleteOptions,
  UpdateResult,
  ValidateDeletion,
} from './storage.ts';
export type { StoreInspection, StoreOperation } from './store-counters.ts';
export { type InspectedStore, storeMetrics, storeSizeMetric } from './store-metrics.ts';
export { type Encoding, jsonEncoding, Stored } from './stored.ts';
export type { CallSpan, SpanAttributes } from './tracing/call-span.ts';
export { type StoreSpan, type StoreStep, storeChannelName } from './tracing/store-trace.ts';
export { aesCbcTransformer, aesGcmTransformer } from './transform/aes-transformers.ts';
export { DataKey, type DataKeyOptions } from './transform/data-key.ts';
export { keyIdHash } from './transform/encrypted-object.ts';
export { EnvelopeTransformer, type EnvelopeTransformerOptions } from './transform/envelope-transformer.ts';
export type { KeyObserver } from './transform/key-observer.ts';
export type { KeyService, KeyServiceStatus, SealedKey } from './transform/key-service.ts';
export { type PrefixEntry, prefixTransformer } from './transform/prefix-transformer.ts';
export { secretboxTransformer } from './transform/secretbox-transformer.ts';
export { identityTransformer, type Transformed, type Transformer } from './transform/transformer.ts';
export { parseResourceVersion } from './versioner.ts';
export { largeObjectBytes, runInTurns, WorkTurns } from './work-turns.ts';
