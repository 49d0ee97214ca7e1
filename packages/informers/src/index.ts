// Cache and its readers

export { type ConflateByKeyOptions, conflateByKey } from './conflate-by-key.ts';
export { ConflatingQueue } from './conflating-queue.ts';
export {
  DeletedFinalStateUnknown,
  deletionHandlingKey,
  isDeletedFinalStateUnknown,
} from './deleted-final-state-unknown.ts';
export { DeltaFifo } from './delta-fifo.ts';
export { filteringHandler, type ResourceEventHandler } from './event-handler.ts';
export {
  type Delta,
  type Deltas,
  type DeltaType,
  type Fifo,
  FifoClosedError,
  type FifoOptions,
  type KnownObjects,
  type ProcessDeltas,
  type Transform,
} from './fifo.ts';
export { InOrderFifo } from './in-order-fifo.ts';
export {
  Indexer,
  type IndexerOptions,
  type Indexers,
  type IndexFunction,
  metaNamespaceIndex,
  namespaceIndex,
} from './indexer.ts';
// Informer
export { type InformerMeasure, InformerMetrics, type InformerName, type MeasuredInformer } from './informer-metrics.ts';
export { Lister, type NamespaceLister } from './lister.ts';
export type { PartialObjectMetadata } from './metadata-lister-watcher.ts';
export type { MutationDetection } from './mutation-detector.ts';
export type { AddedChange, DeletedChange, InformerEvent, ObjectChange, UpdatedChange } from './object-change.ts';
// Parts
export { Reflector } from './reflector/reflector.ts';
export type { ExpectedKind } from './reflector/reflector-events.ts';
export type { ReflectorOptions, ReflectorStore } from './reflector/reflector-options.ts';
export type { ReflectorStatus } from './reflector/reflector-status.ts';
export { type RetryWatchOptions, retryWatch } from './retry-watch.ts';
export { SharedInformer } from './shared-informer.ts';
export {
  type InformerHandle,
  type ListerWatcherSource,
  type SharedFactoryInformer,
  SharedInformerFactory,
} from './shared-informer-factory.ts';
export type { InformerOptions, SharedInformerFactoryOptions } from './shared-informer-factory-options.ts';
export type {
  EventHandlerOptions,
  EventHandlerRegistration,
  SharedInformerOptions,
} from './shared-informer-options.ts';
export type { Syncable } from './sync-signal.ts';
export {
  type UntilCondition,
  UntilInterruptedError,
  type UntilOptions,
  type UntilWithSyncOptions,
  until,
  untilWithSync,
} from './until.ts';
export { cacheSyncError, waitForCacheSync } from './wait-for-cache-sync.ts';
