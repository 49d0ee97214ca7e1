import { describe, expect, it } from 'vitest';
import { runWhole, type SlicedWork } from '../time/sliced-work.ts';
import { copyInSlices, deepCopy, ExactNumber, parseJson, stringifyJson } from './json.ts';
import { JsonSyntaxError, parseJsonInSlices } from './json-syntax.ts';
import { encodeJsonInSlices, stringifyInSlices } from './sliced-encoding.ts';

const members = (count: number, of: (index: number) => unknown) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, of(index)]));

const large: Readonly<Record<string, unknown>> = {
  'a map': members(3_000, (index) => `v${index}`),
  'a list of numbers': Array.from({ length: 3_000 }, (_, index) => index / 7),
  'a list of objects': Array.from({ length: 1_000 }, (_, index) => ({
    name: `n${index}`,
    deep: { list: [index, null] },
  })),
  'a large member of a large list': [1, { all: members(2_000, () => [true]) }, 'x', Array(2_000).fill({})],
  'names of the language': {
    ...members(1_000, () => 1),
    ...(parseJson('{"__proto__":{"a":1},"constructor":2}') as object),
  },
  'names that are numbers': { b: 1, 7: 'x', ...members(1_000, () => 0), 3: 'y' },
  'long numbers': Array.from({ length: 1_000 }, () => new ExactNumber('12345678901234567890')),
  'long texts with escapes': members(600, (index) => `"\\\n\u0001€${'x'.repeat(index)}😀`),
};

function stepsOf<T>(work: SlicedWork<T>): number {
  let steps = 0;
  while (work.next().done !== true) steps++;
  return steps;
}

describe('JSON in slices', () => {
  it.each(Object.entries(large))('copies, writes and reads %s as the plain forms do', (_, value) => {
    const text = stringifyJson(value);
    expect(runWhole(stringifyInSlices(value))).toBe(text);
    expect(new TextDecoder().decode(runWhole(encodeJsonInSlices(value, { after: '\n' })))).toBe(`${text}\n`);
    for (const pad of ['', '    ']) {
      const indented = new TextDecoder().decode(runWhole(encodeJsonInSlices(value, { pad })));
      expect(indented).toBe(stringifyJson(value, 2).replaceAll('\n', `\n${pad}`));
    }
    expect(runWhole(copyInSlices(value))).toEqual(deepCopy(value));
    expect(stringifyJson(runWhole(copyInSlices(value)))).toBe(text);
    expect(runWhole(parseJsonInSlices(text))).toEqual(parseJson(text));
    for (const work of [stringifyInSlices, encodeJsonInSlices, copyInSlices].map((form) => form(value)))
      expect(stepsOf(work as SlicedWork<unknown>)).toBeGreaterThan(0);
    expect(stepsOf(parseJsonInSlices(text))).toBeGreaterThan(0);
  });

  it('drops members that are undefined', () => {
    const value = members(1_000, (index) => (index % 2 === 0 ? undefined : 1));
    expect(runWhole(stringifyInSlices(value))).toBe(stringifyJson(value));
  });

  it('writes items that are undefined as null', () => {
    const value = { list: Array.from({ length: 2_000 }, () => undefined) };
    expect(runWhole(stringifyInSlices(value))).toBe(stringifyJson(value));
  });

  it('makes no exact number of one that a double holds', () => {
    expect(runWhole(parseJsonInSlices('[1.50,1e2,0.1,-0]'))).toEqual(parseJson('[1.50,1e2,0.1,-0]'));
  });

  it('refuses text that is not JSON', () => {
    expect(() => runWhole(parseJsonInSlices(`[${'1,'.repeat(2_000)}]`))).toThrow(JsonSyntaxError);
  });

  it('keeps no large text for a short string of it', () => {
    const [first] = runWhole(parseJsonInSlices(`["${'a'.repeat(40)}","${'b'.repeat(100_000)}"]`)) as string[];
    expect(first).toBe('a'.repeat(40));
  });
});
