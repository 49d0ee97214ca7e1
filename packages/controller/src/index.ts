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
} from './controller-builder.ts';
export { type CreateOrUpdateArguments, type CreateOrUpdateResult, createOrUpdate } from './create-or-update.ts';
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
export type { GoneContext, GoneHandler } from './gone.ts';
export { type CacheReader, InformerCache, type InformerCacheOptions } from './informer-cache.ts';
export { type InstallDefinitionsOptions, installDefinitions } from './install-definitions.ts';
export type {
  LeaderElectionOptions,
  LeaderElectionTimes,
  LeaderElectorOptions,
} from './leader-election/leader-election-options.ts';
export { LeaderElector, LeadershipLostError } from './leader-election/leader-elector.ts';
export type { HealthCheck, HealthChecks } from './manager/health-checks.ts';
// The manager: runs controllers
export { Manager } from './manager/manager.ts';
export type { ManagerOptions } from './manager/manager-options.ts';
export type { InspectOptions } from './manager/manager-servers.ts';
export type { ProbeServerOptions } from './manager/probe-server.ts';
export type { Runnable, RunnableContext } from './manager/runnables.ts';
export { metadataOnly } from './metadata-only.ts';
// Parts
export { ControllerMetrics } from './metrics/controller-metrics.ts';
export { ObservedClient, type ObservedClientOptions } from './observed-client.ts';
export { isControlledBy, type OwnersOfOptions, ownersOf } from './owners-of.ts';
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
export type { NeededRights, NeededVerb, NeedsOptions } from './rights/needed-rights.ts';
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
} from './webhooks/hook-types.ts';
export { type InstallControllersOptions, installControllers } from './webhooks/install-controllers.ts';
export type { OwnCertificateOptions, WebhookOptions, WebhookService } from './webhooks/webhook-options.ts';
