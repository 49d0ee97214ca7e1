import { ExactNumber } from '@kapstan/api';
import { runWhole } from '@kapstan/api/internal';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeYaml, encodeYamlInSlices } from './yaml-encoder.ts';

const inSlices = (value: unknown): string => new TextDecoder().decode(runWhole(encodeYamlInSlices(value)));

const long = (of: (index: number) => unknown) => Array.from({ length: 700 }, (_, index) => of(index));
const wide = (of: (index: number) => unknown) =>
  Object.fromEntries(long(of).map((value, index) => [`k${index}`, value]));
const containers = (count: number, variables: number) =>
  Array.from({ length: count }, (_, nth) => ({
    name: `c${nth}`,
    env: Array.from({ length: variables }, (_, index) => ({ name: `E${index}`, value: 'x' })),
  }));
const lines = 'first\n\n  third, indented\n\n';

describe('YAML in slices', () => {
  it.each<[string, unknown]>([
    ['a map', wide((index) => index)],
    ['a list', long((index) => `v${index}`)],
    ['lists in lists', [long(() => [1, [2]]), long(() => [[]])]],
    ['maps in lists', long((index) => ({ b: index, a: index % 200 === 3 ? wide((at) => at) : null }))],
    ['lists in maps', { b: { c: long(() => ({ d: [{}] })) }, a: long(() => 'x') }],
    ['texts of several lines', { b: { c: long(() => lines), a: wide(() => `${lines}end`) } }],
    [
      'names that need quotes',
      { y: long(() => 'no'), '1.0': wide(() => '0x1'), '': long(() => ''), 'a: b': wide(() => 1) },
    ],
    ['long names', { ['x'.repeat(1_100)]: wide((index) => index), [`${'y'.repeat(1_100)}`]: long((index) => index) }],
    ['names of several lines', { [lines]: { [lines]: wide((index) => index) } }],
    ['long numbers', { a: long(() => new ExactNumber('12345678901234567890')) }],
    ['names of the language', JSON.parse(`{"__proto__":${JSON.stringify(wide(() => 1))},"constructor":1}`)],
    [
      'numbers as names',
      Object.fromEntries(long((index) => [String(10 - index), { a: index }]) as [string, unknown][]),
    ],
    [
      'marks of documents',
      { data: { '---': 'x', ...wide(() => '---'), '... a': '...' }, list: [['--- b'], long(() => '---')] },
    ],
    [
      'marks of documents at the root',
      { '---': long(() => ({ '---': '...' })), '---x': wide(() => ({ '...': ['---'] })) },
    ],
    ['marks in lists of lists', [[long(() => '--- a')], [{ '--- k': long(() => ['---']) }]]],
    ['containers with many variables', { spec: { containers: containers(3, 300) } }],
    ['nothing', {}],
  ])('is what is written at once: %s', (_, value) => {
    expect(inSlices(value)).toBe(encodeYaml(value));
  });

  it('takes many steps for many small members', () => {
    const work = encodeYamlInSlices({ spec: { containers: containers(64, 160) } });
    let steps = 0;
    while (work.next().done !== true) steps++;
    expect(steps).toBeGreaterThan(64);
  });

  it('is what is written at once, for any value', () => {
    const leaf = fc.oneof(
      fc.string(),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.boolean(),
      fc.constant(null),
    );
    const small = fc.oneof(
      leaf,
      fc.array(leaf, { maxLength: 3 }),
      fc.dictionary(fc.string({ unit: 'binary' }), leaf, { maxKeys: 3 }),
    );
    const large = fc.array(small, { minLength: 1, maxLength: 3 }).map((some) => long((at) => some[at % some.length]));
    const inside = fc.oneof(small, large);
    const value = fc.oneof(
      fc.array(inside, { maxLength: 3 }),
      fc.dictionary(fc.string({ unit: 'binary' }), fc.oneof(inside, fc.array(inside, { maxLength: 2 })), {
        maxKeys: 3,
      }),
    );
    fc.assert(
      fc.property(value, (written) => {
        expect(inSlices(written)).toBe(encodeYaml(written));
      }),
      { numRuns: 60 },
    );
  });
});
