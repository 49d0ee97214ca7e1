export type {
  ApplyOptions,
  CallOptions,
  DeleteOptions,
  GetOptions,
  ListOptions,
  SelectionOptions,
  WatchOptions,
  WriteOptions,
} from './call-options.ts';
export { type CancelTimer, type Clock, delay, formatTime, parseTime, systemClock } from './clock.ts';
export { type AnyCondition, getCondition, setCondition } from './condition.ts';
export {
  type DefinedObject,
  type DefinedResource,
  defineResource,
  type ObjectSchema,
  type PrinterColumn,
  type ResourceDefinitionSpec,
  type SchemaType,
} from './define-resource.ts';
export { parseDuration } from './duration.ts';
export { everyField, FieldSelector, parseFieldSelector } from './field-selector.ts';
export type { GroupResource } from './group-version.ts';
export { type DeepWritable, deepCopy, ExactNumber, parseJson, stringifyJson } from './json.ts';
export type {
  DeepReadonly,
  KubernetesList,
  KubernetesObject,
  ListMeta,
  ObjectMeta,
  OwnerReference,
  UnstructuredObject,
} from './kubernetes-object.ts';
export { everyLabel, LabelSelector } from './label-selector.ts';
export { parseLabelSelector } from './label-selector-parser.ts';
export { type LabelSelectorSpec, labelSelectorFrom } from './label-selector-spec.ts';
export type { ListerWatcher, ListResult } from './lister-watcher.ts';
export { type LogFields, type Logger, silentLogger } from './logger.ts';
export { metaNamespaceKey, type ObjectKey, type ObjectName, objectKey, splitMetaNamespaceKey } from './object-key.ts';
export { ObjectList } from './object-list.ts';
export { parseQuantity, Quantity } from './quantity.ts';
export {
  apiVersionOf,
  type NamespacedResource,
  type ObjectOf,
  type Resource,
  type ResourceSpec,
  resource,
} from './resource.ts';
export type {
  ListerWatcherScope,
  ObjectTarget,
  Patch,
  PatchArguments,
  ResourceClient,
  SubresourceOptions,
  WriteObserver,
} from './resource-client.ts';
export { compareResourceVersions, type ResourceVersion, type Revision, toRevision } from './resource-version.ts';
export { Scheme } from './scheme.ts';
export type { Status, StatusReason } from './status.ts';
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
} from './status-error.ts';
export type { BookmarkEvent, ObjectEvent, WatchEvent } from './watch-event.ts';
