import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseMarked, parseText } from './json-text.ts';

const names = fc.oneof(fc.string(), fc.constantFrom('"', '\\', '\n', '\u0001', '', '__proto__', 'a', 'a\\', 'a\n'));
const objects = fc.dictionary(names, fc.oneof(fc.jsonValue(), fc.dictionary(names, fc.jsonValue())));

describe.each([
  { name: 'parseText', parse: parseText },
  { name: 'parseMarked', parse: parseMarked },
])('$name', ({ parse }) => {
  it('takes no name for one of another object, as V8 of Node 24 does after a name with a backslash', () => {
    parse(String.raw`{"a":0,"\\":1,"c\\":2}`);
    expect(parse(String.raw`{"a":0,"\n":1,"c\"":2,"\u0061b":3,"\u0062" : [{"c":4,"\"":5}]}`)).toEqual({
      a: 0,
      '\n': 1,
      'c"': 2,
      ab: 3,
      b: [{ c: 4, '"': 5 }],
    });
  });

  it('leaves texts that only look like names as they are', () => {
    const value = { a: '"\\n":', b: ['\n', '"'] };
    expect(parse(JSON.stringify(value))).toEqual(value);
  });

  it('reads back any object, members in order', () => {
    fc.assert(
      fc.property(objects, (object) => {
        expect(JSON.stringify(parse(JSON.stringify(object)))).toBe(JSON.stringify(object));
      }),
    );
  });

  it('refuses text that is not JSON', () => expect(() => parse('{"a":0,"\\n":}')).toThrow(SyntaxError));
});
