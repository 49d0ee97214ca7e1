// Freezes shared objects, so that a consumer that changes one fails right there (invariant I6).
import type { DeepReadonly } from './kubernetes-object.ts';

/** Freezes JSON data on all levels and returns it. A frozen value is assumed to be frozen below too. */
export function deepFreeze<T>(value: T): DeepReadonly<T> {
  freeze(value);
  return value as DeepReadonly<T>;
}

function freeze(value: unknown): void {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return;
  Object.freeze(value);
  for (const key of Object.keys(value)) freeze((value as Record<string, unknown>)[key]);
}
