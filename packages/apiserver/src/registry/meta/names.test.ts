import { describe, expect, it } from 'vitest';
import { dns1035LabelErrors } from './names.ts';

describe('dns1035LabelErrors', () => {
  it.each<[string, readonly string[]]>([
    ['a1', []],
    [
      '1a',
      [
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
      ],
    ],
    ['a'.repeat(64), ['must be no more than 63 characters']],
  ])('says what is wrong with %j', (text, errors) => {
    expect(dns1035LabelErrors(text)).toEqual(errors);
  });
});
