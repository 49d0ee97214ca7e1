import { describe, expect, it } from 'vitest';
import { readYaml, readYamlOfClient } from './yaml-reader.ts';

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
    // Else there are 9,000 times 29,000 looks: minutes.
    const list = `[${'1,'.repeat(20_000)}]`;
    const { value } = readYaml(`a: ${list}\nb: &x 1\nc: [${'*x,'.repeat(9_000)}]`);
    expect((value as { c: unknown[] }).c).toHaveLength(9_000);
  }, 30_000);
});

describe('what a client sent', () => {
  it('is read up to a number of tokens, not further', () => {
    // A sign, a blank, the mark of a scalar, the scalar, the end of the line; and the mark of a document before them.
    expect(readYamlOfClient('- a\n'.repeat(9_999)).value).toHaveLength(9_999);
    expect(() => readYamlOfClient('- a\n'.repeat(10_000))).toThrow(
      'Request entity too large: more than 50000 tokens of YAML; send it as JSON',
    );
  });

  it('is not looked at behind the last token that is read', () => {
    const deep = `${'- a\n'.repeat(10_000)}${'['.repeat(20_000)}`;
    expect(() => readYamlOfClient(deep)).toThrow('Request entity too large');
    expect(() => readYaml(deep)).toThrow('yaml: exceeded max depth');
  });

  it('has no such bound where it is ours', () => {
    expect(readYaml('- a\n'.repeat(10_000)).value).toHaveLength(10_000);
  });
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
