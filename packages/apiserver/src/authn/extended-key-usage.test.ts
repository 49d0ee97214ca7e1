import 'reflect-metadata';
import { webcrypto, X509Certificate } from 'node:crypto';
import {
  BasicConstraintsExtension,
  ExtendedKeyUsageExtension,
  type Extension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';
import { expect, it } from 'vitest';
import { extendedKeyUsages } from './extended-key-usage.ts';

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const [serverAuth, clientAuth, any] = ['1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2', '2.5.29.37.0'];
const der = new Map([
  [serverAuth, '2b06010505070301'],
  [clientAuth, '2b06010505070302'],
  [any, '551d2500'],
]);
const keyUsage = new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true);
const manyNames = new SubjectAlternativeNameExtension(
  Array.from({ length: 3000 }, (_, index) => ({ type: 'dns', value: `host-${index}.example.com` })),
);

async function issue(extensions: readonly Extension[]): Promise<X509Certificate> {
  const keys = (await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])) as webcrypto.CryptoKeyPair;
  const options = { name: 'CN=a', notAfter: new Date('2100-01-01'), signingAlgorithm: algorithm, keys };
  const made = await X509CertificateGenerator.createSelfSigned(
    { ...options, extensions: [...extensions] },
    webcrypto as never,
  );
  return new X509Certificate(Buffer.from(made.rawData));
}

it.each<[string, readonly Extension[]]>([
  ['none', []],
  ['none, but a key usage', [keyUsage]],
  [
    'one, behind a critical extension',
    [new BasicConstraintsExtension(true, 2, true), new ExtendedKeyUsageExtension([clientAuth])],
  ],
  ['several, marked as critical', [keyUsage, new ExtendedKeyUsageExtension([serverAuth, any], true)]],
  ['one, behind 60 KB of names', [manyNames, new ExtendedKeyUsageExtension([clientAuth])]],
])('finds the usages that Node finds: %s', async (_, extensions) => {
  const certificate = await issue(extensions);
  const known = (certificate.keyUsage as readonly string[] | undefined)?.map((usage) => der.get(usage));
  expect(extendedKeyUsages(certificate.raw)).toEqual(known);
});

it('ends for bytes that are no certificate', () => {
  const samples = [[], [0x30], [0x30, 0x84], [0x30, 0x84, 0xff, 0xff, 0xff, 0xff, 0x30, 0x80], Array(300).fill(0x30)];
  for (const sample of samples) expect(extendedKeyUsages(Uint8Array.from(sample))).toBeUndefined();
});
