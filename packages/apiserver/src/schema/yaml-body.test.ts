import { ExactNumber } from '@kapstan/api';
import { expect, it } from 'vitest';
import { readYamlBody } from './yaml-body.ts';

it.each([
  '{"a": [1.0, 1e2, 1.50, 9007199254740993.0], "b": 9007199254740993, "c": 12345678901234567890}',
  'a: [1.0, 1.0e+2, 1.50, 9007199254740993.0]\nb: 9007199254740993\nc: 12345678901234567890',
])('a body sent as YAML has whole numbers for 1.0 and 1e2, as when Go turns it into JSON: %s', (text) => {
  expect(readYamlBody(text).document.value).toEqual({
    a: [1, 100, 1.5, 9007199254740992],
    b: new ExactNumber('9007199254740993'),
    c: new ExactNumber('12345678901234567890'),
  });
});

it.each(['1e999', '-1.5e+400', '9'.repeat(400)])(
  'a number beyond doubles is a text in YAML, and in JSON sent as YAML: %s',
  (number) => {
    expect(readYamlBody(`a: ${number}`).document.value).toEqual({ a: number });
    expect(readYamlBody(`{"a": ${number}}`).document.value).toEqual({ a: number });
  },
);
