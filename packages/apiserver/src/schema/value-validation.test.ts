import { ExactNumber } from '@kapstan/api';
import { fieldErrorBody } from '@kapstan/api/internal';
import { describe, expect, it } from 'vitest';
import type { JsonSchema } from './structural-schema.ts';
import { compileValidator } from './value-validation.ts';

/** Returns errors as "[type] field: message", for a value at spec.x. */
function check(schema: JsonSchema, value: unknown): string[] {
  return compileValidator(schema)(value, 'spec.x').map(
    (error) => `${error.type} ${error.field}: ${fieldErrorBody(error)}`,
  );
}

describe('compileValidator', () => {
  const refused: readonly (readonly [string, JsonSchema, unknown, ...string[]])[] = [
    [
      'a text for an integer',
      { type: 'integer' },
      'three',
      'FieldValueTypeInvalid spec.x: Invalid value: "string": spec.x in body must be of type integer: "string"',
    ],
    [
      'a fraction for an integer',
      { type: 'integer' },
      1.5,
      'FieldValueTypeInvalid spec.x: Invalid value: "number": spec.x in body must be of type integer: "number"',
      'FieldValueInvalid <nil>: Invalid value: "": Checked value must be of type integer (default format) in spec.x',
    ],
    [
      'null where it is not nullable',
      { type: 'string' },
      null,
      'FieldValueTypeInvalid spec.x: Invalid value: "null": spec.x in body must be of type string: "null"',
    ],
    [
      'a boolean for int-or-string',
      { 'x-kubernetes-int-or-string': true },
      true,
      'FieldValueTypeInvalid spec.x: Invalid value: "boolean": spec.x in body must be of type integer,string: "boolean"',
    ],
    [
      'below the minimum',
      { type: 'integer', minimum: 1 },
      0,
      'FieldValueInvalid spec.x: Invalid value: 0: spec.x in body should be greater than or equal to 1',
    ],
    [
      'at an exclusive minimum',
      { type: 'number', minimum: 0, exclusiveMinimum: true },
      0,
      'FieldValueInvalid spec.x: Invalid value: 0: spec.x in body should be greater than 0',
    ],
    [
      'above the maximum',
      { type: 'integer', maximum: 10 },
      11,
      'FieldValueInvalid spec.x: Invalid value: 11: spec.x in body should be less than or equal to 10',
    ],
    [
      'at an exclusive maximum',
      { type: 'number', maximum: 1, exclusiveMaximum: true },
      1,
      'FieldValueInvalid spec.x: Invalid value: 1: spec.x in body should be less than 1',
    ],
    [
      'no multiple',
      { type: 'number', multipleOf: 0.5 },
      0.7,
      'FieldValueInvalid spec.x: Invalid value: 0.7: spec.x in body should be a multiple of 0.5',
    ],
    [
      'beyond int32',
      { type: 'integer', format: 'int32' },
      3e9,
      'FieldValueInvalid <nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec.x',
    ],
    [
      'not in the enum',
      { type: 'string', enum: ['on', 'off'] },
      'x',
      'FieldValueNotSupported spec.x: Unsupported value: "x": supported values: "on", "off"',
    ],
    [
      'too short',
      { type: 'string', minLength: 2 },
      'a',
      'FieldValueInvalid spec.x: Invalid value: "a": spec.x in body should be at least 2 chars long',
    ],
    [
      'too long',
      { type: 'string', maxLength: 5 },
      'abcdef',
      'FieldValueTooLong spec.x: Too long: may not be more than 5 bytes',
    ],
    [
      'short and against the pattern: one error',
      { type: 'string', minLength: 2, pattern: '^[a-z]+$' },
      'A',
      'FieldValueInvalid spec.x: Invalid value: "A": spec.x in body should be at least 2 chars long',
    ],
    [
      'against the pattern',
      { type: 'string', pattern: '^[a-z]+$' },
      'AB',
      'FieldValueInvalid spec.x: Invalid value: "AB": spec.x in body should match \'^[a-z]+$\'',
    ],
    [
      'not of the format',
      { type: 'string', format: 'date-time' },
      'noon',
      'FieldValueTypeInvalid spec.x: Invalid value: "noon": spec.x in body must be of type date-time: "noon"',
    ],
    [
      'too many items',
      { type: 'array', maxItems: 2 },
      [1, 2, 3],
      'FieldValueTooMany spec.x: Too many: 3: must have at most 2 items',
    ],
    [
      'too few items',
      { type: 'array', minItems: 1 },
      [],
      'FieldValueInvalid spec.x: Invalid value: 0: spec.x in body should have at least 1 items',
    ],
    [
      'a wrong item',
      { type: 'array', items: { type: 'string' } },
      [1],
      'FieldValueTypeInvalid spec.x[0]: Invalid value: "integer": spec.x[0] in body must be of type string: "integer"',
    ],
    [
      'a wrong value of a map',
      { type: 'object', additionalProperties: { type: 'integer' } },
      { a: 'x' },
      'FieldValueTypeInvalid spec.x.a: Invalid value: "string": spec.x.a in body must be of type integer: "string"',
    ],
    [
      'too many properties',
      { type: 'object', maxProperties: 1 },
      { a: 1, b: 2 },
      'FieldValueTooMany spec.x: Too many: 2: must have at most 1 item',
    ],
    ['a missing member', { type: 'object', required: ['a'] }, {}, 'FieldValueRequired spec.x.a: Required value'],
    [
      'an embedded object without a kind',
      { type: 'object', 'x-kubernetes-embedded-resource': true },
      { apiVersion: 'v1' },
      'FieldValueRequired spec.x.kind: Required value',
    ],
    [
      'a value twice in a set',
      { type: 'array', 'x-kubernetes-list-type': 'set' },
      ['a', 'a', 'a'],
      'FieldValueDuplicate spec.x[1]: Duplicate value: "a"',
    ],
    [
      'a key twice in a map list',
      { type: 'array', 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['k'] },
      [
        { k: '1', v: 1 },
        { k: '1', v: 2 },
      ],
      'FieldValueDuplicate spec.x[1]: Duplicate value: {"k":"1"}',
    ],
    [
      'two of oneOf',
      { type: 'object', oneOf: [{ required: ['a'] }, { required: ['b'] }] },
      { a: 1, b: 2 },
      'FieldValueInvalid <nil>: Invalid value: "": "spec.x" must validate one and only one schema (oneOf). Found 2 valid alternatives',
    ],
    [
      'none of anyOf',
      { anyOf: [{ required: ['a'] }, { required: ['b'] }] },
      {},
      'FieldValueInvalid <nil>: Invalid value: "": "spec.x" must validate at least one schema (anyOf)',
      'FieldValueRequired spec.x.a: Required value',
    ],
    [
      'what not forbids',
      { not: { required: ['a'] } },
      { a: 1 },
      'FieldValueInvalid <nil>: Invalid value: "": "spec.x" must not validate the schema (not)',
    ],
    [
      'what a division makes a little less than whole',
      { type: 'number', multipleOf: 0.01 },
      19.99,
      'FieldValueInvalid spec.x: Invalid value: 19.99: spec.x in body should be a multiple of 0.01',
    ],
    [
      'an int64 one above its maximum',
      { type: 'integer', maximum: 9_007_199_254_740_992 },
      new ExactNumber('9007199254740993'),
      'FieldValueInvalid spec.x: Invalid value: 9007199254740993: spec.x in body should be less than or equal to 9007199254740992',
    ],
  ];
  for (const [name, schema, value, ...errors] of refused) {
    it(`refuses ${name}`, () => expect(check(schema, value)).toEqual(errors));
  }

  const accepted: readonly (readonly [string, JsonSchema, unknown])[] = [
    ['null where it is nullable', { type: 'string', nullable: true }, null],
    ['an integer for a number', { type: 'number' }, 3],
    ['both forms of int-or-string', { 'x-kubernetes-int-or-string': true }, 'http'],
    ['0.3 as a multiple of 0.1', { type: 'number', multipleOf: 0.1 }, 0.3],
    ['what a division makes a little more than whole', { type: 'number', multipleOf: 0.01 }, 0.07],
    ['an exact multiple', { type: 'integer', multipleOf: 3 }, new ExactNumber('9223372036854775806')],
    ['a number below 0 of an unsigned format', { type: 'integer', format: 'uint32' }, -1],
    ['characters beyond the basic plane as one each', { type: 'string', maxLength: 2 }, '😀😀'],
    ['an int64 that doubles cannot hold', { type: 'integer', format: 'int64' }, new ExactNumber('9007199254740993')],
    ['items that differ beyond the keys of other items', { type: 'array', 'x-kubernetes-list-type': 'set' }, [1, 2]],
    ['exactly one of oneOf', { oneOf: [{ required: ['a'] }, { required: ['b'] }] }, { b: 1 }],
    [
      'a member named __proto__',
      { type: 'object', properties: { a: { type: 'string' } } },
      JSON.parse('{"__proto__": 1}'),
    ],
    ['a format that is not checked', { type: 'string', format: 'nonsense' }, 'x'],
  ];
  for (const [name, schema, value] of accepted) {
    it(`accepts ${name}`, () => expect(check(schema, value)).toEqual([]));
  }

  it('names a member of the object itself by its bare name', () => {
    const validate = compileValidator({ type: 'object', required: ['spec'] });
    expect(validate({}, '').map((error) => error.field)).toEqual(['spec']);
  });

  it('answers a catastrophic pattern in linear time', () => {
    expect(check({ type: 'string', pattern: '^(a+)+$' }, `${'a'.repeat(5000)}!`)).toHaveLength(1);
  });

  it('keeps a hundred errors and counts the others, duplicates apart', () => {
    const set = { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' };
    const twice = Array.from({ length: 260_000 }, (_, at) => at >> 1);
    const errors = compileValidator({ type: 'array', items: set })([twice], 'x');
    expect(errors).toHaveLength(102);
    expect(errors.slice(100).map(({ type, omitted }) => [type, omitted])).toEqual([
      ['FieldValueDuplicate', 130_000],
      ['InternalError', 259_900],
    ]);
  });

  it('makes the text of an enum only for an error, once for all of them', () => {
    let written = 0;
    const listed = { toJSON: () => ++written };
    const validate = compileValidator({ type: 'array', items: { enum: [listed] } });
    validate([{ ...listed }], '');
    expect(written).toBe(0);
    const errors = validate([1, 2, 3], '');
    expect(new Set(errors.map(({ detail }) => detail))).toEqual(new Set(['supported values: "1"']));
    expect(written).toBe(1);
  });

  it('throws SyntaxError for text that is not a pattern', () => {
    expect(() => compileValidator({ type: 'string', pattern: '(' })).toThrow(SyntaxError);
  });

  const formats: readonly (readonly [string, readonly string[], readonly string[]])[] = [
    [
      'date-time',
      ['2024-02-29T10:00:00Z', '2024-01-01T00:00:00.123+02:00'],
      ['2023-02-29T10:00:00Z', '2024-01-01', '2024-01-01T24:00:00Z'],
    ],
    ['date', ['2024-02-29'], ['2024-13-01', '2024-1-1']],
    ['ipv4', ['1.2.3.4', '1.2.3.04'], ['1.2.3', '::1']],
    ['ipv6', ['::1'], ['1.2.3.4']],
    ['cidr', ['10.0.0.0/8', '::/0'], ['10.0.0.0', '10.0.0.0/33', '10.0.0.0/8/8']],
    ['uuid', ['123e4567-e89b-12d3-a456-426614174000'], ['x']],
    ['byte', ['aGk=', 'aGlq'], ['%', 'a', '']],
    [
      'duration',
      ['1h30m', '2 weeks', '100ms', '-1.5h', '0', 'P1D', '1 Hours', 'in 3 d or 2 x', '1wk'],
      ['x', '', '1x', '1.5', '1 wks', '1h 9223372036854775808 d', '9'.repeat(100_000)],
    ],
    ['email', ['a@b.c'], ['x']],
    ['k8s-short-name', ['a-1', '0'], ['', 'A', '-a', 'a.b', 'a'.repeat(64)]],
    ['k8s-long-name', ['a.b-c', 'a'.repeat(253)], ['', 'a..b', 'a.B', 'a'.repeat(254)]],
    ['hostname', ['a.example'], ['a_b', '']],
    ['mac', ['00:11:22:33:44:55'], ['00:11:22:33:44']],
    ['uri', ['https://a.example/x'], ['no uri']],
    ['isbn13', ['978-3-16-148410-0'], ['978-3-16-148410-1']],
    ['creditcard', ['4111 1111 1111 1111'], ['4111 1111 1111 1112']],
    ['rgbcolor', ['rgb(1, 2, 255)'], ['rgb(1,2,256)']],
  ];
  for (const [format, good, bad] of formats) {
    it(`distinguishes ${format} texts from others`, () => {
      for (const text of good) expect(check({ type: 'string', format }, text), text).toEqual([]);
      for (const text of bad) expect(check({ type: 'string', format }, text), text).toHaveLength(1);
    });
  }
});
