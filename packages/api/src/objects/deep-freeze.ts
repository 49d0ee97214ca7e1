// Freezing of shared objects, so that a consumer who changes one fails where it happens (invariant I6).
import type { DeepReadonly } from './kubernetes-object.ts';

/** Freezes JSON data through and through and returns it. What is frozen already is taken as frozen below too. */
export function deepFreeze<T>(value: T): DeepReadonly<T> {
  freeze(value);
  return value as DeepReadonly<T>;
}

function freeze(value: unknown): void {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return;
  Object.freeze(value);
  for (const key of Object.keys(value)) freeze((value as Record<string, unknown>)[key]);
}
