import { generateKeyPairSync } from 'node:crypto';
import { selfSigned } from '@kapstan/apiserver/testing';
import { beforeAll, describe, expect, it } from 'vitest';
import { keyPairFault } from './tls-key-pair.ts';

let pair: Awaited<ReturnType<typeof selfSigned>>;
let other: Awaited<ReturnType<typeof selfSigned>>;
const rsa = generateKeyPairSync('rsa', { modulusLength: 1024 });
const block = (type: string, text = 'MQ=='): string => `-----BEGIN ${type}-----\n${text}\n-----END ${type}-----\n`;

beforeAll(async () => {
  pair = await selfSigned('CN=a');
  other = await selfSigned('CN=b');
});

describe('a certificate and a key', () => {
  it('that belong together have no fault, whatever stands before them', () => {
    expect(keyPairFault(pair.cert, pair.key)).toBeUndefined();
    const notes = `a note\n${block('EC PARAMETERS')}`;
    expect(keyPairFault(`${block('X')}${pair.cert}${other.cert}`, `${notes}${pair.key}`)).toBeUndefined();
  });

  const foreign = rsa.privateKey.export({ type: 'pkcs1', format: 'pem' }).toString();
  it.each<[string, () => [cert: string, key: string], fault: string]>([
    ['nothing', () => ['x', 'y'], 'tls: failed to find any PEM data in certificate input'],
    [
      'the key in the place of the certificate',
      () => [pair.key, pair.cert],
      'tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched',
    ],
    [
      'other blocks',
      () => [`${block('A')}${block('B')}`, ''],
      'tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the following types: [A B]',
    ],
    ['no key', () => [pair.cert, ''], 'tls: failed to find any PEM data in key input'],
    [
      'the certificate twice',
      () => [pair.cert, pair.cert],
      'tls: found a certificate rather than a key in the PEM for the private key',
    ],
    [
      'a public key',
      () => [pair.cert, block('PUBLIC KEY')],
      'tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after skipping PEM blocks of the following types: [PUBLIC KEY]',
    ],
    ['a broken certificate', () => [block('CERTIFICATE'), pair.key], 'x509: malformed certificate'],
    ['a broken key', () => [pair.cert, block('PRIVATE KEY')], 'tls: failed to parse private key'],
    ['a key of another kind', () => [pair.cert, foreign], 'tls: private key type does not match public key type'],
    ['another key', () => [pair.cert, other.key], 'tls: private key does not match public key'],
    [
      'a block that does not end',
      () => ['-----BEGIN CERTIFICATE-----\nx', ''],
      'tls: failed to find any PEM data in certificate input',
    ],
  ])('%s', (_what, input, fault) => {
    expect(keyPairFault(...input())).toBe(fault);
  });

  it('are read in one pass, also where blocks are begun and not ended', () => {
    const text = '-----BEGIN A-----\n'.repeat(50_000);
    expect(keyPairFault(`${text}${block('B')}`, '')).toContain('following types: [B]');
  });
});
