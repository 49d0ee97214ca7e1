import { describe, expect, expectTypeOf, it } from 'vitest';
import { deepFreeze } from '../objects/deep-freeze.ts';
import type { DeepReadonly, KubernetesObject } from '../objects/kubernetes-object.ts';
import { deepCopy, ExactNumber, getOwn, isJsonObject, parseJson, setOwn, stringifyJson } from './json.ts';

describe('parseJson and stringifyJson', () => {
  it.each([
    '{"a":9007199254740993}',
    '{"a":[12345678901234567890,-0.12345678901234567]}',
    '{"a":1.0000000000000000,"b":{"c":100000000000000000000000000000}}',
    '18446744073709551615',
    '{"a":"9007199254740993 in a text","b":9007199254740993}',
    String.raw`{"a":"\"9007199254740993\\","b":9007199254740993}`,
    '{"uid":"0f8fad5b-d9cb-469f-a165-70867728950e","n":1}',
    '{"a":9007199254740991,"b":1.5,"c":1e+21}',
    '{"__proto__":9007199254740993,"constructor":{"toString":9007199254740993}}',
    '[]',
    'null',
  ])('brings %s back digit for digit', (text) => {
    expect(stringifyJson(parseJson(text))).toBe(text);
  });

  it('makes plain numbers of what doubles hold exactly', () => {
    expect(parseJson('{"a":9007199254740991,"b":123456789012345}')).toEqual({
      a: 9_007_199_254_740_991,
      b: 123_456_789_012_345,
    });
    expect(parseJson('{"a":9007199254740993}')).toEqual({ a: new ExactNumber('9007199254740993') });
  });

  it('keeps __proto__ as a plain key', () => {
    for (const text of ['{"__proto__":{"polluted":1}}', '{"__proto__":{"polluted":12345678901234567890}}']) {
      const value = parseJson(text) as object;
      expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
      expect(Object.keys(value)).toEqual(['__proto__']);
      expect(stringifyJson(deepCopy(value))).toBe(text);
      expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    }
  });

  it('takes no text of a user for a number, whatever it looks like', () => {
    const text = '{"a":"\uE000exact-number:12","b":9007199254740993}';
    expect(stringifyJson(parseJson(text))).toBe(text);
    const marked = JSON.parse(stringifyJson([new ExactNumber('1'), 'x'])) as unknown;
    expect(marked).toEqual([1, 'x']);
  });

  it.each(['', '{', '[1,]', '[01234567890123456789]', '{"a":12345678901234567890 1}', '[1234567890123456.]'])(
    'refuses %j',
    (text) => {
      expect(() => parseJson(text)).toThrow(SyntaxError);
    },
  );

  it('finds a long number wherever one can stand', () => {
    const long = '12345678901234567890';
    for (const text of [
      long,
      `-${long}`,
      `[${long}]`,
      `[1,${long}]`,
      `{"a":${long}}`,
      `{"a" : ${long} }`,
      `\n${long}\t`,
    ]) {
      expect(stringifyJson(parseJson(text))).toBe(text.replace(/\s/g, ''));
    }
  });

  it('finds a number of sixteen digits at every position of a text', () => {
    for (let before = 0; before < 40; before++)
      for (const number of ['9007199254740993', '-0.12345678901234567', '12345.678901234567e+300']) {
        const text = `["${'x'.repeat(before)}",${number},"1.2.3"]`;
        expect(stringifyJson(parseJson(text))).toBe(text);
      }
  });

  it('reads long texts beside long numbers', () => {
    const text = stringifyJson({
      long: 'x'.repeat(12_000_000),
      escaped: '\n'.repeat(1_000_000),
      n: new ExactNumber('9007199254740993'),
    });
    expect(stringifyJson(parseJson(text))).toBe(text);
  });

  it('indents and drops undefined like JSON.stringify', () => {
    expect(stringifyJson({ a: 1, b: undefined, c: new ExactNumber('9007199254740993') }, 2)).toBe(
      '{\n  "a": 1,\n  "c": 9007199254740993\n}',
    );
  });

  it('gives the nearest double to a plain JSON.stringify, also after an error', () => {
    const loop: { self?: unknown; n: ExactNumber } = { n: new ExactNumber('9007199254740993') };
    loop.self = loop;
    expect(() => stringifyJson(loop)).toThrow(TypeError);
    expect(JSON.stringify(new ExactNumber('9007199254740993'))).toBe('9007199254740992');
    expect([Number(new ExactNumber('5')), String(new ExactNumber('5.0'))]).toEqual([5, '5.0']);
  });
});

describe('own keys', () => {
  it('sets and gets whatever the name', () => {
    const target: Record<string, unknown> = {};
    setOwn(target, '__proto__', 1);
    setOwn(target, 'a', 2);
    expect(Object.entries(target)).toEqual([
      ['__proto__', 1],
      ['a', 2],
    ]);
    expect([getOwn(target, '__proto__'), getOwn(target, 'a'), getOwn(target, 'toString')]).toEqual([1, 2, undefined]);
  });

  it('distinguishes plain objects from all other values', () => {
    expect([{}, [], null, 1, 'x', new ExactNumber('1')].map(isJsonObject)).toEqual([
      true,
      false,
      false,
      false,
      false,
      false,
    ]);
  });
});

describe('deepCopy and deepFreeze', () => {
  it('copies deeply and keeps exact numbers', () => {
    const original = { a: [{ b: new ExactNumber('12345678901234567890') }], c: null };
    const copy = deepCopy(original);
    expect(copy).toEqual(original);
    expect(copy.a).not.toBe(original.a);
    expect(copy.a[0]?.b).toBe(original.a[0]?.b);
  });

  it('gives what is read from a cache as its own type, to be changed', () => {
    interface Thing extends KubernetesObject {
      spec?: { parts?: { name: string }[]; sizes?: [number, number]; labels?: Record<string, string>; any?: unknown };
      at: 'here' | null;
    }
    const things: readonly DeepReadonly<Thing>[] = deepFreeze([
      { metadata: { name: 'a' }, spec: { parts: [{ name: 'p' }] }, at: 'here' } as Thing,
    ]);
    for (const cached of things) {
      const copy = deepCopy(cached);
      copy.metadata = { ...copy.metadata, labels: {} };
      copy.spec?.parts?.push({ name: 'q' });
      copy.at = null;
      // The value is assignable in both directions, so it has its original type: a list, a tuple, a map or unknown.
      expectTypeOf(copy).branded.toEqualTypeOf<Thing>();
      const mine: Thing = copy;
      expect(mine).toEqual({
        metadata: { name: 'a', labels: {} },
        spec: { parts: [{ name: 'p' }, { name: 'q' }] },
        at: null,
      });
      expect(cached.spec?.parts).toEqual([{ name: 'p' }]);
    }
    expectTypeOf(deepCopy(things)).branded.toEqualTypeOf<Thing[]>();
    expectTypeOf(deepCopy(things[0])).branded.toEqualTypeOf<Thing | undefined>();
    expectTypeOf(deepCopy(things[0]?.spec?.labels)).branded.toEqualTypeOf<Record<string, string> | undefined>();
    expectTypeOf(deepCopy({} as Thing)).branded.toEqualTypeOf<Thing>();
    expectTypeOf(deepCopy(5 as unknown)).toBeUnknown();
  });

  it('freezes through and through', () => {
    const frozen = deepFreeze({ a: [{ b: 1 }] }) as { a: { b: number }[] };
    expect(() => frozen.a.push({ b: 2 })).toThrow(TypeError);
    expect(() => {
      (frozen.a[0] as { b: number }).b = 2;
    }).toThrow(TypeError);
    expect(deepFreeze('text')).toBe('text');
  });
});
