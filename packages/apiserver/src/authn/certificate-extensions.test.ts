import 'reflect-metadata';
import { webcrypto, X509Certificate } from 'node:crypto';
import {
  BasicConstraintsExtension,
  CertificatePolicyExtension,
  ExtendedKeyUsageExtension,
  Extension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';
import { expect, it } from 'vitest';
import { extendedKeyUsages, hasUnhandledCriticalExtension } from './certificate-extensions.ts';

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

it.each<[string, number[]]>([
  ['no bytes', []],
  ['no length', [0x30]],
  ['a length that ends early', [0x30, 0x84]],
  ['a length past the end', [0x30, 0x84, 0xff, 0xff, 0xff, 0xff, 0x30, 0x80]],
  ['an indefinite length', [0x30, 0x80, 0x30, 0x00, 0x00, 0x00]],
  ['a length of five bytes', [0x30, 0x85, 0x00, 0x00, 0x00, 0x00, 0x02, 0x30, 0x00]],
  ['an element past its parent', [0x30, 0x03, 0x30, 0x02, 0x00, 0x00]],
  ['nothing but tags', Array(300).fill(0x30)],
])('finds no use in bytes that are no certificate: %s', (_, bytes) => {
  expect(extendedKeyUsages(Buffer.from(bytes))).toEqual([]);
  expect(hasUnhandledCriticalExtension(Buffer.from(bytes))).toBe(true);
});

const someName = (type: 'dns' | 'dn', value: string): Extension =>
  new SubjectAlternativeNameExtension([{ type, value }], true);

it.each<[string, boolean, Extension]>([
  ['an unknown one', true, new Extension('1.2.3.4', true, new Uint8Array([5, 0]))],
  ['an unknown one that is not critical', false, new Extension('1.2.3.4', false, new Uint8Array([5, 0]))],
  ['names that are read', false, someName('dns', 'a.example.com')],
  ['names that are not read', true, someName('dn', 'CN=a')],
  ['policies', false, new CertificatePolicyExtension(['1.2.3'], true)],
])('knows a critical extension that is not handled: %s', async (_, isUnhandled, extension) => {
  const { raw } = await issue([new BasicConstraintsExtension(true, 2, true), keyUsage, extension]);
  expect(hasUnhandledCriticalExtension(raw)).toBe(isUnhandled);
});
