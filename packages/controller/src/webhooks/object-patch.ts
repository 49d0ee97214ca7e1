// Computes the JSON patch from an object to its changed copy. Used by admission-call.ts for the answers of mutating
// webhooks.
import { ExactNumber } from '@kapstan/api';
import { getOwn, isJsonObject } from '@kapstan/api/internal';

/** Source: RFC 6902. */
export type PatchOperation =
  | { readonly op: 'add' | 'replace'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string };

/**
 * Returns the operations that turn one JSON value into the other, in the order in which they apply: empty for equal
 * values. Members that are undefined count as absent. Lists keep their common beginning and end; items between them are
 * compared in pairs, then removed from the last one down or added from the first one up, so that every index is right
 * when its operation applies.
 */
export function objectPatch(before: unknown, after: unknown): readonly PatchOperation[] {
  const operations: PatchOperation[] = [];
  compare(before, after, { path: '', operations });
  return operations;
}

interface Place {
  readonly path: string;
  readonly operations: PatchOperation[];
}

function compare(before: unknown, after: unknown, place: Place): void {
  if (Array.isArray(before) && Array.isArray(after)) compareLists(before, after, place);
  else if (isJsonObject(before) && isJsonObject(after)) compareMembers(before, after, place);
  else if (!isEqual(before, after)) place.operations.push({ op: 'replace', path: place.path, value: after });
}

function compareMembers(before: Record<string, unknown>, after: Record<string, unknown>, place: Place): void {
  const { path, operations } = place;
  for (const name of Object.keys(before))
    if (before[name] !== undefined && getOwn(after, name) === undefined)
      operations.push({ op: 'remove', path: `${path}/${escaped(name)}` });
  for (const name of Object.keys(after)) {
    const value = after[name];
    if (value === undefined) continue;
    const known = getOwn(before, name);
    const inner = `${path}/${escaped(name)}`;
    if (known === undefined) operations.push({ op: 'add', path: inner, value });
    else compare(known, value, { path: inner, operations });
  }
}

function compareLists(before: readonly unknown[], after: readonly unknown[], place: Place): void {
  const { path, operations } = place;
  const shorter = Math.min(before.length, after.length);
  let head = 0;
  while (head < shorter && isEqual(before[head], after[head])) head++;
  let tail = 0;
  while (tail < shorter - head && isEqual(before[before.length - 1 - tail], after[after.length - 1 - tail])) tail++;
  const [beforeEnd, afterEnd] = [before.length - tail, after.length - tail];
  const pairsEnd = Math.min(beforeEnd, afterEnd);
  for (let at = head; at < pairsEnd; at++)
    compare(before[at], listed(after[at]), { path: `${path}/${at}`, operations });
  for (let at = beforeEnd - 1; at >= pairsEnd; at--) operations.push({ op: 'remove', path: `${path}/${at}` });
  for (let at = pairsEnd; at < afterEnd; at++)
    operations.push({ op: 'add', path: `${path}/${at}`, value: listed(after[at]) });
}

/** Returns JSON's replacement for an item that is undefined. */
function listed(item: unknown): unknown {
  return item === undefined ? null : item;
}

function isEqual(one: unknown, other: unknown): boolean {
  if (Object.is(one, other) || one === other) return true;
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((item, at) => isEqual(item, other[at]));
  if (isJsonObject(one) && isJsonObject(other)) return hasMembersOf(one, other) && hasMembersOf(other, one);
  return one instanceof ExactNumber && other instanceof ExactNumber && one.text === other.text;
}

function hasMembersOf(one: Record<string, unknown>, other: Record<string, unknown>): boolean {
  return Object.keys(other).every((name) => other[name] === undefined || isEqual(getOwn(one, name), other[name]));
}

/** Source: RFC 6901. */
function escaped(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}
