// SlicedWork: work on large values that can pause between any two steps, so that other work gets a turn of the event
// loop. A step ends with `yield`; the runner continues at once (runWhole, for small values) or later (runInTurns of
// @kapstan/storage). Decision 0017.

/**
 * A generator that yields every few hundred microseconds of work and returns the result. The work must not rely on
 * state that others may change across a `yield`. Work that needs an answer from elsewhere yields a promise ({@link
 * awaited}) and is resumed when the promise has settled.
 */
export type SlicedWork<T> = Generator<Promise<void> | undefined, T, undefined>;

/** Members of a list or map between two yields, for work of about a microsecond each. */
export const membersPerSlice = 256;

/** Does all of the work now. Throws the work's error, and TypeError for work that has to wait for an answer. */
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

/**
 * Calls `visit` for each item, and yields after every `perSlice` items. Choose it so that a slice takes a few hundred
 * microseconds.
 */
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

/** Nodes that one step of a walk may visit without counting. */
const nodesPerSlice = 512;

/**
 * Lower bounds of the number of members of large maps. Counting means listing all names, which takes 60 ms for 200,000,
 * so each map is counted once and not again by each level above it and each stage.
 */
const largeMaps = new WeakMap<object, number>();

/**
 * Tells {@link fitsOneSlice} the number of members, so that it need not count. Code that has just made the map calls
 * it.
 */
export function rememberSize(map: object, members: number): void {
  if (members > nodesPerSlice) largeMaps.set(map, members);
}

/** Returns the known number of members without counting; 0 for a small map, or one that nobody has counted. */
export function knownSize(map: object): number {
  return largeMaps.get(map) ?? 0;
}

/** Number of names from which listing them takes some milliseconds. */
const longListing = 16_384;

/** Names between two yields when they are only looked up, at about 0.1 microseconds each. */
const lookUpsPerSlice = 4096;

/** Names of large maps to which nobody adds members. */
const namesOfMaps = new WeakMap<object, readonly string[]>();

/**
 * Keeps the names of a large map, so that {@link namesInSlices} need not list them. Use it only for maps to which nobody adds a member
 * afterwards, such as FieldsV1: an added one would not be found. Members may be removed. The list of names must not change either.
 */
export function rememberNames(map: object, names: readonly string[]): void {
  rememberSize(map, names.length);
  if (names.length >= longListing) namesOfMaps.set(map, names);
}

/**
 * Does what {@link rememberSize} does for a copy with all members of the original, whose names it may use if they are
 * kept.
 */
export function rememberCopy(copy: object, original: object, members: number): void {
  rememberSize(copy, members);
  const names = members < longListing ? undefined : namesOfMaps.get(original);
  if (names !== undefined) namesOfMaps.set(copy, names);
}

/**
 * Returns the names of a map's members. Listing 200,000 takes 25 ms or more and cannot be divided, so a long listing is a separate step and
 * no turn has two. Names kept by {@link rememberNames} are looked up instead, in slices.
 */
export function* namesInSlices(map: object): SlicedWork<string[]> {
  if (knownSize(map) < longListing) return Object.keys(map);
  const kept = namesOfMaps.get(map);
  if (kept !== undefined) return yield* namesStillIn(map, kept);
  yield;
  const names = Object.keys(map);
  yield;
  return names;
}

function* namesStillIn(map: object, kept: readonly string[]): SlicedWork<string[]> {
  const names: string[] = [];
  for (const [index, name] of kept.entries()) {
    if (Object.hasOwn(map, name)) names.push(name);
    if (index % lookUpsPerSlice === lookUpsPerSlice - 1) yield;
  }
  return names;
}

/**
 * True when a JSON value has so few nodes that walking all of it is one step. Looks at no more than 512 nodes, so a
 * walk in slices may ask it for each child: `fitsOneSlice(child) ? walk(child) : yield* walkInSlices(child)`.
 */
export function fitsOneSlice(value: unknown): boolean {
  return nodesLeft(value, nodesPerSlice) >= 0;
}

/** A walk that ends in a map has listed all of its names, however few it used, so a large map must not be walked again. */
const fewMembers = 16;

/**
 * Remembers maps that have more members than half the nodes of a slice: with so many, the rest of the value makes it
 * too large for one slice.
 */
function rememberLarge(map: object, seen: number): void {
  const members = seen > nodesPerSlice / 2 ? seen : Object.keys(map).length;
  if (members > nodesPerSlice / 2) largeMaps.set(map, members);
}

/** Returns how many of `most` nodes the value leaves over; negative when it has more than these, whose rest is not counted. */
export function nodesLeft(value: unknown, most: number): number {
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
  if (left < 0 && members > fewMembers) rememberLarge(value, members);
  return left;
}
