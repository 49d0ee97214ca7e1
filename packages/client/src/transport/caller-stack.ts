// The stack of an error that a call rejects with, from the line that made the call on. Used by the transport, where errors leave
// it: there every frame between is awaited, so V8 knows them all.
import { isStatusError } from '@kapstan/api';
import { isTransportError } from './transport-error.ts';

// From the transport up to whoever called: through the verbs (4) and the two clients around them that a reconcile has (8).
const ownFrames = 20;

/**
 * The error, whose stack shows who called instead of where its answer was read: with the default of ten frames nothing but that
 * would be seen. Only of errors that are made here, one a call. Costs a call that succeeds nothing; where stacks are switched off
 * (`Error.stackTraceLimit` 0), nothing is done.
 */
export function withCallerStack(error: unknown): unknown {
  const limit = Error.stackTraceLimit;
  if (!(limit > 0) || !(isStatusError(error) || isTransportError(error))) return error;
  // Atomic: the limit is the whole program's. Not by assignment, which throws where intrinsics are frozen.
  Reflect.set(Error, 'stackTraceLimit', limit + ownFrames);
  Error.captureStackTrace(error, withCallerStack);
  Reflect.set(Error, 'stackTraceLimit', limit);
  return error;
}
