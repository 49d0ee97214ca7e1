export type {
  ApplyOptions,
  CallOptions,
  DeleteOptions,
  GetOptions,
  ListOptions,
  SelectionOptions,
  WatchOptions,
  WriteOptions,
} from './client/call-options.ts';
export type { ListerWatcher, ListResult } from './client/lister-watcher.ts';
export { ObjectList } from './client/object-list.ts';
export type {
  ListerWatcherScope,
  ObjectTarget,
  Patch,
  PatchArguments,
  ResourceClient,
  SubresourceOptions,
  WriteObserver,
} from './client/resource-client.ts';
export type { Status, StatusReason } from './errors/status.ts';
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
  retryAfterSeconds,
  StatusError,
} from './errors/status-error.ts';
export { parseDuration } from './formats/duration.ts';
export { parseQuantity, Quantity } from './formats/quantity.ts';
export { type DeepWritable, deepCopy, ExactNumber, parseJson, stringifyJson } from './json/json.ts';
export { type LogFields, type Logger, silentLogger } from './logger.ts';
export { type AnyCondition, getCondition, setCondition } from './objects/condition.ts';
export type { GroupResource } from './objects/group-version.ts';
export type {
  DeepReadonly,
  KubernetesList,
  KubernetesObject,
  ListMeta,
  ObjectMeta,
  OwnerReference,
  UnstructuredObject,
} from './objects/kubernetes-object.ts';
export {
  metaNamespaceKey,
  type ObjectKey,
  type ObjectName,
  objectKey,
  splitMetaNamespaceKey,
} from './objects/object-key.ts';
export {
  compareResourceVersions,
  type ResourceVersion,
  type Revision,
  toRevision,
} from './objects/resource-version.ts';
export type { BookmarkEvent, ObjectEvent, WatchEvent } from './objects/watch-event.ts';
export {
  type DefinedObject,
  type DefinedResource,
  defineResource,
} from './resources/define-resource.ts';
export type { PrinterColumn, ResourceDefinitionSpec } from './resources/definition-spec.ts';
export type { ObjectSchema, SchemaType } from './resources/object-schema.ts';
export {
  apiVersionOf,
  type NamespacedResource,
  type ObjectOf,
  type Resource,
  type ResourceSpec,
  resource,
} from './resources/resource.ts';
export { Scheme } from './resources/scheme.ts';
export { everyField, FieldSelector, parseFieldSelector } from './selectors/field-selector.ts';
export { everyLabel, LabelSelector } from './selectors/label-selector.ts';
export { parseLabelSelector } from './selectors/label-selector-parser.ts';
export { type LabelSelectorSpec, labelSelectorFrom } from './selectors/label-selector-spec.ts';
export { type CancelTimer, type Clock, delay, formatTime, parseTime, systemClock } from './time/clock.ts';
