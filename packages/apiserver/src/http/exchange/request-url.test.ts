import { describe, expect, it } from 'vitest';
import { hasMalformedPath, parseRequestUrl } from './request-url.ts';

describe('the URL of a request', () => {
  it.each([
    ['/api', '/api', []],
    ['/api?', '/api', []],
    ['/a%2Fb%20c?x=1', '/a/b c', [['x', '1']]],
    // Bytes that are not UTF-8 differ from every valid text.
    ['/%ff', '/\udcff', []],
    ['/a%c3%28%c3%a4', '/a\udcc3(ä', []],
    ['/%ed%a0%80%f0%9f%98%80', '/\udced\udca0\udc80😀', []],
    [
      '/a?x=1&x=2&y',
      '/a',
      [
        ['x', '1'],
        ['x', '2'],
        ['y', ''],
      ],
    ],
    ['/a?q=1+2%2B', '/a', [['q', '1 2+']]],
    // As in url.ParseQuery, unreadable parts are left out and the rest counts.
    ['/a?x=%zz&y=1', '/a', [['y', '1']]],
    ['/a?x=1;y=2&z=3', '/a', [['z', '3']]],
    ['/a?%=1&z=3', '/a', [['z', '3']]],
    ['http://host:80/a?x=1', '/a', [['x', '1']]],
    ['HTTPS://[::1]?x=1', '', [['x', '1']]],
    ['/http://host/a', '/http://host/a', []],
    ['host:443', 'host:443', []],
    ['//api/v1?a=b?c', '//api/v1', [['a', 'b?c']]],
  ])('%s', (url, path, query) => {
    const parsed = parseRequestUrl(url);
    expect([parsed.path, [...parsed.query]]).toEqual([path, query]);
  });

  it.each([
    ['/a%', true],
    ['/a%2', true],
    ['/a%zz/b', true],
    ['/a%2Fb', false],
    ['/a?x=%zz', false],
  ])('%s is malformed: %s', (url, expected) => {
    expect(hasMalformedPath(url)).toBe(expected);
  });
});
