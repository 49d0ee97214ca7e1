// Numbers of JSON as Go reads them: 64-bit integers with all digits, everything else as doubles. Used by typed-decoder.ts,
// by the validation of values, and for converted objects.
import { ExactNumber } from '@kapstan/api';
import { namesInSlices, parseInt64, runWhole, type SlicedWork, SlicePace, setOwn } from '@kapstan/api/internal';
import { GoValueError } from './go-value-error.ts';

export function isNumber(value: unknown): value is number | ExactNumber {
  return typeof value === 'number' || value instanceof ExactNumber;
}

/**
 * Returns the number that Go stores for one without a type: `1.0` is 1, and only integers of 64 bits keep more digits
 * than a double has. Source: apimachinery util/json.
 */
export function plainNumber(value: number | ExactNumber): number | ExactNumber {
  if (typeof value === 'number') return value;
  const nearest = Number(value.text);
  return parseInt64(value.text) !== undefined && !Number.isSafeInteger(nearest) ? value : nearest;
}

/** Returns Go's error for a number that no double can hold. */
export function infinityText(value: number | ExactNumber): string {
  return `json: cannot unmarshal number ${value} into Go value of type float64`;
}

/** Makes all numbers of a JSON value plain, in place, and returns the value. Throws {@link GoValueError} for a number that no double can hold. */
export function makeNumbersPlain(value: unknown): unknown {
  return runWhole(makeNumbersPlainInSlices(value));
}

/** Does what {@link makeNumbersPlain} does, for a value of any size. */
export function* makeNumbersPlainInSlices(value: unknown, pace: SlicePace = new SlicePace()): SlicedWork<unknown> {
  if (value instanceof ExactNumber) return finiteNumber(value);
  if (!isContainer(value)) return value;
  const names: Iterable<string | number> = Array.isArray(value) ? value.keys() : yield* namesInSlices(value);
  for (const name of names) {
    const member = value[name];
    if (isContainer(member)) {
      const plain = yield* makeNumbersPlainInSlices(member, pace);
      if (plain !== member) setOwn(value, String(name), plain);
    }
    if (pace.isDue()) yield;
  }
  return value;
}

function isContainer(value: unknown): value is Record<string | number, unknown> {
  return typeof value === 'object' && value !== null;
}

function finiteNumber(value: ExactNumber): number | ExactNumber {
  if (!Number.isFinite(Number(value.text))) throw new GoValueError(infinityText(value), { isFoundLater: true });
  return plainNumber(value);
}
