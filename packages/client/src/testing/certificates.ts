// Throw-away certificates for TLS tests: one authority, and certificates for servers and clients.
import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import { parseTime } from '@kapstan/api';
import { toDate } from '@kapstan/api/internal';
import * as x509 from '@peculiar/x509';

interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

export interface TestAuthority {
  /** PEM. */
  readonly ca: string;
  issue(commonName: string, hosts?: readonly string[]): Promise<KeyPair>;
}

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const validity = {
  notBefore: toDate(parseTime('2020-01-01T00:00:00Z')),
  notAfter: toDate(parseTime('2120-01-01T00:00:00Z')),
};

export async function testAuthority(): Promise<TestAuthority> {
  x509.cryptoProvider.set(webcrypto as never);
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const ca = await x509.X509CertificateGenerator.createSelfSigned({
    name: 'CN=test-ca',
    ...validity,
    keys,
    signingAlgorithm: algorithm,
    extensions: [new x509.BasicConstraintsExtension(true, undefined, true)],
  });
  return {
    ca: ca.toString('pem'),
    issue: async (commonName, hosts = []) => {
      const leaf = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
      const names = hosts.map((value) => ({
        type: /^[\d.]+$/.test(value) ? ('ip' as const) : ('dns' as const),
        value,
      }));
      const certificate = await x509.X509CertificateGenerator.create({
        subject: `CN=${commonName}`,
        issuer: ca.subject,
        ...validity,
        publicKey: leaf.publicKey,
        signingKey: keys.privateKey,
        signingAlgorithm: algorithm,
        extensions: names.length === 0 ? [] : [new x509.SubjectAlternativeNameExtension(names)],
      });
      const der = await webcrypto.subtle.exportKey('pkcs8', leaf.privateKey);
      const key = x509.PemConverter.encode(der, 'PRIVATE KEY');
      return { cert: certificate.toString('pem'), key };
    },
  };
}
