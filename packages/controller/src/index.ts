// The builder: what a controller is
export {
  type Controller,
  type ControllerBuilder,
  type ControllerIndex,
  type ControllerSettings,
  type ControllerSource,
  controller,
  type Finalizer,
  type MapToKeys,
  type NamedObject,
  type NamespacedObject,
  type Reconciled,
  type ReconcileKeys,
  type Reconciler,
  requeueAfter,
  type SourceOptions,
} from './controller-builder.ts';
// Parts
export { ControllerMetrics } from './controller-metrics.ts';
export { type CreatedOrUpdated, type CreateOrUpdate, createOrUpdate } from './create-or-update.ts';
export {
  type CorrelatedEvent,
  EventCorrelator,
  type EventCorrelatorOptions,
  type EventDraft,
  type InvolvedObject,
  type WrittenEvent,
} from './events/event-correlator.ts';
export { type EventMessage, EventRecorder, type EventRecorderOptions } from './events/event-recorder.ts';
export { addFinalizer, hasFinalizer, removeFinalizer } from './finalizer.ts';
export { type CacheReader, InformerCache, type InformerCacheOptions } from './informer-cache.ts';
export { type InstallDefinitionsOptions, installDefinitions } from './install-definitions.ts';
export type {
  LeaderElectionOptions,
  LeaderElectionTimes,
  LeaderElectorOptions,
} from './leader-election/leader-election-options.ts';
export { LeaderElector, LeadershipLostError } from './leader-election/leader-elector.ts';
// The manager: runs controllers
export { Manager } from './manager.ts';
export type { ManagerOptions } from './manager-options.ts';
export { ObservedClient, type ObservedClientOptions } from './observed-client.ts';
export { type OwnersOfOptions, ownersOf } from './owners-of.ts';
export {
  allOf,
  annotationsChanged,
  anyOf,
  generationChanged,
  labelsChanged,
  notPredicate,
  type Predicate,
  resourceVersionChanged,
} from './predicate.ts';
export type { ProbeServerOptions } from './probe-server.ts';
export type { PruneOptions } from './prune-children.ts';
export {
  isTerminalError,
  ReconcileLoop,
  type ReconcileLoopOptions,
  type ReconcileOutcome,
  type ReconcileRequest,
  type ReconcileResult,
  type SyncContext,
  type SyncHandler,
  TerminalError,
} from './reconcile-loop.ts';
export {
  type ApplyConfiguration,
  type ApplySettings,
  controllerReference,
  type ReconcilerContext,
} from './reconciler-context.ts';
export { type RunArguments, type RunOptions, run } from './run.ts';
export type { Runnable, RunnableContext } from './runnables.ts';
