import { type KubernetesObject, stringifyJson } from '@kapstan/api';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type DecodedList, ListDecoder } from './list-decoder.ts';

const options = { apiVersion: 'v1', kind: 'Pod' };
const decode = (text: string, chunkBytes = Number.POSITIVE_INFINITY): DecodedList<KubernetesObject> => {
  const decoder = new ListDecoder(options);
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += chunkBytes) decoder.push(bytes.subarray(at, at + chunkBytes));
  return decoder.end();
};

describe('ListDecoder', () => {
  it('gives metadata and items, and fills in the kind that items lack', () => {
    const text =
      '{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[{"metadata":{"name":"a"}},{}]}';
    expect(decode(text)).toEqual({
      metadata: { resourceVersion: '5' },
      items: [
        { kind: 'Pod', apiVersion: 'v1', metadata: { name: 'a' } },
        { kind: 'Pod', apiVersion: 'v1' },
      ],
    });
  });

  it('keeps the kind that an item has', () => {
    const item = { apiVersion: 'x/v2', kind: 'Other', metadata: {} };
    expect(decode(JSON.stringify({ metadata: {}, items: [item] })).items).toEqual([item]);
  });

  it('finds the items wherever they stand, and not where they do not', () => {
    const decoy = { items: [{ a: 1 }], text: '"items":[{' };
    const text = JSON.stringify(
      { decoy, metadata: { 'items"': [{}], x: '\\' }, other: ['items', [{}]], items: [{ b: 2 }], after: decoy },
      undefined,
      2,
    );
    expect(decode(text).items).toEqual([{ kind: 'Pod', apiVersion: 'v1', b: 2 }]);
  });

  it.each(['{"metadata":{},"items":null}', '{"metadata":{},"items":[]}', '{"items":[ ],"metadata":{}}'])(
    'reads %s as empty',
    (text) => {
      expect(decode(text).items).toEqual([]);
    },
  );

  it('keeps numbers digit for digit and __proto__ as a plain key', () => {
    const [item] = decode('{"metadata":{},"items":[{"n":12345678901234567890,"__proto__":{"x":1}}]}').items;
    expect(stringifyJson(item)).toBe('{"kind":"Pod","apiVersion":"v1","n":12345678901234567890,"__proto__":{"x":1}}');
  });

  it.each([
    ['{"metadata":{},"items":[{"a":1}', 'ends within its items'],
    ['{"metadata":{},"items":[{"a":1}]', ''],
    ['{"metadata":{},"items":[1]}', 'an item of the list is not an object'],
    ['{"metadata":{},"items":["a"]}', 'an item of the list is not an object'],
    ['{"metadata":{},"items":[[{}]]}', 'an item of the list is not an object'],
    ['{"metadata":{},"items":[{"a":}]}', ''],
    ['{"kind":"Status"}', 'no metadata'],
    ['{"metadata":{}}', 'no items'],
    ['[]', 'must be a JSON object'],
    ['', ''],
    ['<html>', ''],
  ])('refuses %s', (text, message) => {
    expect(() => decode(text)).toThrow(SyntaxError);
    if (message !== '') expect(() => decode(text)).toThrow(message);
  });

  it('agrees with JSON.parse however the bytes are cut and whatever strings hold', { timeout: 60_000 }, () => {
    const item = fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue({ stringUnit: 'binary' }));
    const list = fc.record({
      before: fc.jsonValue(),
      metadata: fc.constant({}),
      items: fc.array(item),
      after: fc.jsonValue(),
    });
    fc.assert(
      fc.property(list, fc.integer({ min: 1, max: 40 }), fc.constantFrom(undefined, 1), (value, chunkBytes, indent) => {
        const text = JSON.stringify(value, undefined, indent);
        const expected = (JSON.parse(text) as typeof value).items.map((entry) => ({
          kind: 'Pod',
          apiVersion: 'v1',
          ...entry,
        }));
        expect(stringifyJson(decode(text, chunkBytes).items)).toBe(JSON.stringify(expected));
      }),
      { numRuns: 100 },
    );
  });

  it.each([
    [
      'hold objects like themselves',
      (name: string) => ({ metadata: { name }, spec: [{ metadata: { name } }, { metadata: {} }] }),
    ],
    [
      'name their kind first',
      (name: string) => ({ apiVersion: 'x/v2', kind: 'Other', metadata: { name }, list: [{}] }),
    ],
    [
      'differ in how they begin',
      (name: string) => (name > '2' ? { metadata: { name } } : { a: [{}], metadata: { name } }),
    ],
    ['hold the seam in a text', (name: string) => ({ metadata: { name }, text: '},{"metadata":{' })],
  ])('finds items that %s, however the bytes are cut', (_what, itemOf) => {
    const items = ['1', '2', '3', '4'].map(itemOf as (name: string) => object);
    const text = JSON.stringify({ metadata: {}, items });
    const expected = items.map((item) => ({ kind: 'Pod', apiVersion: 'v1', ...item }));
    for (let chunkBytes = 1; chunkBytes <= text.length; chunkBytes++)
      expect(decode(text, chunkBytes).items).toEqual(expected);
  });

  it('refuses an item that is broken behind a whole one', () => {
    const whole = '{"metadata":{"name":"a"}}';
    expect(() => decode(`{"metadata":{},"items":[${whole},{"metadata":{"name":}},${whole}]}`)).toThrow(SyntaxError);
    expect(() => decode(`{"metadata":{},"items":[${whole},{"metadata":{"name":"b"},${whole}]}`)).toThrow(SyntaxError);
  });
});
