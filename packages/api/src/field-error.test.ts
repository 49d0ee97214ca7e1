import { describe, expect, it } from 'vitest';
import * as fields from './field-error.ts';

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
