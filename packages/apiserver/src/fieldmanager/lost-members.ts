// Remembers which applied custom resources lost members when they were brought into form. A kube-apiserver prunes such an object
// only when it encodes it, so its generation rises although the stored content is the same. Read by strategies of custom resources.
import { isJsonObject, type SlicedWork, SlicePace } from '@kapstan/api/internal';

const lossy = new WeakSet<object>();

/** Returns true for the result of an apply that had members, outside metadata, which the schema does not keep. */
export function hasLostMembers(object: object): boolean {
  return lossy.has(object);
}

/** Runs `form`, which removes members of the object in place, and remembers whether it removed any outside metadata. */
export function* watchingMembers<T>(object: Readonly<Record<string, unknown>>, form: SlicedWork<T>): SlicedWork<T> {
  const before = yield* countMembers(object);
  const result = yield* form;
  if ((yield* countMembers(object)) < before) lossy.add(object);
  return result;
}

function* countMembers({ metadata: _, ...content }: Readonly<Record<string, unknown>>): SlicedWork<number> {
  return yield* countIn(content, new SlicePace());
}

function* countIn(value: unknown, pace: SlicePace): SlicedWork<number> {
  if (pace.isDue()) yield;
  const parts: readonly unknown[] = Array.isArray(value) ? value : isJsonObject(value) ? Object.values(value) : [];
  let count = parts.length;
  for (const part of parts) if (typeof part === 'object' && part !== null) count += yield* countIn(part, pace);
  return count;
}
