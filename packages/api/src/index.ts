export { addAbortListener, removeAbortListener } from './abort-listeners.ts';
export { Backoff, type BackoffOptions, type Moment } from './backoff.ts';
export { boundCallbacks } from './bound-callbacks.ts';
export { callChecks } from './call-checks.ts';
export type {
  ApplyOptions,
  CallOptions,
  DeleteOptions,
  GetOptions,
  ListOptions,
  Preconditions,
  PropagationPolicy,
  SelectionOptions,
  WatchOptions,
  WriteOptions,
} from './call-options.ts';
export { abortSignalOf, CallAbort, type CallSignal } from './call-signal.ts';
export {
  type CancelTimer,
  type Clock,
  delay,
  formatMicroTime,
  formatTime,
  parseTime,
  systemClock,
  toDate,
} from './clock.ts';
export { type AnyCondition, getCondition, type NewCondition, setCondition } from './condition.ts';
export { deepFreeze } from './deep-freeze.ts';
export {
  type DefinedObject,
  type DefinedResource,
  defineResource,
  isDefinedResource,
  type ObjectSchema,
  type PrinterColumn,
  type ResourceDefinitionSpec,
  type SchemaType,
} from './define-resource.ts';
export { parseDuration } from './duration.ts';
export {
  duplicateField,
  type FieldError,
  type FieldErrorType,
  fieldChild,
  fieldErrorBody,
  fieldErrorCause,
  fieldIndex,
  fieldKey,
  forbiddenField,
  formatFieldError,
  formatFieldErrors,
  invalidField,
  maxToldErrors,
  notFoundField,
  notSupportedField,
  omittedErrors,
  requiredField,
  type ToldErrors,
  tellFieldErrors,
  tooLongField,
  tooManyField,
  typeInvalidField,
} from './field-error.ts';
export { everyField, type FieldRequirement, FieldSelector, parseFieldSelector } from './field-selector.ts';
export { escapeByte, goQuote } from './go-quote.ts';
export {
  formatApiVersion,
  formatGroupKind,
  formatGroupResource,
  type GroupKind,
  type GroupResource,
  type GroupVersion,
  type GroupVersionKind,
  type GroupVersionResource,
  parseApiVersion,
} from './group-version.ts';
export { guardedCall, immediate } from './guarded-call.ts';
export {
  copyInSlices,
  type DeepWritable,
  deepCopy,
  ExactNumber,
  getOwn,
  isJsonObject,
  parseJson,
  setOwn,
  stringifyInSlices,
  stringifyJson,
} from './json.ts';
export {
  endOfJsonString,
  JsonSyntaxError,
  jsonSyntaxFault,
  type MemberList,
  maxJsonDepth,
  parseJsonInSlices,
  readJsonInSlices,
  readJsonSlowly,
  type SlowRead,
} from './json-syntax.ts';
export { parseText } from './json-text.ts';
export { nearestName, type OptionNames, requireKnownOptions } from './known-options.ts';
export type {
  DeepReadonly,
  KubernetesList,
  KubernetesObject,
  ListMeta,
  ManagedFieldsEntry,
  ObjectMeta,
  OwnerReference,
  UnstructuredObject,
} from './kubernetes-object.ts';
export { type LabelOperator, type LabelRequirement, labelRequirement } from './label-requirement.ts';
export { everyLabel, LabelSelector, noLabel } from './label-selector.ts';
export { type ParsedSelector, parseLabelSelector, parseLongLabelSelector } from './label-selector-parser.ts';
export { type LabelSelectorExpression, type LabelSelectorSpec, labelSelectorFrom } from './label-selector-spec.ts';
export {
  isConnectionRefused,
  type ListWatchFailure,
  type ListWatchFailureKind,
  listWatchFailureOf,
} from './list-watch-failure.ts';
export { createListWatchState, stepListWatch } from './list-watch-machine.ts';
export { defaultListWatchOptions, type ListWatchOptions } from './list-watch-options.ts';
export type {
  ListWatchEffect,
  ListWatchInput,
  ListWatchPhase,
  ListWatchState,
  ListWatchStep,
} from './list-watch-state.ts';
export type { ListerWatcher, ListResult } from './lister-watcher.ts';
export { type LogFields, type Logger, silentLogger } from './logger.ts';
export { metaNamespaceKey, type ObjectKey, type ObjectName, objectKey, splitMetaNamespaceKey } from './object-key.ts';
export { ObjectList } from './object-list.ts';
export { requireObject, requireString, requireTarget } from './object-target.ts';
export { isPromiseLike } from './promise-like.ts';
export { dnsLabelErrors, dnsSubdomainErrors, labelValueErrors, qualifiedNameErrors } from './qualified-name.ts';
export { parseQuantity, Quantity, type QuantityFormat, quantityOf } from './quantity.ts';
export { type MetricFamily, type MetricSample, type RequestMeasure, RequestMetrics } from './request-metrics.ts';
export {
  requireCallbacks,
  requireClock,
  requireFunction,
  requireFunctions,
  requireGivenFunction,
  requireGivenSignal,
  requireLogger,
  requireNotNegative,
  requireResource,
  requireSignal,
} from './required.ts';
export {
  apiVersionOf,
  groupVersionResourceOf,
  type NamespacedResource,
  type ObjectOf,
  type Resource,
  type ResourceSpec,
  resource,
  resourcePath,
} from './resource.ts';
export type {
  ListerWatcherScope,
  ObjectTarget,
  Patch,
  ResourceClient,
  SubresourceOptions,
  WriteObserver,
} from './resource-client.ts';
export {
  type Brand,
  compareResourceVersions,
  formatRevision,
  isUint64,
  parseRevision,
  type ResourceVersion,
  type Revision,
  toRevision,
} from './resource-version.ts';
export { Scheme } from './scheme.ts';
export { type EmitterListener, SerialEmitter, type SerialEmitterOptions } from './serial-emitter.ts';
export { copyAtPace, SlicePace, sortInSlices } from './sliced-walks.ts';
export {
  eachInSlices,
  fitsOneSlice,
  flatMapInSlices,
  knownSize,
  membersPerSlice,
  rememberSize,
  runWhole,
  type SlicedWork,
} from './sliced-work.ts';
export type { Status, StatusCause, StatusDetails, StatusReason } from './status.ts';
export {
  isAlreadyExists,
  isBadRequest,
  isConflict,
  isExpired,
  isForbidden,
  isInternalError,
  isInvalid,
  isMethodNotSupported,
  isNotFound,
  isServerTimeout,
  isServiceUnavailable,
  isStatusError,
  isTimeout,
  isTooLargeResourceVersion,
  isTooManyRequests,
  isUnauthorized,
  newAlreadyExists,
  newBadRequest,
  newConflict,
  newExpired,
  newForbidden,
  newInsufficientStorage,
  newInternalError,
  newInvalid,
  newInvalidTold,
  newMethodNotSupported,
  newNotAcceptable,
  newNotFound,
  newNotImplemented,
  newRequestEntityTooLarge,
  newServerTimeout,
  newServiceUnavailable,
  newTimeout,
  newTooLargeResourceVersion,
  newTooManyRequests,
  newUnauthorized,
  newUnsupportedMediaType,
  resourceVersionTooLargeCause,
  retryAfterSeconds,
  StatusError,
  type StatusErrorInit,
  statusErrorFrom,
} from './status-error.ts';
export { TokenBucket, type TokenBucketOptions } from './token-bucket.ts';
export { type BookmarkEvent, initialEventsEndAnnotation, type ObjectEvent, type WatchEvent } from './watch-event.ts';
