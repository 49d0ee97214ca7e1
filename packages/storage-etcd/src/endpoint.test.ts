import { describe, expect, it } from 'vitest';
import { parseEndpoints } from './endpoint.ts';

describe('parseEndpoints', () => {
  it.each([
    ['http://127.0.0.1:2379', false, '127.0.0.1:2379', false],
    ['http://127.0.0.1:2379', true, '127.0.0.1:2379', false],
    ['https://etcd-0.example:2379/', false, 'etcd-0.example:2379', true],
    ['https://[::1]:2379', true, '[::1]:2379', true],
    [' 10.0.0.1:2379 ', false, '10.0.0.1:2379', false],
    ['10.0.0.1:2379', true, '10.0.0.1:2379', true],
    ['https://etcd', true, 'etcd:443', true],
  ])('reads %j (TLS given: %s)', (text, hasTls, address, isSecure) => {
    expect(parseEndpoints([text], hasTls)[0]).toMatchObject({ address, isSecure });
  });

  it.each([
    '',
    'unix:///run/etcd.sock',
    'ftp://etcd:21',
    'http://user:secret@etcd:2379',
    'http://etcd:2379/path',
    'http://',
  ])('refuses %j', (text) => {
    expect(() => parseEndpoints([text], false)).toThrow(TypeError);
  });

  it('needs at least one, and shows no password', () => {
    expect(() => parseEndpoints([], false)).toThrow('at least one');
    expect(() => parseEndpoints(['http://user:secret@etcd'], false)).not.toThrow('secret');
  });
});
