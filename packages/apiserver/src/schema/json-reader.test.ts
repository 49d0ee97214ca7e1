import { ExactNumber, parseJson, stringifyJson } from '@kapstan/api';
import { JsonSyntaxError, readJsonSlowly } from '@kapstan/api/internal';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readJson } from './json-reader.ts';

const values = fc.jsonValue({ maxDepth: 4 });

describe('reading JSON', () => {
  it('gives what JSON.parse gives, fast or slowly', () => {
    fc.assert(
      fc.property(values, fc.constantFrom(undefined, 2), (value, indent) => {
        const text = JSON.stringify(value, undefined, indent);
        const expected = stringifyJson(parseJson(text));
        expect(stringifyJson(readJson(text).value).replaceAll('-0', '0')).toBe(expected.replaceAll('-0', '0'));
        expect(JSON.stringify(plain(readJsonSlowly(text).value))).toBe(JSON.stringify(JSON.parse(text)));
      }),
    );
  });

  it('refuses what JSON.parse refuses', () => {
    fc.assert(
      fc.property(
        values,
        fc.nat(),
        fc.constantFrom('', '"', '{', '}', ',', ':', '0', 'e', '\n', '\\', 'é'),
        (value, place, char) => {
          const text = JSON.stringify(value);
          const at = place % (text.length + 1);
          const broken = text.slice(0, at) + char + text.slice(at + 1);
          expect(refuses(() => readJson(broken))).toBe(refuses(() => JSON.parse(broken)));
        },
      ),
    );
  });

  it.each<readonly [text: string, message: string]>([
    ['', 'unexpected end of JSON input'],
    ['[1', 'unexpected end of JSON input'],
    ['"a', 'unexpected end of JSON input'],
    ['tru', "invalid character ' ' in literal true (expecting 'e')"],
    ['{"a":-', "invalid character ' ' in numeric literal"],
    ['{"a":1.', "invalid character ' ' after decimal point in numeric literal"],
    ['{"a":1e+', "invalid character ' ' in exponent of numeric literal"],
    ['{"a":"\\', "invalid character ' ' in string escape code"],
    ['{"a":"\\u12', "invalid character ' ' in \\u hexadecimal character escape"],
    ['{"a":1}}', "invalid character '}' after top-level value"],
    ['{a:1}', "invalid character 'a' looking for beginning of object key string"],
    ['{"a" 1}', "invalid character '1' after object key"],
    ['{"a":1 "b"}', `invalid character '"' after object key:value pair`],
    ['[1 2]', "invalid character '2' after array element"],
    ['[1,]', "invalid character ']' looking for beginning of value"],
    ['trux', "invalid character 'x' in literal true (expecting 'e')"],
    ['"\n"', "invalid character '\\n' in string literal"],
    ['"\\q"', "invalid character 'q' in string escape code"],
    ['"\\u00g0"', "invalid character 'g' in \\u hexadecimal character escape"],
    ['-x', "invalid character 'x' in numeric literal"],
    ['1.x', "invalid character 'x' after decimal point in numeric literal"],
    ['1e+x', "invalid character 'x' in exponent of numeric literal"],
    ['01', "invalid character '1' after top-level value"],
    ["'a'", "invalid character '\\'' looking for beginning of value"],
    ['\u0001', "invalid character '\\x01' looking for beginning of value"],
  ])('says of %j what Go says', (text, message) => {
    expect(() => readJson(text)).toThrow(new JsonSyntaxError(message));
  });

  it('reports where names repeat, and all values that stood there', () => {
    const { value, repeats } = readJson('{"a":{"x":1,"x":2},"b":[{"y":1}],"c":"\\"a\\":1"}');
    expect(value).toEqual({ a: { x: 2 }, b: [{ y: 1 }], c: '"a":1' });
    expect([...repeats]).toEqual([
      [
        { x: 2 },
        [
          ['x', 1],
          ['x', 2],
        ],
      ],
    ]);
    expect(readJson('{"a":{"x":1},"b":{"x":1}}').repeats.size).toBe(0);
  });

  it('keeps the spelling of numbers that doubles would respell', () => {
    const { value } = readJson('[1.0, 1e3, 12345678901234567890, 7]');
    expect(value).toEqual([new ExactNumber('1.0'), new ExactNumber('1e3'), new ExactNumber('12345678901234567890'), 7]);
  });

  it.each([
    ['"x\\ud800y"', 'x\ufffdy'],
    ['"\\uDC00"', '\ufffd'],
    ['"\\ud800\\ud800"', '\ufffd\ufffd'],
    ['"\\udc00\\ud83d\\ude00"', '\ufffd\u{1f600}'],
    ['"\\\\ud800"', '\\ud800'],
    ['"\\u0041\\ud7ff\\ue000"', 'A\ud7ff\ue000'],
  ])('makes half of a surrogate pair U+FFFD: %s', (text, value) => {
    expect(readJson(text).value).toBe(value);
    expect(readJson(`{"\\ud800": ${text}, "n": 1.50}`).value).toHaveProperty(['\ufffd'], value);
  });

  it('bounds the depth', () => {
    const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
    expect(readJson(nested(1000)).value).toBeInstanceOf(Array);
    expect(() => readJson(nested(1001))).toThrow("invalid character '[' exceeded max depth");
    expect(() => readJson('['.repeat(1_000_000))).toThrow('exceeded max depth');
  });
});

function plain(value: unknown): unknown {
  if (value instanceof ExactNumber) return Number(value.text);
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, plain(member)]));
}

function refuses(read: () => unknown): boolean {
  try {
    read();
    return false;
  } catch (error) {
    return error instanceof Error;
  }
}
