import { describe, expect, it } from 'vitest';
import { ExactNumber } from '../json/json.ts';
import * as fields from './field-error.ts';
import { invalidField, omittedErrors, tellFieldErrors } from './field-error.ts';
import { invalid } from './status-error.ts';

describe('field errors: texts of Kubernetes', () => {
  it.each([
    [fields.requiredField('spec.x'), 'spec.x: Required value'],
    [fields.requiredField('spec.x', 'must be set'), 'spec.x: Required value: must be set'],
    [fields.invalidField('spec.x', 'a"b', 'must be c'), String.raw`spec.x: Invalid value: "a\"b": must be c`],
    [fields.invalidField('spec.x', -1, 'must be more'), 'spec.x: Invalid value: -1: must be more'],
    [fields.invalidField('spec.x', true, 'no'), 'spec.x: Invalid value: true: no'],
    [fields.invalidField('spec.x', null, 'no'), 'spec.x: Invalid value: null: no'],
    [fields.invalidField('spec.x', { a: [1] }, 'no'), 'spec.x: Invalid value: {"a":[1]}: no'],
    [
      fields.typeInvalidField('spec.x', 'object', 'must be a string'),
      'spec.x: Invalid value: "object": must be a string',
    ],
    [fields.forbiddenField('spec.x', 'not here'), 'spec.x: Forbidden: not here'],
    [fields.duplicateField('spec.x[1]', 'a'), 'spec.x[1]: Duplicate value: "a"'],
    [fields.notFoundField('spec.x', 'a'), 'spec.x: Not found: "a"'],
    [fields.notSupportedField('spec.x', 'c', ['a', 'b']), 'spec.x: Unsupported value: "c": supported values: "a", "b"'],
    [fields.notSupportedField('spec.x', 'c', []), 'spec.x: Unsupported value: "c"'],
    [fields.tooLongField('spec.x', 10), 'spec.x: Too long: may not be more than 10 bytes'],
    [fields.tooManyField('spec.x', 3, 1), 'spec.x: Too many: 3: must have at most 1 item'],
  ])('%#', (error, text) => {
    expect(fields.formatFieldError(error)).toBe(text);
    expect(fields.fieldErrorCause(error)).toEqual({
      reason: error.type,
      field: error.field,
      message: text.slice(error.field.length + 2),
    });
  });

  it('joins several errors in brackets, equal texts once', () => {
    const [a, b] = [fields.requiredField('a'), fields.requiredField('b')];
    expect(fields.formatFieldErrors([])).toBe('');
    expect(fields.formatFieldErrors([a])).toBe('a: Required value');
    expect(fields.formatFieldErrors([a, b, a])).toBe('[a: Required value, b: Required value]');
  });

  it('builds paths', () => {
    expect(fields.fieldChild(fields.fieldIndex(fields.fieldChild('spec', 'ports'), 2), 'port')).toBe(
      'spec.ports[2].port',
    );
    expect([fields.fieldChild('', 'spec'), fields.fieldKey('metadata.labels', 'app')]).toEqual([
      'spec',
      'metadata.labels[app]',
    ]);
  });
});

describe('many errors', () => {
  const errors = Array.from({ length: 250 }, (_, index) => invalidField(`spec.a[${index}]`, index, 'must not be'));

  it('are listed up to a hundred, with the number of the others', () => {
    const { message, causes } = tellFieldErrors(errors);
    expect(causes).toHaveLength(101);
    expect(causes[99]).toEqual({
      reason: 'FieldValueInvalid',
      message: 'Invalid value: 99: must not be',
      field: 'spec.a[99]',
    });
    expect(causes[100]).toEqual({ message: '150 more errors not shown' });
    expect(message).toMatch(/^\[spec\.a\[0\]: .*spec\.a\[99\]: Invalid value: 99: must not be, and 150 more errors\]$/);
  });

  it('count those that nobody kept', () => {
    const { message, causes } = tellFieldErrors([...errors.slice(0, 2), omittedErrors(1), omittedErrors(7)]);
    expect(causes.at(-1)).toEqual({ message: '8 more errors not shown' });
    expect(message).toMatch(/, and 8 more errors\]$/);
    expect(tellFieldErrors([...errors.slice(0, 1), omittedErrors(1)]).message).toMatch(/and 1 more error\]$/);
  });

  it('have an answer of bounded length, however long a value, a path or a detail is', () => {
    const long = 'x'.repeat(3_000_000);
    const list = Array.from({ length: 100_000 }, (_, index) => ({ name: `a${index}`, deep: [{ text: long }] }));
    const told = [invalidField(long, long, long), ...errors.map(({ field }) => invalidField(field, list, long))];
    const status = invalid({ group: '', kind: 'Pod' }, long, told);
    expect(JSON.stringify(status.status).length).toBeLessThan(600_000);
    expect(status.status.details?.causes?.[0]?.message).toMatch(/^Invalid value: "x{8192}"… \(3000000 characters\): x/);
    const second = status.status.details?.causes?.[1]?.message ?? '';
    expect(second.slice(0, 60)).toBe(`Invalid value: [{"name":"a0","deep":[{"text":"${'x'.repeat(14)}`);
    expect(second.slice(0, 8_300)).toContain('…: x');
  });

  it('show values that are not long as they are', () => {
    const value = { a: [1, null, 'é"', { b: [] }], c: {}, n: new ExactNumber('1') };
    const { causes } = tellFieldErrors([invalidField('x', value, '')]);
    expect(causes[0]?.message).toBe(`Invalid value: ${JSON.stringify(value)}`);
  });
});
