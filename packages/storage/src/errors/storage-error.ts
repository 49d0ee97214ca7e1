// The storage stack's own error family. It never crosses HTTP, because the registry turns it into a StatusError
// (toStatus).

const brand = Symbol.for('@kapstan/storage/StorageError');

/** Codes are only ever added. {@link storageErrors} describes their meaning. */
export type StorageErrorCode =
  | 'KeyNotFound'
  | 'KeyExists'
  | 'Conflict'
  | 'InvalidObject'
  | 'Unreachable'
  | 'Timeout'
  | 'Corrupt'
  | 'Compacted'
  | 'FutureRevision'
  | 'TooLarge'
  | 'Full'
  | 'NotReady'
  | 'InvalidKey'
  | 'Closed';

interface StorageErrorRow {
  /** kube-apiserver's number for the code; 0 where it has none. */
  readonly number: number;
  readonly text: string;
  /** True when the same call may succeed later without change. */
  readonly isRetryable: boolean;
}

/** One row per code. Texts and numbers: apiserver storage/errors.go. */
export const storageErrors: Readonly<Record<StorageErrorCode, StorageErrorRow>> = {
  KeyNotFound: { number: 1, text: 'key not found', isRetryable: false },
  KeyExists: { number: 2, text: 'key exists', isRetryable: false },
  Conflict: { number: 3, text: 'resource version conflicts', isRetryable: false },
  InvalidObject: { number: 4, text: 'invalid object', isRetryable: false },
  Unreachable: { number: 5, text: 'server unreachable', isRetryable: true },
  Timeout: { number: 6, text: 'request timeout', isRetryable: true },
  Corrupt: { number: 7, text: 'corrupt object', isRetryable: false },
  Compacted: { number: 0, text: 'revision has been compacted', isRetryable: false },
  FutureRevision: { number: 0, text: 'revision is in the future', isRetryable: true },
  TooLarge: { number: 0, text: 'value is too large', isRetryable: false },
  Full: { number: 0, text: 'the store is full', isRetryable: true },
  NotReady: { number: 0, text: 'storage not ready', isRetryable: true },
  InvalidKey: { number: 0, text: 'invalid key', isRetryable: false },
  Closed: { number: 0, text: 'the store is closed', isRetryable: false },
};

export interface StorageErrorInit {
  readonly code: StorageErrorCode;
  readonly key?: string | undefined;
  /** The revision to which the code refers: the conflicting or compacted one; the newest one for FutureRevision. */
  readonly revision?: number | undefined;
  readonly message?: string | undefined;
  /** For `Unreachable`: true when the commit may have happened. Default false. */
  readonly maybeApplied?: boolean | undefined;
  readonly cause?: unknown | undefined;
}

/** An error of a store; `code` tells the kind. `toStatus` turns it into the answer of an API server. */
export class StorageError extends Error {
  readonly code: StorageErrorCode;
  readonly key: string;
  readonly revision: number;
  readonly detail: string;
  readonly maybeApplied: boolean;

  constructor(init: StorageErrorInit) {
    const row = storageErrors[init.code];
    const detail = init.message ?? '';
    super(
      `StorageError: ${row.text}, Code: ${row.number}, Key: ${init.key ?? ''}, ResourceVersion: ${init.revision ?? 0}, AdditionalErrorMsg: ${detail}`,
      init.cause === undefined ? undefined : { cause: init.cause },
    );
    this.name = 'StorageError';
    Object.defineProperty(this, brand, { value: true });
    this.code = init.code;
    this.key = init.key ?? '';
    this.revision = init.revision ?? 0;
    this.detail = detail;
    this.maybeApplied = init.maybeApplied ?? false;
  }

  /** Returns the text of the Go library, which already begins with the error's name. */
  override toString(): string {
    return this.message;
  }
}

/** True for an error of a store, with this code if one is given. */
export function isStorageError(error: unknown, code?: StorageErrorCode): error is StorageError {
  return (
    typeof error === 'object' &&
    error !== null &&
    brand in error &&
    (code === undefined || (error as unknown as StorageError).code === code)
  );
}
