import { describe, expect, it, vi } from 'vitest';
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

  it.each([
    ['%F4%8F%BF%BF%f4%90%80%80', '\u{10ffff}\udcf4\udc90\udc80\udc80'],
    ['%e0%9f%bf%e0%a0%80%ef%bf', '\udce0\udc9f\udcbf\u0800\udcef\udcbf'],
    ['%f0%8f%bf%bf%f0%90%80%80%c1%80', '\udcf0\udc8f\udcbf\udcbf\u{10000}\udcc1\udc80'],
    ['%ff%c3%a4é%25%2f', '\udcffäé%/'],
  ])('decodes the bytes of %s', (path, text) => {
    expect(parseRequestUrl(`/${path}`).path).toBe(`/${text}`);
  });

  it('takes no text of its own for each byte', () => {
    const from = vi.spyOn(Buffer, 'from');
    parseRequestUrl(`/${'%ff%c3%a4a'.repeat(500)}`);
    const texts = from.mock.calls.length;
    from.mockRestore();
    expect(texts).toBeLessThan(5);
  });
});
