import { describe, expect, it } from 'vitest';
import { readYaml } from './yaml-reader.ts';

describe('an alias', () => {
  it.each([
    ['a: &x 1\nb: *x', { a: 1, b: 1 }],
    ['a: &x 1\nb: *x\nc: &x {d: 2}\ne: [*x, &x 3, *x]', { a: 1, b: 1, c: { d: 2 }, e: [{ d: 2 }, 3, 3] }],
    ['&x a: 1\nb: *x', { a: 1, b: 'a' }],
    ['a: &x {b: 1}\nc:\n  <<: *x\n  d: 2', { a: { b: 1 }, c: { b: 1, d: 2 } }],
    ['a: &x [&y 1, *y]\nb: *x', { a: [1, 1], b: [1, 1] }],
  ])('stands for the last node before it that has its anchor: %j', (text, value) => {
    expect(readYaml(text).value).toEqual(value);
  });

  it.each(['a: *x\nb: &x 1', 'a: *x'])('of an anchor that is not there yet is refused: %j', (text) => {
    expect(() => readYaml(text)).toThrow('yaml: ');
  });

  it('costs no look at all other nodes', () => {
    // Without this limit there would be 9,000 times 29,000 lookups, which take minutes.
    const list = `[${'1,'.repeat(20_000)}]`;
    const { value } = readYaml(`a: ${list}\nb: &x 1\nc: [${'*x,'.repeat(9_000)}]`);
    expect((value as { c: unknown[] }).c).toHaveLength(9_000);
  }, 30_000);
});

describe('aliases', () => {
  // Each list contains the previous one ten times. Source: go.yaml.in/yaml/v2 decode.go, decode_test.go.
  const bomb = (levels: number): string =>
    `a0: &a0 [x]\n${Array.from({ length: levels }, (_, n) => `a${n + 1}: &a${n + 1} [${`*a${n},`.repeat(10)}]\n`).join('')}`;

  it.each([
    ['a few thousand values of a short text', bomb(2), undefined],
    ['nearly all of a text', bomb(5), 'yaml: document contains excessive aliasing'],
    ['a text that contains itself', 'a: &a [*a]', "yaml: anchor 'a' value contains itself"],
    ['themselves by others', 'a: &a {b: &b [*a], c: *b}', "yaml: anchor 'a' value contains itself"],
    [
      'more signs than a body may have',
      `a: &a ${'x'.repeat(1024)}\nb: [${'*a,'.repeat(3072)}]`,
      'yaml: document contains excessive aliasing',
    ],
    ['nearly as many signs', `a: &a ${'x'.repeat(1024)}\nb: [${'*a,'.repeat(3000)}]`, undefined],
    ['less than all of many values', `a: &a [${'x,'.repeat(20_000)}]\nb: [${'*a,'.repeat(15)}]`, undefined],
    [
      'too much of very many values',
      `a: &a [${'x,'.repeat(20_000)}]\nb: [${'*a,'.repeat(60)}]`,
      'yaml: document contains excessive aliasing',
    ],
  ])('may stand for %s or not', (_what, text, message) => {
    if (message === undefined) readYaml(text);
    else expect(() => readYaml(text)).toThrow(message);
  });
});

it('a text of more tokens than are asked for is not read', () => {
  // There are five tokens per line (a sign, a blank, the mark of a scalar, the scalar, the line's end), and before them
  // the mark of a document.
  expect(readYaml('- a\n'.repeat(99), { maxTokens: 500 }).value).toHaveLength(99);
  expect(() => readYaml('- a\n'.repeat(100), { maxTokens: 500 })).toThrow(
    'more than 500 tokens of YAML; send it as JSON',
  );
  // The text after them is not read.
  expect(() => readYaml(`${'- a\n'.repeat(100)}${'['.repeat(20_000)}`, { maxTokens: 500 })).toThrow('more than 500');
});

describe('a binary', () => {
  it.each([
    ['a: !!binary aGVsbG8=', 'hello'],
    ['a: !!binary |\n  aGVs\n  bG8=', 'hello'],
    ['a: !!binary /w==', '\ufffd'],
    ['a: !!binary ""', ''],
  ])('is the text of its bytes: %j', (text, value) => {
    expect(readYaml(text).value).toEqual({ a: value });
  });

  it.each(['***', 'aGVsbG8', 'aGV_bG8=', 'a GVsbG8='])('is refused when it is none: %j', (text) => {
    expect(() => readYaml(`a: !!binary "${text}"`)).toThrow('yaml: !!binary value contains invalid base64 data');
  });
});
