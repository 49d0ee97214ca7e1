// Exports for the other packages of Kapstan alone. They change without notice; programs use @kapstan/api and
// @kapstan/api/errors.

export { callChecks } from './client/call-checks.ts';
export type { Preconditions, PropagationPolicy } from './client/call-options.ts';
export { type RequestMeasure, RequestMetrics } from './client/request-metrics.ts';
export {
  fieldErrorBody,
  fieldErrorCause,
  maxToldErrors,
  notSupportedFieldOf,
  omittedErrors,
  type ToldErrors,
  tellFieldErrors,
} from './errors/field-error.ts';
export { messageOf } from './errors/message-of.ts';
export { type ErrorText, isSecret, quotedErrorText, safeErrorText } from './errors/safe-error-text.ts';
export { invalidTold } from './errors/status-error.ts';
export { escapedByteCode, goQuote } from './formats/go-quote.ts';
export { parseInt64, readDecimal } from './formats/parse-int64.ts';
export { quantityOf } from './formats/quantity.ts';
export { boundCallbacks } from './guards/bound-callbacks.ts';
export { guardedCall, immediate } from './guards/guarded-call.ts';
export { nearestName, type OptionNames, requireKnownOptions } from './guards/known-options.ts';
export {
  checkedElsewhere,
  type OptionCheck,
  type OptionTable,
  objectWith,
  optional,
  requireBoolean,
  requireOptions,
  requireOptionValues,
} from './guards/option-table.ts';
export { isPromiseLike } from './guards/promise-like.ts';
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
} from './guards/required.ts';
export type {
  AdmissionOperation,
  AdmissionRequest,
  AdmissionResponse,
  AdmissionUser,
  DenialStatus,
  DescribedRequest,
  OperationOptions,
} from './hooks/admission-request.ts';
export {
  type AdmissionHook,
  type AdmissionRule,
  type ConversionHook,
  type HookHost,
  isHookHost,
  type ProgramHooks,
  type VersionChange,
} from './hooks/hook-host.ts';
export { formatGoNumber } from './json/go-number.ts';
export { copyInSlices, getOwn, isJsonObject, setOwn } from './json/json.ts';
export {
  endOfJsonString,
  JsonLimitError,
  type JsonLimits,
  type JsonNumbers,
  JsonSyntaxError,
  jsonSyntaxFault,
  type MemberList,
  maxJsonDepth,
  noJsonLimits,
  parseJsonInSlices,
  readJsonInSlices,
  readJsonSlowly,
} from './json/json-syntax.ts';
export { parseText } from './json/json-text.ts';
export { encodeJsonInSlices, stringifyInSlices } from './json/sliced-encoding.ts';
export { copyAtPace, SlicePace, sortInSlices } from './json/sliced-walks.ts';
export { Utf8Parts } from './json/utf8-parts.ts';
export { DurationHistogram, Histogram, type HistogramCounts } from './metrics/histogram.ts';
export { LabelSeries } from './metrics/label-series.ts';
export {
  counterFamily,
  formatMetrics,
  gaugeFamily,
  histogramFamily,
  type Labels,
  type MetricFamily,
  type MetricSample,
  type MetricsText,
  plainSamples,
  seriesText,
} from './metrics/metric-family.ts';
export { NumberSeries } from './metrics/number-series.ts';
export { deepFreeze } from './objects/deep-freeze.ts';
export {
  formatApiVersion,
  formatGroupResource,
  type GroupKind,
  type GroupVersion,
  type GroupVersionKind,
  type GroupVersionResource,
  parseApiVersion,
} from './objects/group-version.ts';
export type { ManagedFieldsEntry } from './objects/kubernetes-object.ts';
export { requireObject, requireString, requireTarget } from './objects/object-target.ts';
export { formatRevision, parseRevision } from './objects/resource-version.ts';
export { type ChangeType, initialEventsEndAnnotation } from './objects/watch-event.ts';
export { isDefinedResource } from './resources/define-resource.ts';
export { groupVersionResourceOf, resourcePath } from './resources/resource.ts';
export type { FieldRequirement } from './selectors/field-selector.ts';
export type { LabelRequirement } from './selectors/label-requirement.ts';
export { noLabel } from './selectors/label-selector.ts';
export { type ParsedSelector, parseLongLabelSelector } from './selectors/label-selector-parser.ts';
export { addAbortListener, removeAbortListener } from './time/abort-listeners.ts';
export { Backoff } from './time/backoff.ts';
export { abortSignalOf, CallAbort, type CallSignal } from './time/call-signal.ts';
export { formatMicroTime, toDate } from './time/clock.ts';
export {
  awaited,
  eachInSlices,
  fitsOneSlice,
  knownSize,
  membersPerSlice,
  namesInSlices,
  nodesLeft,
  rememberNames,
  rememberSize,
  runWhole,
  type SlicedWork,
} from './time/sliced-work.ts';
export { TokenBucket, type TokenBucketOptions } from './time/token-bucket.ts';
export { nextTurn, onNextTurn, sliceMs, TurnShare, TurnSlice, turnMs } from './time/turn.ts';
export type { CallSpan, CallTracer, TracedCall } from './tracing/call-tracer.ts';
export { HttpCallTracer } from './tracing/http-call-tracer.ts';
export {
  failSpan,
  findOpenTelemetry,
  type OpenTelemetry,
  type OpenTelemetryApi,
  requireTracing,
  spanKinds,
  type TraceAttributes,
  type TraceLink,
  type TracerProvider,
  type TraceScope,
  type TraceSpan,
  type TraceSpanContext,
  type TracingOptions,
  traceParentOf,
  tracingTable,
} from './tracing/open-telemetry.ts';
export { formatTraceParent, parseTraceParent, type TraceContext } from './tracing/trace-context.ts';
export { listWatchFailureOf } from './watch/list-watch-failure.ts';
export { createListWatchState, stepListWatch } from './watch/list-watch-machine.ts';
export type { ListWatchOptions } from './watch/list-watch-options.ts';
export type { ListWatchEffect, ListWatchInput, ListWatchPhase, ListWatchState } from './watch/list-watch-state.ts';
