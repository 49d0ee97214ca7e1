import { expect, it } from 'vitest';
import { compile } from '../compile.ts';
import { CelCompileError } from './issues.ts';

function errorOf(text: string): CelCompileError {
  try {
    compile(text, { declarations: { variables: { a: 'int' } } });
  } catch (error) {
    if (error instanceof CelCompileError) return error;
  }
  throw new Error(`${text} compiles`);
}

it.each([
  ['at the beginning', 'b', ['1:1']],
  ['behind wide characters, of which each is a column', "'日本🙂' + b", ['1:9']],
  ['in several lines', 'a == b &&\n  c', ['1:6', '2:3']],
  ['without a text', '', ['1:0']],
  ['of the whole expression', 'a'.repeat(100_001), ['-1:0']],
])('an issue has the place that the message shows: %s', (_, text, places) => {
  const { issues, message } = errorOf(text);
  expect(issues.map(({ line, column }) => `${line}:${column}`)).toEqual(places);
  expect([...message.matchAll(/^ERROR: <input>:(-?\d+:\d+): /gm)].map(([, place]) => place)).toEqual(places);
});
