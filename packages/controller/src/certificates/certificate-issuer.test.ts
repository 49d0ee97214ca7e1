// The issued certificates as OpenSSL, through node:crypto, and @peculiar/x509 read them.
import { X509Certificate } from 'node:crypto';
import 'reflect-metadata';
import * as x509 from '@peculiar/x509';
import { describe, expect, it } from 'vitest';
import { createIssuer } from './certificate-issuer.ts';

const nowMs = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
const lifetimeMs = 86_400_000;

describe('an issued certificate', () => {
  it('is signed by the authority, which names and keys identify', async () => {
    const { authority, issue } = await createIssuer(undefined, { nowMs, lifetimeMs, commonName: 'own-ca' });
    const leaf = await issue({ commonName: 'own', organization: 'Größe', usage: 'client', nowMs, lifetimeMs });
    const [ca, cert] = [new X509Certificate(authority.cert), new X509Certificate(leaf.cert)];
    expect([ca.ca, cert.ca]).toEqual([true, false]);
    expect([ca.subject, ca.issuer]).toEqual(['CN=own-ca', 'CN=own-ca']);
    expect([cert.subject, cert.issuer]).toEqual(['O=Größe\nCN=own', 'CN=own-ca']);
    expect([ca.verify(ca.publicKey), cert.verify(ca.publicKey), cert.checkIssued(ca)]).toEqual([true, true, true]);
    expect(new Date(cert.validFrom)).toEqual(new Date('2026-01-02T02:59:05Z'));
    expect(new Date(cert.validTo)).toEqual(new Date('2026-01-03T03:04:05Z'));
    const read = new x509.X509Certificate(leaf.cert);
    const caKeyId = new x509.X509Certificate(authority.cert).getExtension(x509.SubjectKeyIdentifierExtension)?.keyId;
    expect(read.getExtension(x509.AuthorityKeyIdentifierExtension)?.keyId).toBe(caKeyId);
    expect(read.getExtension(x509.ExtendedKeyUsageExtension)?.usages).toEqual([x509.ExtendedKeyUsage.clientAuth]);
    expect(read.getExtension(x509.KeyUsagesExtension)?.usages).toBe(x509.KeyUsageFlags.digitalSignature);
  });

  it('has the extensions that @peculiar/x509 gives the same values', async () => {
    const { authority } = await createIssuer(undefined, { nowMs, lifetimeMs });
    const read = new x509.X509Certificate(authority.cert);
    const { keyCertSign, digitalSignature, cRLSign } = x509.KeyUsageFlags;
    const values = [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(keyCertSign | digitalSignature | cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(read.publicKey),
    ];
    const hex = (extensions: readonly x509.Extension[]) =>
      extensions.map(({ rawData }) => Buffer.from(rawData).toString('hex'));
    expect(hex(read.extensions)).toEqual(hex(values));
  });

  it('is valid for its hosts', async () => {
    const { issue } = await createIssuer(undefined, { nowMs, lifetimeMs });
    const hosts = ['a.example', '10.0.0.1', '::1', '2001:db8::8a2e:1', '::ffff:1.2.3.4', 'fe80:0:0:0:1:2:3:4'];
    const { cert } = await issue({ commonName: 'own', hosts, usage: 'server', nowMs, lifetimeMs });
    const read = new X509Certificate(cert);
    expect(read.checkHost('a.example')).toBe('a.example');
    expect(hosts.slice(1).map((host) => [host, read.checkIP(host)])).toEqual(
      hosts.slice(1).map((host) => [host, host]),
    );
    expect(read.checkIP('10.0.0.2')).toBeUndefined();
  });

  it('may live past 2050', async () => {
    const { authority } = await createIssuer(undefined, { nowMs, lifetimeMs: 40 * 365 * lifetimeMs });
    expect(new Date(new X509Certificate(authority.cert).validTo)).toEqual(new Date('2065-12-23T03:04:05Z'));
  });
});

describe('an authority that exists', () => {
  it('keeps its certificate, and its name as it is encoded', async () => {
    const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
    const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
    const name: x509.JsonName = [{ C: ['DE'] }, { CN: [{ printableString: 'their ca' } as never] }];
    const ca = await x509.X509CertificateGenerator.createSelfSigned({ name, keys, signingAlgorithm: algorithm });
    const key = x509.PemConverter.encode(await crypto.subtle.exportKey('pkcs8', keys.privateKey), 'PRIVATE KEY');
    const { authority, issue } = await createIssuer({ cert: ca.toString('pem'), key }, { nowMs, lifetimeMs });
    expect(authority).toEqual({ cert: ca.toString('pem'), key });
    const leaf = await issue({ commonName: 'own', usage: 'server', nowMs, lifetimeMs });
    const cert = new x509.X509Certificate(leaf.cert);
    expect(Buffer.from(cert.issuerName.toArrayBuffer())).toEqual(Buffer.from(ca.subjectName.toArrayBuffer()));
    expect(new X509Certificate(leaf.cert).verify(new X509Certificate(ca.toString('pem')).publicKey)).toBe(true);
  });

  it('is refused with a key of another kind, and without a certificate', async () => {
    const { authority } = await createIssuer(undefined, { nowMs, lifetimeMs });
    const options = { nowMs, lifetimeMs };
    const { generateKeyPairSync } = await import('node:crypto');
    const { privateKey } = generateKeyPairSync('ed25519');
    const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    await expect(createIssuer({ cert: authority.cert, key }, options)).rejects.toThrow('is not a P-256 key');
    await expect(createIssuer({ cert: '', key: authority.key }, options)).rejects.toThrow(TypeError);
  });
});
