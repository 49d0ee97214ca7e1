import { describe, expect, it } from 'vitest';
import { quotedErrorText, safeErrorText } from './safe-error-text.ts';
import { conflict, invalid, notFound } from './status-error.ts';

describe('the text of an error that people may see', () => {
  it('describes an answer of the API by reason, object and fields, without values', () => {
    const error = invalid({ group: 'apps', kind: 'Deployment' }, 'web', [
      { type: 'FieldValueInvalid', field: 'spec.replicas', badValue: 'hunter2', detail: 'too short' },
    ]);
    expect(safeErrorText(error)).toMatch(
      /^Invalid \(422\): Deployment\.apps "web": spec\.replicas: FieldValueInvalid$/,
    );
  });

  it('does not name Secrets', () => {
    expect(safeErrorText(notFound({ group: '', resource: 'secrets' }, 'db-password'))).toBe('NotFound (404): secrets');
    expect(quotedErrorText(new Error('get secret "db-password": no answer'))).toBe('get secret "…": no answer');
  });

  it('replaces an answer that a program quotes in its own error', () => {
    const cause = conflict(
      { group: '', resource: 'configmaps' },
      'a',
      new Error('the value "hunter2" was changed') as never,
    );
    const error = new Error(`cannot copy: ${cause.message}`, { cause });
    expect(quotedErrorText(error)).toBe('cannot copy: Conflict (409): configmaps "a"');
    expect(safeErrorText(error)).toBe('Error: Conflict (409): configmaps "a"');
  });

  it.each([
    ['spec.x: Invalid value: "hunter2": too short', 'spec.x: Invalid value: …'],
    ['password=hunter2 refused', 'password=… refused'],
    ['Authorization: hunter2', 'Authorization: …'],
    ['header eyJhbGciOiJSUzI1NiIsImtpZCI6IjEifQ refused', 'header … refused'],
    ['connect ECONNREFUSED 10.0.0.1:443', 'connect ECONNREFUSED 10.0.0.1:443'],
    ['first\nsecond', 'first'],
  ])('hides what looks like a value: %s', (message, shown) => {
    expect(quotedErrorText(new Error(message))).toBe(shown);
    expect(safeErrorText(new Error(message))).toBe('Error');
  });

  it('has class and code of an error, and none of its text', () => {
    const parsed = (): unknown => JSON.parse('hunter2');
    expect(parsed).toThrow('hunter2');
    try {
      parsed();
    } catch (error) {
      expect(safeErrorText(error)).toBe('SyntaxError');
    }
    const cause = Object.assign(new Error('postgres://user:hunter2@host'), { code: 'ECONNREFUSED' });
    expect(safeErrorText(cause)).toBe('Error (ECONNREFUSED)');
    class QuotaError extends Error {}
    expect(safeErrorText(new QuotaError('hunter2', { cause }))).toBe('QuotaError (ECONNREFUSED)');
    expect(safeErrorText(Object.assign(new Error('x'), { name: 'hunter 2', code: 'hunter2' }))).toBe('Error');
    expect(safeErrorText('hunter2')).toBe('a value of type string was thrown');
  });

  it('is one short line, whatever was thrown', () => {
    expect(quotedErrorText(new Error('word '.repeat(1000)))).toHaveLength(300);
    expect(safeErrorText({ token: 'hunter2' })).toBe('a value of type object was thrown');
  });
});
