// SlicedWork: work on large values that can be laid down between any two steps, so that others have their turn of the event
// loop. A step is a `yield`; who runs the work decides whether it goes on at once (runWhole, small values) or later
// (runInTurns of @kapstan/storage). Decision 0017.

/**
 * A generator that yields after each few hundred microseconds of work and returns the result. Nothing that others may change
 * meanwhile may be relied on across a `yield`. Work that needs an answer from elsewhere yields the promise of it
 * ({@link awaited}) and is resumed when that has settled.
 */
export type SlicedWork<T> = Generator<Promise<void> | undefined, T, undefined>;

/** Members of a list or map between two yields, where one takes a microsecond or so. */
export const membersPerSlice = 256;

/** Does all of the work now. Throws what the work throws, and TypeError for work that has to wait for an answer. */
export function runWhole<T>(work: SlicedWork<T>): T {
  let step = work.next();
  while (step.done !== true) step = work.next();
  return step.value;
}

/** Rests until the promise has settled, then returns its value or throws its error. */
export function* awaited<T>(promise: Promise<T>): SlicedWork<T> {
  let outcome: { readonly value: T } | { readonly error: unknown } | undefined;
  yield promise.then(
    (value) => {
      outcome = { value };
    },
    (error: unknown) => {
      outcome = { error };
    },
  );
  if (outcome === undefined) throw new TypeError('this work waits for an answer: it cannot be done in one turn');
  if ('error' in outcome) throw outcome.error;
  return outcome.value;
}

/** Calls `visit` for each item, and yields after each `perSlice` of them: as many as take some hundred microseconds. */
export function* eachInSlices<T>(
  items: Iterable<T>,
  visit: (item: T, index: number) => void,
  perSlice: number = membersPerSlice,
): SlicedWork<void> {
  let index = 0;
  for (const item of items) {
    visit(item, index);
    index++;
    if (index % perSlice === 0) yield;
  }
}

/** As `items.flatMap(map)`, with a yield after each `perSlice` items. */
export function* flatMapInSlices<T, R>(
  items: readonly T[],
  map: (item: T, index: number) => readonly R[],
  perSlice: number = membersPerSlice,
): SlicedWork<R[]> {
  const results: R[] = [];
  for (const [index, item] of items.entries()) {
    for (const result of map(item, index)) results.push(result);
    if (index % perSlice === perSlice - 1) yield;
  }
  return results;
}

/** Nodes that one step of a walk may visit without asking. */
const nodesPerSlice = 512;

/**
 * How many members large maps have at least. To ask a map is to list the names of all, which takes 60 ms for 200,000; so it is asked
 * once of each map, and not again by each level above it and each stage.
 */
const largeMaps = new WeakMap<object, number>();

/** Tells {@link fitsOneSlice} that a map of so many members need not be looked at. For who has just made it, and so counted them. */
export function rememberSize(map: object, members: number): void {
  if (members > nodesPerSlice) largeMaps.set(map, members);
}

/** So many members a map is known to have, without a look at it: 0 of one that is small, or that nobody has counted. */
export function knownSize(map: object): number {
  return largeMaps.get(map) ?? 0;
}

/**
 * Whether a JSON value has so few nodes that a walk of all of it is one step. Looks at 512 nodes at most, so a walk in slices
 * may ask it of each child: `fitsOneSlice(child) ? walk(child) : yield* walkInSlices(child)`.
 */
export function fitsOneSlice(value: unknown): boolean {
  return nodesLeft(value, nodesPerSlice) >= 0;
}

function nodesLeft(value: unknown, most: number): number {
  let left = most - 1;
  if (typeof value !== 'object' || value === null || left < 0) return left;
  if (Array.isArray(value)) {
    if (value.length > left) return -1;
    for (let index = 0; index < value.length && left >= 0; index++) left = nodesLeft(value[index], left);
    return left;
  }
  if (largeMaps.has(value)) return -1;
  let members = 0;
  for (const key in value) {
    if (left < 0) break;
    members++;
    left = nodesLeft((value as Record<string, unknown>)[key], left);
  }
  // Half as many members are enough to be remembered: what came before in the same walk has used up the rest.
  if (left < 0 && members > nodesPerSlice / 2) largeMaps.set(value, members);
  return left;
}
