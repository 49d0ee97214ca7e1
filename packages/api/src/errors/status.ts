// The Status object, in which the Kubernetes API describes failures. status-error.ts has the error that carries it.

/** Machine-readable reasons of a Status. Source: meta/v1 StatusReason. */
export type StatusReason =
  | ''
  | 'Unauthorized'
  | 'Forbidden'
  | 'NotFound'
  | 'AlreadyExists'
  | 'Conflict'
  | 'Gone'
  | 'Invalid'
  | 'ServerTimeout'
  | 'StoreReadError'
  | 'Timeout'
  | 'TooManyRequests'
  | 'BadRequest'
  | 'MethodNotAllowed'
  | 'NotAcceptable'
  | 'RequestEntityTooLarge'
  | 'UnsupportedMediaType'
  | 'InternalError'
  | 'Expired'
  | 'ServiceUnavailable'
  | 'StorageReadError'
  | 'NotImplemented'
  | 'InsufficientStorage';

/** One cause of a failure. `reason` is a FieldErrorType for invalid fields. Source: meta/v1 StatusCause. */
export interface StatusCause {
  readonly reason?: string;
  readonly message?: string;
  readonly field?: string;
}

/** The part of a Status that names the object, the wrong fields, and the seconds after which to come back. */
export interface StatusDetails {
  readonly name?: string;
  readonly group?: string;
  /** The resource ("pods") or, for validation errors, the kind ("Pod"). */
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly StatusCause[];
  readonly retryAfterSeconds?: number;
}

/** Source: meta/v1 ListMeta. */
export interface StatusMetadata {
  /** Token with which an expired list (410) can continue, at a newer version. */
  readonly continue?: string;
  readonly resourceVersion?: string;
  readonly remainingItemCount?: number;
  readonly selfLink?: string;
}

/** Source: meta/v1 Status. */
export interface Status {
  readonly kind: 'Status';
  readonly apiVersion: 'v1';
  readonly metadata: StatusMetadata;
  readonly status: 'Success' | 'Failure';
  readonly message?: string;
  readonly reason?: StatusReason;
  readonly details?: StatusDetails;
  readonly code: number;
}
