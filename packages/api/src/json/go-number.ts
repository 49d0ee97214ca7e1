// Numbers of JSON as Go prints them. Used for the texts of errors and by the columns of Tables.
import { parseInt64 } from '../formats/parse-int64.ts';
import { ExactNumber } from './json.ts';

/** Formats like Go's %v: integers of 64 bits with all digits, other numbers as floats: `1.5`, `1.2345675e+06`. */
export function formatGoNumber(value: number | ExactNumber): string {
  if (typeof value === 'number' && Number.isInteger(value) && Math.abs(value) < 2 ** 63)
    return BigInt(value).toString();
  if (value instanceof ExactNumber && parseInt64(value.text) !== undefined) return value.text;
  const number = Number(value);
  const magnitude = Math.abs(number);
  if (magnitude < 1e6 && magnitude >= 1e-4 && !Number.isInteger(number)) return String(number);
  return number.toExponential().replace(/e([+-])(\d)$/, 'e$10$2');
}
