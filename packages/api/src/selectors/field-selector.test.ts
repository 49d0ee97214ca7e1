import { describe, expect, it, vi } from 'vitest';
import { parseFieldSelector } from './field-selector.ts';

describe('parseFieldSelector', () => {
  const fields = { 'metadata.name': 'b', 'spec.nodeName': '' };
  it.each([
    ['', true],
    [',', true],
    ['metadata.name=b', true],
    ['metadata.name==b', true],
    ['metadata.name!=b', false],
    ['metadata.name!=a,metadata.name!=c', true],
    ['spec.nodeName=', true],
    ['absent=', true],
    ['absent!=x', true],
    ['constructor=', true],
  ])('reads %j', (text, matches) => {
    expect(parseFieldSelector(text).matches(fields)).toBe(matches);
  });

  it.each(['=', '==', '!=', 'a=1,='])('selects nothing by nothing: %s', (text) => {
    expect(parseFieldSelector(text).requirements.map(({ field }) => field)).toEqual(text === 'a=1,=' ? ['a'] : []);
  });

  it('keeps escaped commas, equals signs and backslashes in values', () => {
    const selector = parseFieldSelector(String.raw`a=x\,y\=z\\,b=1`);
    expect(selector.requirements).toEqual([
      { field: 'a', operator: '=', value: String.raw`x,y=z\ `.trim() },
      { field: 'b', operator: '=', value: '1' },
    ]);
    expect(parseFieldSelector(selector.toString()).requirements).toEqual(selector.requirements);
  });

  it.each([
    // Recorded from a kube-apiserver 1.36.
    ['metadata.name', "invalid selector: 'metadata.name'; can't understand 'metadata.name'"],
    ['metadata.name in (a,b)', "invalid selector: 'metadata.name in (a,b)'; can't understand 'b)'"],
    ['a=b=c', 'invalid field selector: unescaped character in value: 61'],
    [String.raw`a=b\c`, String.raw`invalid field selector: invalid escape sequence: \c`],
    ['a=b\\', 'invalid field selector: invalid escape sequence: \\'],
  ])('refuses %j with the text of Kubernetes', (text, message) => {
    expect(() => parseFieldSelector(text)).toThrow(new TypeError(message));
  });

  it('knows the value that a field must have', () => {
    expect(parseFieldSelector('a!=1,a=2').exactValue('a')).toBe('2');
    expect(parseFieldSelector('a!=1').exactValue('a')).toBeUndefined();
  });

  it('holds many terms to the fields', () => {
    const others = Array.from({ length: 20 }, (_, i) => `metadata.name!=a${i}`).join(',');
    expect(parseFieldSelector(others).matches(fields)).toBe(true);
    expect(parseFieldSelector(`${others},metadata.name!=b`).matches(fields)).toBe(false);
  });

  it('parses a text once for all that ask for it in turn', () => {
    const selector = parseFieldSelector('metadata.name=once');
    expect(parseFieldSelector('metadata.name=once')).toBe(selector);
    for (const _time of [1, 2]) expect(() => parseFieldSelector('once')).toThrow("can't understand 'once'");
  });

  it.each([
    ['value', `a=${'x'.repeat(2_000)}`],
    ['term', 'x'.repeat(2_000)],
    ['value of escapes', `a=${String.raw`\,`.repeat(1_000)}`],
  ])('cuts a long %s a few times, not at each character', (_name, text) => {
    const slice = vi.spyOn(String.prototype, 'slice');
    try {
      parseFieldSelector(text);
    } catch {
      // Only the work counts here.
    }
    const cuts = slice.mock.calls.length;
    slice.mockRestore();
    expect(cuts).toBeLessThan(20);
  });
});

it('a field selector of more than 10,000 terms is refused', () => {
  const terms = (count: number): string => Array.from({ length: count }, (_, index) => `a!=${index}`).join();
  expect(parseFieldSelector(terms(10_000)).requirements).toHaveLength(10_000);
  expect(() => parseFieldSelector(terms(10_001))).toThrow('invalid selector: more than 10000 terms');
});
