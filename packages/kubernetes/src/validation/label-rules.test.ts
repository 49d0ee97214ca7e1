import { collectFieldErrors } from '@kapstan/apiserver/internal';
import { describe, expect, it } from 'vitest';
import { goLabelSelector, selectsLabels, validateLabelSelector } from './label-rules.ts';

const fieldsOf = (selector: Parameters<typeof validateLabelSelector>[1]): string[] =>
  collectFieldErrors((root) => validateLabelSelector(root.child('selector'), selector)).map(
    (error) => `${error.type} ${error.field}`,
  );

describe('label selectors in objects', () => {
  it.each([
    ['valid', { matchLabels: { a: 'b' }, matchExpressions: [{ key: 'c', operator: 'In', values: ['d'] }] }, []],
    [
      'existence with values',
      { matchExpressions: [{ key: 'c', operator: 'Exists', values: ['d'] }] },
      ['FieldValueForbidden selector.matchExpressions[0].values'],
    ],
    [
      'a set without values',
      { matchExpressions: [{ key: 'c', operator: 'NotIn' }] },
      ['FieldValueRequired selector.matchExpressions[0].values'],
    ],
    [
      'a bad value',
      { matchExpressions: [{ key: 'c', operator: 'In', values: ['a b'] }] },
      ['FieldValueInvalid selector.matchExpressions[0].values[0]'],
    ],
    ['a bad label', { matchLabels: { 'a b': 'c' } }, ['FieldValueInvalid selector.matchLabels']],
  ])('%s', (_name, selector, expected) => {
    expect(fieldsOf(selector)).toEqual(expected);
  });

  it('an absent selector selects nothing, an invalid one is neither true nor false', () => {
    expect(selectsLabels(undefined, { a: 'b' })).toBe(false);
    expect(selectsLabels({}, { a: 'b' })).toBe(true);
    expect(selectsLabels({ matchExpressions: [{ key: 'a', operator: 'Near' }] }, {})).toBeUndefined();
  });

  it('are shown with their members and labels in the order of Go', () => {
    const selector = { matchExpressions: [{ operator: 'Exists', key: 'k' }], matchLabels: { z: '1', a: '2' } };
    expect(JSON.stringify(goLabelSelector(selector))).toBe(
      '{"matchLabels":{"a":"2","z":"1"},"matchExpressions":[{"key":"k","operator":"Exists"}]}',
    );
  });
});
