// Makes a self-signed certificate for 127.0.0.1, for tests of TLS.
import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import { SubjectAlternativeNameExtension, X509CertificateGenerator } from '@peculiar/x509';

/**
 * Returns certificate and key in PEM. `name` is, for example, "CN=alice+O=dev"; `hosts` are DNS names in addition to the address; 'none' =
 * no alternative names.
 */
export async function selfSigned(
  name: string,
  hosts: readonly string[] | 'none' = [],
): Promise<{ readonly cert: string; readonly key: string }> {
  const keys = await webcrypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign', 'verify']);
  const certificate = await X509CertificateGenerator.createSelfSigned(
    {
      name,
      keys,
      signingAlgorithm: { name: 'ECDSA', hash: 'SHA-256' },
      extensions: hosts === 'none' ? [] : [alternativeNames(hosts)],
    },
    webcrypto as never,
  );
  const key = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64');
  return {
    cert: certificate.toString('pem'),
    key: `-----BEGIN PRIVATE KEY-----\n${key}\n-----END PRIVATE KEY-----\n`,
  };
}

function alternativeNames(hosts: readonly string[]): SubjectAlternativeNameExtension {
  const names = hosts.map((value) => ({ type: 'dns' as const, value }));
  return new SubjectAlternativeNameExtension([{ type: 'ip', value: '127.0.0.1' }, ...names]);
}
