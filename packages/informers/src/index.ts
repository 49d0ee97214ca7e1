// Cache and its readers

export {
  DeletedFinalStateUnknown,
  deletionHandlingKey,
  isDeletedFinalStateUnknown,
} from './fifo/deleted-final-state-unknown.ts';
export { DeltaFifo } from './fifo/delta-fifo.ts';
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
} from './fifo/fifo.ts';
export { InOrderFifo } from './fifo/in-order-fifo.ts';
export { type ConflateByKeyOptions, conflateByKey } from './handlers/conflate-by-key.ts';
export { ConflatingQueue } from './handlers/conflating-queue.ts';
export { filteringHandler, type ResourceEventHandler } from './handlers/event-handler.ts';
export type { EventHandlerOptions, EventHandlerRegistration } from './handlers/event-handler-registration.ts';
export type {
  AddedChange,
  DeletedChange,
  InformerEvent,
  ObjectChange,
  UpdatedChange,
} from './handlers/object-change.ts';
export type { Syncable } from './handlers/sync-signal.ts';
// Informer
export { type InformerMeasure, InformerMetrics, type InformerName, type MeasuredInformer } from './informer-metrics.ts';
export type { PartialObjectMetadata } from './metadata-lister-watcher.ts';
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
export type { SharedInformerOptions } from './shared-informer-options.ts';
export {
  Indexer,
  type IndexerOptions,
  type Indexers,
  type IndexFunction,
  metaNamespaceIndex,
  namespaceIndex,
} from './store/indexer.ts';
export { Lister, type NamespaceLister } from './store/lister.ts';
export type { MutationDetection } from './store/mutation-detector.ts';
export {
  type UntilCondition,
  UntilInterruptedError,
  type UntilOptions,
  type UntilWithSyncOptions,
  until,
  untilWithSync,
} from './until.ts';
export { cacheSyncError, waitForCacheSync } from './wait-for-cache-sync.ts';
