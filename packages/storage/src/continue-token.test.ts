import { describe, expect, it } from 'vitest';
import { decodeContinue, encodeContinue, listExpired } from './continue-token.ts';

const prefix = '/registry/pods/';

describe('continue tokens', () => {
  it('are byte for byte those of kube-apiserver: unpadded base64url of compact JSON', () => {
    const token = encodeContinue(`${prefix}default/a\u0000`, prefix, 42);
    // printf '{"v":"meta.k8s.io/v1","rv":42,"start":"default/a\\u0000"}' | basenc --base64url, without "="
    expect(token).toBe('eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6NDIsInN0YXJ0IjoiZGVmYXVsdC9hXHUwMDAwIn0');
    expect(decodeContinue(token, prefix)).toEqual({
      fromKey: `${prefix}default/a\u0000`,
      revision: 42,
      asked: '42',
    });
  });

  it('escape as Go does', () => {
    const token = encodeContinue(`${prefix}<a>&\u2028`, prefix, 1);
    expect(Buffer.from(token, 'base64url').toString()).toContain('"start":"\\u003ca\\u003e\\u0026\\u2028"');
    expect(decodeContinue(token, prefix).fromKey).toBe(`${prefix}<a>&\u2028`);
  });

  it('of a prefix without its slash begin with one, and say the same', () => {
    const token = encodeContinue(`${prefix}default/a\u0000`, prefix.slice(0, -1), 42);
    expect(Buffer.from(token, 'base64url').toString()).toContain('"start":"/default/a\\u0000"');
    expect(decodeContinue(token, prefix).fromKey).toBe(`${prefix}default/a\u0000`);
  });

  it('begin at the prefix with a start of "/"', () => {
    const token = Buffer.from('{"v":"meta.k8s.io/v1","rv":1,"start":"/"}').toString('base64url');
    expect(decodeContinue(token, prefix).fromKey).toBe(prefix);
  });

  it('cannot be made for a key outside of the prefix', () => {
    expect(() => encodeContinue('/registry/secrets/a', prefix, 1)).toThrow(
      'unable to encode next field: the key and key prefix do not match',
    );
  });

  it.each(['..', '.', 'a/', 'a//b', 'a/./b', '../pods2/a', '/../x', './a'])('do not climb with %j', (start) => {
    const token = Buffer.from(JSON.stringify({ v: 'meta.k8s.io/v1', rv: 1, start })).toString('base64url');
    expect(() => decodeContinue(token, prefix)).toThrow(`invalid continue token: continue key is not valid: ${start}`);
  });

  it.each([
    ['x', 'illegal base64 data at input byte 0'],
    ['%%', 'illegal base64 data at input byte 0'],
    ['YWJj=', 'illegal base64 data at input byte 4'],
    ['YWJjZ', 'illegal base64 data at input byte 4'],
    ['abc', "invalid character 'i' looking for beginning of value"],
    ['junk', "invalid character '\\u008e' looking for beginning of value"],
    ['eyJ2Ig', 'unexpected end of JSON input'],
    ['', 'unexpected end of JSON input'],
  ])('%j is refused with the words of Go', (token, why) => {
    expect(() => decodeContinue(token, prefix)).toThrow(`invalid continue token: continue key is not valid: ${why}`);
  });

  it('of an expired list go on at the newest revision', () => {
    const error = listExpired({ fromKey: `${prefix}b`, prefix });
    expect(decodeContinue(error.status.metadata.continue ?? '', prefix)).toEqual({
      fromKey: `${prefix}b`,
      revision: 0,
      asked: '-1',
    });
    expect(listExpired().status.metadata).toEqual({});
  });
});
