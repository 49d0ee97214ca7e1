// Gives errors of calls a stack that shows the caller's line. Used where errors leave the transport: every frame up to the caller is
// awaited there, so V8 knows them all.
import { isStatusError } from '@kapstan/api';
import { isTransportError } from './transport-error.ts';

// Maximum number of our frames above the caller's. The verbs have 4, the two clients that a reconcile wraps around them 8; the others are
// spare.
const ownFrames = 20;

/**
 * Gives the error a stack that shows the caller. With the default of ten frames it would show only the code that read the answer. This
 * applies only to errors created here, once per call; successful calls pay nothing. Nothing happens where stacks are switched off
 * (`Error.stackTraceLimit` 0).
 */
export function withCallerStack(error: unknown): unknown {
  const limit = Error.stackTraceLimit;
  if (!(limit > 0) || !(isStatusError(error) || isTransportError(error))) return error;
  // Atomic: the limit belongs to the whole program. Set with Reflect, because an assignment throws where intrinsics are frozen.
  Reflect.set(Error, 'stackTraceLimit', limit + ownFrames);
  Error.captureStackTrace(error, withCallerStack);
  Reflect.set(Error, 'stackTraceLimit', limit);
  return error;
}
