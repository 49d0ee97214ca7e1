import { parseJson, type Revision, stringifyJson } from '@kapstan/api';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jsonCodec } from './codec.ts';
import { jsonLine, jsonMember, spliceResourceVersion } from './json-splice.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const splice = (text: string): string | undefined => {
  const wire = spliceResourceVersion(bytes(text), '12');
  return wire === undefined ? undefined : Buffer.from(wire).toString();
};

describe('spliceResourceVersion', () => {
  it.each([
    ['{"kind":"Pod","metadata":{"name":"a"}}\n', '{"kind":"Pod","metadata":{"resourceVersion":"12","name":"a"}}'],
    ['{"metadata":{}}', '{"metadata":{"resourceVersion":"12"}}'],
    [
      '{"a":{"metadata":{"x":[1,"}"]}},"metadata":{"name":"b"}}',
      '{"a":{"metadata":{"x":[1,"}"]}},"metadata":{"resourceVersion":"12","name":"b"}}',
    ],
    [
      '{"a":"\\"metadata\\":{","metadata":{"n":1}}',
      '{"a":"\\"metadata\\":{","metadata":{"resourceVersion":"12","n":1}}',
    ],
    [
      '{"a":-1.5e3,"b":null,"c":[[],{}],"metadata":{"n":1}}',
      '{"a":-1.5e3,"b":null,"c":[[],{}],"metadata":{"resourceVersion":"12","n":1}}',
    ],
    ['{"kind":"é\u{1F600}","metadata":{"n":"é"}}', '{"kind":"é\u{1F600}","metadata":{"resourceVersion":"12","n":"é"}}'],
    [
      '{"n":12345678901234567890,"metadata":{"n":1}}',
      '{"n":12345678901234567890,"metadata":{"resourceVersion":"12","n":1}}',
    ],
  ])('%s', (stored, expected) => expect(splice(stored)).toBe(expected));

  it.each([
    '{"kind":"Pod"}',
    '{"metadata":null}',
    '{"metadata":"x"}',
    '{"metadata": {"name":"a"}}',
    ' {"metadata":{"name":"a"}}',
    '{"metadata":{"resourceVersion":"3"}}',
    '{"metadata":{"selfLink":"/x"}}',
    '[]',
    '',
    '{"a',
  ])('leaves %j to the encoder', (stored) => expect(splice(stored)).toBeUndefined());

  it('gives the bytes of the decoded object for any object', () => {
    const codec = jsonCodec();
    const names = fc.oneof(fc.string(), fc.constantFrom('resourceVersion', 'metadata', '__proto__', '"', '\\'));
    const objects = fc.record({
      before: fc.jsonValue(),
      metadata: fc.dictionary(names, fc.jsonValue()),
      spec: fc.jsonValue(),
    });
    fc.assert(
      fc.property(objects, (object) => {
        const text = stringifyJson(object);
        const revision = 7 as Revision;
        const wire = codec.wireJson?.(bytes(text), revision);
        fc.pre(wire !== undefined);
        expect(parseJson(Buffer.from(wire ?? []).toString())).toEqual(codec.decode(bytes(text), revision));
      }),
      { numRuns: 300 },
    );
  });
});

describe('jsonMember', () => {
  const cut = (text: string): string | undefined => {
    const value = jsonMember(bytes(text), 'metadata');
    return value === undefined ? undefined : Buffer.from(value).toString();
  };

  it('is the text of the value of any compact object, wherever it stands', () => {
    const members = fc.array(fc.tuple(fc.oneof(fc.string(), fc.constantFrom('"', '\\', 'metadatas')), fc.jsonValue()));
    fc.assert(
      fc.property(members, fc.jsonValue(), members, (before, value, after) => {
        const text = (list: [string, unknown][]): string[] =>
          list
            .filter(([name]) => name !== 'metadata')
            .map(([name, it]) => `${JSON.stringify(name)}:${JSON.stringify(it)}`);
        const own = JSON.stringify(value);
        expect(cut(`{${[...text(before), `"metadata":${own}`, ...text(after)].join(',')}}`)).toBe(own);
      }),
      { numRuns: 300 },
    );
  });

  it.each(['{"kind":"Pod"}', '{"spec":{"metadata":{}}}', '{"kind":"Pod", "metadata":{}}', '[]', '', '{"a'])(
    'is not known of %j',
    (text) => expect(cut(text)).toBeUndefined(),
  );

  it('shares its bytes with the whole', () => {
    const whole = bytes('{"metadata":{"name":"a"}}');
    expect(jsonMember(whole, 'metadata')?.buffer).toBe(whole.buffer);
  });
});

describe('jsonCodec', () => {
  it('distinguishes a reordering from a change', () => {
    const { isSameContent } = jsonCodec();
    const same = (a: string, b: string) => isSameContent?.(bytes(a), bytes(b));
    expect(same('{"a":1,"b":[1,2]}', '{"b":[1,2],"a":1}')).toBe(true);
    expect(same('{"a":1,"b":[1,2]}', '{"b":[2,1],"a":1}')).toBe(false);
    expect(same('{"a":1,"b":2}', '{"a":1,"b":3}')).toBe(false);
    expect(same('{"a":10000000000000000001}', '{"a":10000000000000000002}')).toBe(false);
    expect(same('{"a":1}', ' {"a":1}')).toBe(false);
  });

  it('refuses values that are not objects', () => {
    for (const text of ['[]', 'null', '1', '{', '\xff']) {
      expect(() => jsonCodec().decode(bytes(text), 1 as Revision)).toThrow();
    }
  });
});

describe('jsonLine', () => {
  const text = (line: Uint8Array): string => Buffer.from(line).toString();

  it('finds the newline behind what was spliced, and copies nothing', () => {
    const wire = spliceResourceVersion(bytes('{"metadata":{"name":"a"}}\n'), '12') as Uint8Array;
    const line = jsonLine(wire);
    expect(text(line)).toBe('{"metadata":{"resourceVersion":"12","name":"a"}}\n');
    expect([line.buffer === wire.buffer, text(wire).at(-1)]).toEqual([true, '}']);
  });

  it('copies what is a part of something, what stands alone, and what has another byte behind it', () => {
    const part = Buffer.from('[{"a":1}\n]').subarray(1, 8);
    const alone = new Uint8Array(bytes('{"a":1}'));
    const followed = new Uint8Array(bytes('{"a":1},')).subarray(0, 7);
    for (const json of [part, alone, followed]) {
      const line = jsonLine(json);
      expect(text(line)).toBe('{"a":1}\n');
      expect(line.buffer).not.toBe(json.buffer);
    }
  });
});
