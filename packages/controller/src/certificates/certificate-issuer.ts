// Issues X.509 certificates with @peculiar/x509. Everybody imports it lazily, because the library loads slowly.
import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import { toDate } from '@kapstan/api/internal';
import * as x509 from '@peculiar/x509';
import { clockSkewMs, isAddress, type KeyPair } from './key-pair.ts';

/** A certificate to issue: for which names, for how long, for server or client. */
export interface LeafOptions {
  readonly commonName: string;
  readonly organization?: string;
  readonly hosts?: readonly string[];
  readonly usage: 'server' | 'client';
  readonly nowMs: number;
  readonly lifetimeMs: number;
}

/** Issues certificates in the name of an authority. */
export interface CertificateIssuer {
  readonly authority: KeyPair;
  issue(options: LeafOptions): Promise<KeyPair>;
}

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

/** The name and the life of a certificate authority. */
export interface AuthorityOptions {
  readonly nowMs: number;
  readonly lifetimeMs: number;
  /** Default "kapstan-ca". */
  readonly commonName?: string;
}

/** Creates an issuer over an existing authority, or over a new self-signed one. */
export async function createIssuer(
  existing: KeyPair | undefined,
  options: AuthorityOptions,
): Promise<CertificateIssuer> {
  x509.cryptoProvider.set(webcrypto);
  const { keys, certificate } = existing ? await importAuthority(existing) : await createAuthority(options);
  const authority = existing ?? { cert: pem(certificate), key: await exportKey(keys.privateKey) };
  return {
    authority,
    issue: async (options) => {
      const leafKeys = await generateKeys();
      const leaf = await x509.X509CertificateGenerator.create({
        serialNumber: serialNumber(),
        subject: [...(options.organization ? [{ O: [options.organization] }] : []), { CN: [options.commonName] }],
        issuer: certificate.subject,
        notBefore: toDate(options.nowMs - clockSkewMs),
        notAfter: toDate(options.nowMs + options.lifetimeMs),
        publicKey: leafKeys.publicKey,
        signingKey: keys.privateKey,
        signingAlgorithm: algorithm,
        extensions: await leafExtensions(options, { leaf: leafKeys.publicKey, authority: keys.publicKey }),
      });
      return { cert: pem(leaf), key: await exportKey(leafKeys.privateKey) };
    },
  };
}

async function leafExtensions(
  options: LeafOptions,
  keys: { leaf: webcrypto.CryptoKey; authority: webcrypto.CryptoKey },
): Promise<x509.Extension[]> {
  const usage = options.usage === 'server' ? x509.ExtendedKeyUsage.serverAuth : x509.ExtendedKeyUsage.clientAuth;
  const names = (options.hosts ?? []).map((host) => ({
    type: isAddress(host) ? ('ip' as const) : ('dns' as const),
    value: host,
  }));
  return [
    new x509.BasicConstraintsExtension(false, undefined, true),
    new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
    new x509.ExtendedKeyUsageExtension([usage]),
    await x509.SubjectKeyIdentifierExtension.create(keys.leaf),
    await x509.AuthorityKeyIdentifierExtension.create(keys.authority),
    ...(names.length === 0 ? [] : [new x509.SubjectAlternativeNameExtension(names)]),
  ];
}

interface Authority {
  readonly keys: webcrypto.CryptoKeyPair;
  readonly certificate: x509.X509Certificate;
}

async function createAuthority(options: AuthorityOptions): Promise<Authority> {
  const { nowMs, lifetimeMs, commonName = 'kapstan-ca' } = options;
  const keys = await generateKeys();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name: [{ CN: [commonName] }],
    notBefore: toDate(nowMs - clockSkewMs),
    notAfter: toDate(nowMs + lifetimeMs),
    keys,
    signingAlgorithm: algorithm,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(
        x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.digitalSignature | x509.KeyUsageFlags.cRLSign,
        true,
      ),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { keys, certificate };
}

async function importAuthority(pair: KeyPair): Promise<Authority> {
  const certificate = new x509.X509Certificate(pair.cert);
  const privateKey = await webcrypto.subtle.importKey(
    'pkcs8',
    x509.PemConverter.decodeFirst(pair.key),
    algorithm,
    true,
    ['sign'],
  );
  const publicKey = await certificate.publicKey.export(webcrypto);
  return { keys: { privateKey: privateKey, publicKey }, certificate };
}

async function generateKeys(): Promise<webcrypto.CryptoKeyPair> {
  return (await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])) as webcrypto.CryptoKeyPair;
}

async function exportKey(key: webcrypto.CryptoKey): Promise<string> {
  const bytes = await webcrypto.subtle.exportKey('pkcs8', key);
  return `${x509.PemConverter.encode(bytes, 'PRIVATE KEY')}\n`;
}

function pem(certificate: x509.X509Certificate): string {
  return `${certificate.toString('pem')}\n`;
}

/** Returns 16 random bytes with the top bit clear, so that the number is positive in DER. */
function serialNumber(): string {
  const bytes = webcrypto.getRandomValues(new Uint8Array(16));
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x01;
  return Buffer.from(bytes).toString('hex');
}
