// What the packages of Kapstan share with each other. It changes without notice: programs use @kapstan/api and @kapstan/api/errors.

export { addAbortListener, removeAbortListener } from './abort-listeners.ts';
export { Backoff } from './backoff.ts';
export { boundCallbacks } from './bound-callbacks.ts';
export { callChecks } from './call-checks.ts';
export type { Preconditions, PropagationPolicy } from './call-options.ts';
export { abortSignalOf, CallAbort, type CallSignal } from './call-signal.ts';
export { formatMicroTime, toDate } from './clock.ts';
export { deepFreeze } from './deep-freeze.ts';
export { isDefinedResource } from './define-resource.ts';
export {
  fieldErrorBody,
  fieldErrorCause,
  maxToldErrors,
  omittedErrors,
  type ToldErrors,
  tellFieldErrors,
} from './field-error.ts';
export type { FieldRequirement } from './field-selector.ts';
export { escapeByte, goQuote } from './go-quote.ts';
export {
  formatApiVersion,
  formatGroupResource,
  type GroupKind,
  type GroupVersion,
  type GroupVersionKind,
  type GroupVersionResource,
  parseApiVersion,
} from './group-version.ts';
export { guardedCall, immediate } from './guarded-call.ts';
export { copyInSlices, getOwn, isJsonObject, setOwn, stringifyInSlices } from './json.ts';
export {
  endOfJsonString,
  JsonSyntaxError,
  jsonSyntaxFault,
  type MemberList,
  maxJsonDepth,
  parseJsonInSlices,
  readJsonInSlices,
  readJsonSlowly,
} from './json-syntax.ts';
export { parseText } from './json-text.ts';
export { nearestName, type OptionNames, requireKnownOptions } from './known-options.ts';
export type { ManagedFieldsEntry } from './kubernetes-object.ts';
export type { LabelRequirement } from './label-requirement.ts';
export { noLabel } from './label-selector.ts';
export { type ParsedSelector, parseLongLabelSelector } from './label-selector-parser.ts';
export { listWatchFailureOf } from './list-watch-failure.ts';
export { createListWatchState, stepListWatch } from './list-watch-machine.ts';
export type { ListWatchOptions } from './list-watch-options.ts';
export type { ListWatchEffect, ListWatchInput, ListWatchPhase, ListWatchState } from './list-watch-state.ts';
export { requireObject, requireString, requireTarget } from './object-target.ts';
export { isPromiseLike } from './promise-like.ts';
export { quantityOf } from './quantity.ts';
export { type MetricFamily, type RequestMeasure, RequestMetrics } from './request-metrics.ts';
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
export { groupVersionResourceOf, resourcePath } from './resource.ts';
export { formatRevision, parseRevision } from './resource-version.ts';
export { SerialEmitter } from './serial-emitter.ts';
export { copyAtPace, SlicePace, sortInSlices } from './sliced-walks.ts';
export {
  eachInSlices,
  fitsOneSlice,
  knownSize,
  membersPerSlice,
  rememberSize,
  runWhole,
  type SlicedWork,
} from './sliced-work.ts';
export { invalidTold } from './status-error.ts';
export { TokenBucket, type TokenBucketOptions } from './token-bucket.ts';
export { initialEventsEndAnnotation } from './watch-event.ts';
