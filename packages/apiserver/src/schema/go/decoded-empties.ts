// The empty lists and maps that a client sent in optional fields. The server's JSON form of an object lacks them, as Go's
// does; validation sees them. Objects are remembered by identity, so a copy must be registered with carryEmpties.
import { isJsonObject, namesInSlices, runWhole, type SlicedWork, SlicePace, setOwn } from '@kapstan/api/internal';
import { keptEmpty } from '../node/kept-empties.ts';

interface EmptyPlace {
  readonly path: readonly (string | number)[];
  readonly isList: boolean;
}

const remembered = new WeakMap<object, readonly EmptyPlace[]>();

/** Objects that hold lists and maps which the stored form lacks. */
const holders = new WeakSet<object>();

/** Places beyond these are forgotten, so that an object made of empty lists costs no memory. */
const maxPlaces = 1_000;

/** A step from a holder to its member. Only empty lists and maps get their whole path, because objects may be deep. */
interface Step {
  readonly name: string | number;
  readonly above: Step | undefined;
}

interface Search {
  readonly places: EmptyPlace[];
  readonly pace: SlicePace;
}

/** Returns the empty lists and maps of an object. Those of its own metadata are left out: no rule distinguishes them. */
export function* emptyPlaces(object: object): SlicedWork<readonly EmptyPlace[]> {
  const search: Search = { places: [], pace: new SlicePace() };
  for (const [name, value] of Object.entries(object)) {
    if (name !== 'metadata') yield* findEmpty(value, { name, above: undefined }, search);
  }
  return search.places;
}

function* findEmpty(value: unknown, at: Step, { places, pace }: Search): SlicedWork<void> {
  const isList = Array.isArray(value);
  if (!isList && !isJsonObject(value)) return;
  const names = isList ? undefined : yield* namesInSlices(value);
  const count = (names ?? (value as readonly unknown[])).length;
  if (count === 0) places.push({ path: pathOf(at), isList });
  for (let index = 0; index < count && places.length < maxPlaces; index++) {
    if (pace.isDue()) yield;
    const name = names?.[index] ?? index;
    const member = (value as Record<string | number, unknown>)[name];
    if (typeof member === 'object' && member !== null) yield* findEmpty(member, { name, above: at }, { places, pace });
  }
}

function pathOf(last: Step): readonly (string | number)[] {
  const path: (string | number)[] = [];
  for (let step: Step | undefined = last; step !== undefined; step = step.above) path.push(step.name);
  return path.reverse();
}

/** Remembers those of the places that the object has lost since they were found. */
export function rememberEmpties(object: object, places: readonly EmptyPlace[]): void {
  const lost = places.filter(({ path }) => slotOf(object, path) !== undefined);
  if (lost.length > 0) remembered.set(object, lost);
  else remembered.delete(object);
}

/** Makes the copy of an object, or the object that replaces it, have its remembered places. */
export function carryEmpties(from: object, to: object): void {
  const places = remembered.get(from);
  if (places === undefined) remembered.delete(to);
  else remembered.set(to, places);
}

/** Notes that an object must get its stored form before it is written, so that the others need no further pass. */
export function noteEmpties(object: object): void {
  holders.add(object);
}

/** True for an object that {@link noteEmpties} noted. */
export function holdsEmpties(object: object): boolean {
  return holders.has(object);
}

/** Puts the remembered lists and maps back where the object still has the struct that held them. */
export function restoreEmpties(object: object): void {
  for (const { path, isList } of remembered.get(object) ?? []) {
    const slot = slotOf(object, path);
    if (slot !== undefined) setOwn(slot.holder, slot.name, keptEmpty(isList ? [] : {}));
  }
}

/** True where a client sent an empty list or map, which the stored form lacks, and nothing has been put since. */
export function hasSentEmpty(object: object, path: readonly string[]): boolean {
  const isThere = remembered.get(object)?.some((place) => place.path.join() === path.join()) === true;
  return isThere && slotOf(object, path) !== undefined;
}

/** Returns where a value can be put: its holder exists and has none. */
function slotOf(
  object: object,
  path: readonly (string | number)[],
): { readonly holder: Record<string, unknown>; readonly name: string } | undefined {
  let holder: unknown = object;
  for (const name of path.slice(0, -1)) holder = memberOf(holder, name);
  const name = path[path.length - 1] as string | number;
  if (!isJsonObject(holder) || typeof name === 'number') return undefined;
  const present = memberOf(holder, name);
  return present === undefined || present === null ? { holder, name } : undefined;
}

function memberOf(holder: unknown, name: string | number): unknown {
  if (typeof holder !== 'object' || holder === null || !Object.hasOwn(holder, name)) return undefined;
  return (holder as Record<string | number, unknown>)[name];
}

/** Does what {@link emptyPlaces} does, for an object of one slice. */
export function emptyPlacesOf(object: object): readonly EmptyPlace[] {
  return runWhole(emptyPlaces(object));
}
