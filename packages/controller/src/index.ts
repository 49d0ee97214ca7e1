// The builder, which describes a controller
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
  type ReconciledObject,
  type ReconcileKeys,
  type Reconciler,
  requeueAfter,
  type SourceOptions,
} from './builder/controller-builder.ts';
export { type CreateOrUpdateArguments, type CreateOrUpdateResult, createOrUpdate } from './builder/create-or-update.ts';
export { addFinalizer, hasFinalizer, removeFinalizer } from './builder/finalizer.ts';
export type { GoneContext, GoneHandler } from './builder/gone.ts';
export type {
  Converted,
  DeclaredHook,
  DeclaredHooks,
  Defaulter,
  DefaultsOptions,
  FieldProblem,
  HookContext,
  HookOptions,
  UpdateContext,
  ValidatesOptions,
  Validator,
  Validators,
  Verdict,
  VersionConversion,
} from './builder/hook-types.ts';
export type { NeededRights, NeededVerb, NeedsOptions } from './builder/needed-rights.ts';
export { isControlledBy, type OwnersOfOptions, ownersOf } from './builder/owners-of.ts';
export {
  allOf,
  annotationsChanged,
  anyOf,
  generationChanged,
  labelsChanged,
  notPredicate,
  type Predicate,
  resourceVersionChanged,
} from './builder/predicate.ts';
export type { PruneOptions } from './builder/prune-children.ts';
export {
  type ApplyConfiguration,
  type ApplySettings,
  controllerReference,
  type ReconcilerContext,
} from './builder/reconciler-context.ts';
export { type CacheReader, InformerCache, type InformerCacheOptions } from './cache/informer-cache.ts';
export { metadataOnly } from './cache/metadata-only.ts';
export { ObservedClient, type ObservedClientOptions } from './cache/observed-client.ts';
export {
  type CorrelatedEvent,
  EventCorrelator,
  type EventCorrelatorOptions,
  type EventDraft,
  type InvolvedObject,
  type WrittenEvent,
} from './events/event-correlator.ts';
export { type EventMessage, EventRecorder, type EventRecorderOptions } from './events/event-recorder.ts';
export { type InstallControllersOptions, installControllers } from './install-controllers.ts';
export type {
  LeaderElectionOptions,
  LeaderElectionTimes,
  LeaderElectorOptions,
} from './leader-election/leader-election-options.ts';
export { LeaderElector, LeadershipLostError } from './leader-election/leader-elector.ts';
export type { HealthCheck, HealthChecks } from './manager/health-checks.ts';
export { type InstallDefinitionsOptions, installDefinitions } from './manager/install-definitions.ts';
// The manager: runs controllers
export { Manager } from './manager/manager.ts';
export type { ManagerOptions } from './manager/manager-options.ts';
export type { InspectOptions } from './manager/manager-servers.ts';
export type { ProbeServerOptions } from './manager/probe-server.ts';
export type { Runnable, RunnableContext } from './manager/runnables.ts';
// Parts
export { ControllerMetrics } from './metrics/controller-metrics.ts';
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
} from './reconcile/reconcile-loop.ts';
export type { Right } from './rights/right.ts';
export { type RightsOptions, rightsOf } from './rights/rights.ts';
export {
  bindingOf,
  type RbacObject,
  type RoleOptions,
  type RoleRule,
  type RoleWithReasons,
  roleObject,
  roleRules,
  rolesOf,
  type ServiceAccountName,
} from './rights/roles.ts';
export { type RunArguments, type RunOptions, run } from './run.ts';
export type { ManagerTracing } from './tracing/run-tracer.ts';
// Webhooks
export type { CertificateTimes } from './webhooks/certificate-plan.ts';
export type { SecretName } from './webhooks/certificate-store.ts';
export { convertedDefinitions } from './webhooks/converted-definitions.ts';
export type { CertificateFiles } from './webhooks/file-certificates.ts';
export type { OwnCertificateOptions, WebhookOptions, WebhookService } from './webhooks/webhook-options.ts';
