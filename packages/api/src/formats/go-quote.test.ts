import { describe, expect, it } from 'vitest';
import { goQuote } from './go-quote.ts';

describe('goQuote', () => {
  it.each([
    ['a "b" \\ c', String.raw`"a \"b\" \\ c"`],
    ['\x07\b\f\n\r\t\v', String.raw`"\a\b\f\n\r\t\v"`],
    ['\0\x1f\x7f', String.raw`"\x00\x1f\x7f"`],
    ['é~ €', '"é~ €"'],
    ['\u0080\u00a0\u200b\u2028', String.raw`"\u0080\u00a0\u200b\u2028"`],
    ['\u{10ffff}\u{1f600}', String.raw`"\U0010ffff😀"`],
    // Bytes that are not UTF-8 are kept as lone surrogates. The second half of a pair is none.
    ['a\udc80\udcffb', String.raw`"a\x80\xffb"`],
    ['\ud83d\udcff\udcff', String.raw`"📿\xff"`],
    ['\ud800a\udc7f', String.raw`"\ud800a\udc7f"`],
  ])('quotes %j', (text, quoted) => {
    expect(goQuote(text)).toBe(quoted);
  });
});
