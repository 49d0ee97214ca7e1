import { expect, it } from 'vitest';
import { formatGoNumber } from './go-number.ts';
import { ExactNumber } from './json.ts';

it.each<readonly [number | ExactNumber, string]>([
  [1, '1'],
  [1_000_000_000_000_000_000, '1000000000000000000'],
  [2 ** 63, '9.223372036854776e+18'],
  [123_456.5, '123456.5'],
  [1_234_567.5, '1.2345675e+06'],
  [-99_999_999.5, '-9.99999995e+07'],
  [0.0001, '0.0001'],
  [0.00001234, '1.234e-05'],
  [new ExactNumber('9223372036854775807'), '9223372036854775807'],
  [new ExactNumber('12345678901234567890'), '1.2345678901234567e+19'],
])('%s is %s', (value, text) => expect(formatGoNumber(value)).toBe(text));
