import { describe, expect, it } from 'vitest';
import { compilePattern } from './pattern.ts';
import type { JsonSchema } from './structural-schema.ts';
import { ValidationMeasure } from './validation-measure.ts';

const times = <T>(count: number, of: (at: number) => T): T[] => Array.from({ length: count }, (_, at) => of(at));
const fits = (schema: JsonSchema, value: unknown): boolean => new ValidationMeasure().fits(value, schema);
const text = (pattern: string): JsonSchema => ({ type: 'string', pattern });

const nest = (inner: unknown, wrap: (value: unknown) => unknown): unknown =>
  times(100, () => 0).reduce((value: unknown) => wrap(value), inner);

describe('ValidationMeasure', () => {
  const branches = (count: number): JsonSchema => ({ oneOf: times(count, (at) => ({ required: [`k${at}`] })) });
  const costly: readonly (readonly [string, JsonSchema, unknown])[] = [
    ['twenty thousand branches', branches(20_000), {}],
    ['branches of each item', { items: branches(100) }, times(100, () => ({}))],
    ['branches of a branch', { not: { anyOf: [branches(10_000)] } }, 1],
    ['a large pattern', text(`(${'ab|'.repeat(40_000)}c)$`), 1],
    ['a large program', text('(((abc){0,30}){0,30})$'), 'x'],
    ['a long text of a pattern', text('^[-a-z0-9]{0,61}$'), 'a'.repeat(20_000)],
    ['many patterns', { allOf: times(400, (at) => text(`^many${at}$`)) }, 'x'],
    ['a long enum', { enum: times(20_000, (at) => ({ at })) }, {}],
    [
      'an enum of each level',
      nest({}, (items) => ({ enum: [1], items })) as JsonSchema,
      nest(times(300, String), (item) => [item]),
    ],
    ['a long list of required members', { items: { required: times(1000, String) } }, times(20, () => ({}))],
    ['many values', {}, times(10_000, () => 1)],
    ['long texts', {}, ['a'.repeat(40_000), 'b'.repeat(40_000)]],
  ];
  for (const [name, schema, value] of costly) it(`refuses ${name}`, () => expect(fits(schema, value)).toBe(false));

  const cheap: readonly (readonly [string, JsonSchema, unknown])[] = [
    ['ten branches', { items: branches(10) }, times(100, () => ({}))],
    [
      'the patterns of an ordinary resource',
      { allOf: times(30, (at) => text(`^[a-z]([-a-z0-9]*[a-z0-9])?${at}$`)) },
      'x',
    ],
    ['a short pattern', { items: text('^[a-z]([-a-z0-9]*[a-z0-9])?$') }, times(1000, () => 'name')],
    ['a member without schema', { properties: { a: text('((a{0,30}){0,30})$') } }, { b: 'x' }],
    ['nine thousand values', {}, times(9000, () => 1)],
    ['an enum', { items: { enum: ['a', 'b'] } }, times(1000, () => 'c')],
  ];
  for (const [name, schema, value] of cheap) it(`accepts ${name}`, () => expect(fits(schema, value)).toBe(true));

  it('does not count again what is compiled', () => {
    const pattern = '((known){0,30}){0,30}';
    expect(fits(text(pattern), 'x')).toBe(false);
    compilePattern(pattern);
    expect(fits(text(pattern), 'x')).toBe(true);
  });

  it('does not count the characters of kinds whose rules are functions', () => {
    const value = { data: 'a'.repeat(100_000) };
    expect(new ValidationMeasure().fitsWithoutSchema(value)).toBe(true);
    expect(new ValidationMeasure().fitsWithoutSchema(times(10_000, () => 1))).toBe(false);
  });
});
