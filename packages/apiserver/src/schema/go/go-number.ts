// Numbers of JSON as Go reads them: 64-bit integers with all digits, everything else as doubles. Used by typed-decoder.ts
// and by the validation of values.
import { ExactNumber } from '@kapstan/api';
import { isInt64, isJsonObject } from '@kapstan/api/internal';

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
  return isInt64(value.text) && !Number.isSafeInteger(nearest) ? value : nearest;
}

/** Makes all numbers of a JSON value plain, in place, and returns the value. */
export function makeNumbersPlain(value: unknown): unknown {
  if (value instanceof ExactNumber) return plainNumber(value);
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      const plain = makeNumbersPlain(item);
      if (plain !== item) value[index] = plain;
    }
  } else if (isJsonObject(value)) {
    for (const name of Object.keys(value)) {
      const plain = makeNumbersPlain(value[name]);
      if (plain !== value[name]) value[name] = plain;
    }
  }
  return value;
}
