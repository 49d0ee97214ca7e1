// Turns errors of etcd and gRPC into StorageErrors, and decides which failed calls may be repeated. Used by caller.ts.
import { status } from '@grpc/grpc-js';
import { isStorageError, StorageError, type StorageErrorCode } from '@kapstan/storage';

export interface GrpcError extends Error {
  readonly code: number;
  readonly details: string;
}

interface Meaning {
  readonly code: StorageErrorCode;
  /** True when etcd gives this error only for a request that it did not carry out. */
  readonly isRefusal: boolean;
}

const refused = (code: StorageErrorCode): Meaning => ({ code, isRefusal: true });

/** Texts of etcd's api/v3rpc/rpctypes/error.go, by which its own client also distinguishes errors. */
const meanings: ReadonlyMap<string, Meaning> = new Map([
  ['etcdserver: mvcc: required revision has been compacted', refused('Compacted')],
  ['etcdserver: mvcc: required revision is a future revision', refused('FutureRevision')],
  ['etcdserver: mvcc: database space exceeded', refused('Full')],
  ['etcdserver: request is too large', refused('TooLarge')],
  ['etcdserver: requested lease not found', refused('InvalidObject')],
  ['etcdserver: too many requests', refused('Unreachable')],
  ['etcdserver: no leader', refused('Unreachable')],
  ['etcdserver: permission denied', refused('Unreachable')],
  ['etcdserver: invalid auth token', refused('Unreachable')],
  ['etcdserver: user name is empty', refused('Unreachable')],
  ['etcdserver: revision of auth store is old', refused('Unreachable')],
  ['etcdserver: authentication failed, invalid user ID or password', refused('Unreachable')],
]);

/** grpc-js uses this text for an answer. A server says "grpc: received …" about a request. */
const ownLimit = 'Received message larger than max';
const tokenTexts = ['etcdserver: invalid auth token', 'etcdserver: revision of auth store is old'];
const transient: ReadonlySet<number> = new Set([status.UNAVAILABLE, status.INTERNAL, status.UNKNOWN, status.ABORTED]);

export function isGrpcError(error: unknown): error is GrpcError {
  return error instanceof Error && 'code' in error && typeof error.code === 'number' && 'details' in error;
}

/** Returns true when a new token would help. In this case the call had no effect. */
export function isStaleToken(error: unknown): boolean {
  return isGrpcError(error) && (error.code === status.UNAUTHENTICATED || tokenTexts.includes(error.details));
}

/** Returns true when another member, or the same one later, may succeed. */
export function isTransient(error: unknown): boolean {
  return isGrpcError(error) && transient.has(error.code);
}

/** Returns true when the answer is larger than this side accepts. */
export function isAnswerTooLarge(error: unknown): boolean {
  return isGrpcError(error) && error.code === status.RESOURCE_EXHAUSTED && error.details.startsWith(ownLimit);
}

export interface FailedCall {
  readonly key?: string | undefined;
  /** True when the call would have changed something. */
  readonly isWrite: boolean;
  /** True when the call left this process. */
  readonly wasSent: boolean;
}

/** Returns the error in the terms of the Engine port. A StorageError is returned unchanged. */
export function toStorageError(error: unknown, call: FailedCall): unknown {
  if (isStorageError(error) || !isGrpcError(error)) return error;
  const { code, isRefusal } = meaningOf(error);
  const maybeApplied = call.isWrite && call.wasSent && !isRefusal;
  return new StorageError({ code, key: call.key, message: error.details, maybeApplied, cause: error });
}

function meaningOf({ code, details }: GrpcError): Meaning {
  const known = meanings.get(details);
  if (known !== undefined) return known;
  if (/^grpc: received message larger than max|^Attempted to send message/.test(details)) return refused('TooLarge');
  if (details.startsWith(ownLimit)) return { code: 'TooLarge', isRefusal: false };
  const isRefusal =
    code === status.UNIMPLEMENTED || code === status.PERMISSION_DENIED || code === status.UNAUTHENTICATED;
  return { code: 'Unreachable', isRefusal };
}
