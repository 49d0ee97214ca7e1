// The JSON of a value of any size, written in slices: JSON.stringify takes a tenth of a second for what a request may hold.
import { fitsOneSlice, isJsonObject, type SlicedWork, stringifyJson } from '@kapstan/api';

/** As {@link stringifyJson} writes it. */
export function* jsonInSlices(value: unknown): SlicedWork<string> {
  const parts: string[] = [];
  yield* write(value, parts);
  return parts.join('');
}

function* write(value: unknown, parts: string[]): SlicedWork<void> {
  const isList = Array.isArray(value);
  if ((!isList && !isJsonObject(value)) || fitsOneSlice(value)) {
    parts.push(stringifyJson(value) ?? 'null');
    return;
  }
  let separator = isList ? '[' : '{';
  let small = 0;
  for (const key of Object.keys(value)) {
    const member = (value as Record<string, unknown>)[key];
    if (member === undefined && !isList) continue;
    parts.push(isList ? separator : `${separator}${JSON.stringify(key)}:`);
    separator = ',';
    if (!fitsOneSlice(member)) {
      yield* write(member, parts);
      continue;
    }
    parts.push(stringifyJson(member) ?? 'null');
    small += 1;
    if (small % membersPerSlice === 0) yield;
  }
  if (separator !== ',') parts.push(separator);
  parts.push(isList ? ']' : '}');
}

/** Most are of a few values; of the largest that fit, so many take a millisecond. */
const membersPerSlice = 64;
