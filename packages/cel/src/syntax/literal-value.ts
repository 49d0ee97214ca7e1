// Returns the values of literals, or the error of a literal without a value.
import { CelFailure } from '../values/failure.ts';
import { int64Range } from '../values/integers.ts';
import { CelUint } from '../values/numbers.ts';
import { doubleValue, intValue, type Value } from '../values/value.ts';
import type { Token } from './token.ts';
import { unescapeBytes, unescapeString } from './unescape.ts';

/** Returns the value of a literal token with the sign before it; undefined for any other token. */
export function literalValue(token: Token, sign: string): Value | undefined {
  switch (token.kind) {
    case 'true':
      return true;
    case 'false':
      return false;
    case 'null':
      return null;
    case 'int':
      return intLiteral(sign, token.text);
    case 'uint':
      return uintLiteral(token.text);
    case 'double':
      return doubleLiteral(sign + token.text);
    case 'string':
      return valueOrError(unescapeString(token.text));
    case 'bytes':
      return valueOrError(unescapeBytes(token.text));
    default:
      return undefined;
  }
}

function intLiteral(sign: string, text: string): Value {
  const magnitude = BigInt(text);
  const value = sign === '' ? magnitude : -magnitude;
  return int64Range.has(value) ? intValue(value) : new CelFailure('invalid int literal');
}

function uintLiteral(text: string): Value {
  const value = BigInt(text.slice(0, -1));
  return value < 2n ** 64n ? new CelUint(value) : new CelFailure('invalid uint literal');
}

function doubleLiteral(text: string): Value {
  const value = Number(text);
  return Number.isFinite(value) ? doubleValue(value) : new CelFailure('invalid double literal');
}

function valueOrError(result: { readonly value: Value } | { readonly error: string }): Value {
  return 'error' in result ? new CelFailure(result.error) : result.value;
}
