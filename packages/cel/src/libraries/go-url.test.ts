import { describe, expect, it, vi } from 'vitest';
import { CelFailure } from '../values/failure.ts';
import { isRequestUri, parseRequestUri, parseUrl } from './go-url.ts';

// Error texts of url() in rules of kube-apiserver 1.36.3.
const refused: readonly (readonly [text: string, error: string])[] = [
  ['http://a:b:80/', 'invalid port ":b:80" after host'],
  ['https://a:1:2/', 'invalid port ":1:2" after host'],
  ['http://[1.2.3.4]/', 'invalid IP-literal'],
  ['http://a[::1]/', 'invalid IP-literal'],
  ['http://[abc]/', 'invalid host: ParseAddr("abc"): unable to parse IP'],
  ['http://[]/', 'invalid host: ParseAddr(""): unable to parse IP'],
  ['http://[::1]]/', 'invalid host: ParseAddr("::1]"): unexpected character, want colon (at "]")'],
  [
    'http://[::g%25e]/',
    'invalid host: ParseAddr("::g%e"): each colon-separated field must have at least one digit (at "g")',
  ],
  ['http://[fe80::1%25]/', 'invalid host: ParseAddr("fe80::1%"): zone must be a non-empty string'],
  ['http://[fe80::1%en0]/', 'invalid URL escape "%en"'],
  ['http://[::1%25%0a]/', 'invalid URL escape "%0a"'],
  ['http://[::1/', "missing ']' in host"],
  ['http://[::1]x/', 'invalid port "x" after host'],
];

describe('hosts of URLs', () => {
  it.each(refused)('%s is refused with the text of Go', (text, error) => {
    expect(isRequestUri(text)).toBe(false);
    const failure = parseRequestUri(text);
    expect(failure).toBeInstanceOf(CelFailure);
    expect((failure as CelFailure).message).toBe(`parse ${JSON.stringify(text)}: ${error}`);
  });

  it('may be several with ports, except for http', () => {
    expect(parseRequestUri('pg://a:1,b:2/')).toMatchObject({ host: 'a:1,b:2' });
  });

  it('keep brackets, the port, and the decoded zone', () => {
    expect(parseRequestUri('http://[fe80::1%25e%20n]:80/')).toMatchObject({ host: '[fe80::1%e n]:80' });
  });
});

// Answers of url.Parse of Go 1.26.8.
describe('a URL that may be relative', () => {
  it.each([
    ['', { scheme: '', host: '', path: '' }],
    ['a/b:c', { scheme: '', host: '', path: 'a/b:c' }],
    ['//a/b', { scheme: '', host: 'a', path: '/b' }],
    ['https:a', { scheme: 'https', host: '', opaque: 'a' }],
    ['https:/a', { scheme: 'https', host: '', path: '/a' }],
    [
      'HTTPS://u@A:1/%41?b?c#d',
      { scheme: 'https', user: 'u', host: 'A:1', path: '/A', rawQuery: 'b?c', fragment: 'd' },
    ],
    ['https://a?', { host: 'a', rawQuery: '', forceQuery: true }],
    ['https://a%c3%bc/', { host: 'a\u00fc' }],
    ['https://a:', { host: 'a:' }],
  ])('%j is read as Go reads it', (text, url) => {
    expect(parseUrl(text)).toMatchObject(url);
  });

  it.each([
    [':a', 'parse ":a": missing protocol scheme'],
    ['a:b:c/d', undefined],
    ['1https://a', 'parse "1https://a": first path segment in URL cannot contain colon'],
    ['a\tb', 'parse "a\\tb": net/url: invalid control character in URL'],
    ['https://a{b', 'parse "https://a{b": invalid character "{" in host name'],
    ['https://a b/', 'parse "https://a b/": invalid character " " in host name'],
    ['https://a%41', 'parse "https://a%41": invalid URL escape "%41"'],
    ['https://a:1:2', 'parse "https://a:1:2": invalid port ":1:2" after host'],
    ['https://u^@a', 'parse "https://u^@a": net/url: invalid userinfo'],
    ['https://[1.2.3.4]', 'parse "https://[1.2.3.4]": invalid IP-literal'],
    // The text of the URL is the part that was at fault: without the fragment, or the whole.
    ['https://a/%zz#f', 'parse "https://a/%zz": invalid URL escape "%zz"'],
    ['https://a#%zz', 'parse "https://a#%zz": invalid URL escape "%zz"'],
  ])('%j has the error of Go', (text, error) => {
    const url = parseUrl(text);
    expect(typeof url === 'string' ? url : undefined).toBe(error);
  });
});

describe('escapes of long URLs', () => {
  it.each([
    ['/%28a$(', '/(a$(', '/%28a$('],
    ['/%c3%a9%ff', '/é\ufffd', '/%c3%a9%ff'],
    ['/%C3%A9', '/é', ''],
  ])('%s', (text, path, rawPath) => {
    expect(parseUrl(text)).toMatchObject({ path, rawPath });
  });

  it('takes no step for each run of characters that a path escapes', () => {
    const replace = vi.spyOn(String.prototype, 'replace');
    parseUrl('$('.repeat(1_000));
    const calls = replace.mock.calls.length;
    replace.mockRestore();
    expect(calls).toBe(0);
  });
});
