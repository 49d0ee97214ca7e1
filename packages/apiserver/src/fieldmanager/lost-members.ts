// Remembers which applied custom resources lost members when they were brought into form. A kube-apiserver prunes such an object
// only when it encodes it, so its generation rises although the stored content is the same. Read by strategies of custom resources.
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
  if (typeof value !== 'object' || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) {
    for (const item of value) {
      if (pace.isDue()) yield;
      count += 1 + (isLeaf(item) ? 0 : yield* countIn(item, pace));
    }
  } else if (isJsonObject(value)) {
    for (const name of yield* namesInSlices(value)) {
      if (pace.isDue()) yield;
      const member = getOwn(value, name);
      count += 1 + (isLeaf(member) ? 0 : yield* countIn(member, pace));
    }
  }
  return count;
}

const isLeaf = (value: unknown): boolean => typeof value !== 'object' || value === null;
