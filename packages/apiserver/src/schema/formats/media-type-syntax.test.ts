import { describe, expect, it } from 'vitest';
import { mediaTypeFault } from './media-type-syntax.ts';

describe('the fault of a media type', () => {
  it.each(['foo', 'application/json', 'APPLICATION/JSON; charset="utf-8"', 'a/b;', ' a/b ; x=y ; ', 'a/b; x=y; X="y"'])(
    'is none in %j',
    (header) => {
      expect(mediaTypeFault(header)).toBeUndefined();
    },
  );

  it.each([
    ['', 'no media type'],
    [' ;a=b', 'no media type'],
    ['/b', 'no media type'],
    ['a b', 'expected slash after first token'],
    ['a/', 'expected token after slash'],
    ['a/;b=c', 'expected token after slash'],
    ['a/b c', 'unexpected content after media subtype'],
    ['a/b/c; d=e', 'unexpected content after media subtype'],
    ['a/b; c', 'invalid media parameter'],
    ['a; c', 'invalid media parameter'],
    ['a/b; c=d; c=e', 'duplicate parameter name'],
  ])('in %j is told as Go tells it', (header, fault) => {
    expect(mediaTypeFault(header)).toBe(`mime: ${fault}`);
  });
});
