// The JSON of a value of any size, written in slices: JSON.stringify takes a tenth of a second for what a request may hold.
import { fitsOneSlice, isJsonObject, type SlicedWork, stringifyJson } from '@kapstan/api';

/** As {@link stringifyJson} writes it. */
export function* jsonInSlices(value: unknown): SlicedWork<string> {
  const parts: string[] = [];
  yield* write(value, parts);
  return parts.join('');
}

function* write(value: unknown, parts: string[]): SlicedWork<void> {
  if (fitsOneSlice(value)) parts.push(stringifyJson(value) ?? 'null');
  else if (Array.isArray(value))
    yield* writeMembers(value, (index) => value[Number(index)], { parts, open: '[', close: ']' });
  else if (isJsonObject(value)) yield* writeMembers(value, (key) => value[key], { parts, open: '{', close: '}' });
}

interface Writing {
  readonly parts: string[];
  readonly open: '[' | '{';
  readonly close: ']' | '}';
}

function* writeMembers(
  value: object,
  memberOf: (key: string) => unknown,
  { parts, open, close }: Writing,
): SlicedWork<void> {
  let separator: string = open;
  let written = 0;
  const keys = Object.keys(value);
  // The list of the names of a large map takes as long as many of its members.
  if (keys.length > manyMembers) yield;
  for (const key of keys) {
    const member = memberOf(key);
    if (member === undefined && open === '{') continue;
    parts.push(open === '[' ? separator : `${separator}${JSON.stringify(key)}:`);
    separator = ',';
    if (fitsOneSlice(member)) parts.push(stringifyJson(member) ?? 'null');
    else yield* write(member, parts);
    written += 1;
    if (written % membersPerSlice === 0) yield;
  }
  if (separator === open) parts.push(open);
  parts.push(close);
}

/** Most are of a few values; of the largest that fit, so many take a millisecond. */
const membersPerSlice = 64;

const manyMembers = 4096;
