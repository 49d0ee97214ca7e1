import { describe, expect, it } from 'vitest';
import { CelFailure } from '../values/failure.ts';
import { isRequestUri, parseRequestUri } from './go-url.ts';

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
