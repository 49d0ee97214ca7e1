// Remembers which applied custom resources lost members when they got their canonical form. A kube-apiserver prunes such an object only
// when it encodes it, so its generation rises although the stored content is the same. Read by strategies of custom resources.
import { getOwn, isJsonObject, namesInSlices, type SlicedWork, SlicePace } from '@kapstan/api/internal';

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

/** Counts members and items at every depth, without metadata. */
function* countMembers(object: Readonly<Record<string, unknown>>): SlicedWork<number> {
  const pace = new SlicePace();
  let count = 0;
  for (const name of yield* namesInSlices(object))
    if (name !== 'metadata') count += 1 + (yield* countIn(object[name], pace));
  return count;
}

function* countIn(value: unknown, pace: SlicePace): SlicedWork<number> {
  if (isLeaf(value)) return 0;
  if (Array.isArray(value)) return yield* countAll(value, pace);
  return isJsonObject(value) ? yield* countAll(yield* namesInSlices(value), pace, value) : 0;
}

/** Counts items with their contents, or the members of these names. */
function* countAll(items: readonly unknown[], pace: SlicePace, map?: object): SlicedWork<number> {
  let count = items.length;
  for (const item of items) {
    if (pace.isDue()) yield;
    const part = map === undefined ? item : getOwn(map, item as string);
    if (!isLeaf(part)) count += yield* countIn(part, pace);
  }
  return count;
}

const isLeaf = (value: unknown): boolean => typeof value !== 'object' || value === null;
