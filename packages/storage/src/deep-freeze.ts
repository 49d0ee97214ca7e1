// Freezing of shared objects in tests, so that a violation of I6 throws where it happens.
import type { DeepReadonly } from '@kapstan/api';

/** Freezes a value and all that it holds. Returns it. */
export function deepFreeze<T>(value: T): DeepReadonly<T> {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const inner of Object.values(value)) deepFreeze(inner);
  }
  return value as DeepReadonly<T>;
}
