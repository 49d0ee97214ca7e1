// Tests client certificates over real TLS: the users that they name, and the ones that Go's verification accepts.
import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import { get as httpsGet } from 'node:https';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import {
  BasicConstraintsExtension,
  ExtendedKeyUsageExtension,
  Extension,
  KeyUsageFlags,
  KeyUsagesExtension,
  Name,
  PemConverter,
  type X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RequestContext } from '../registry/definition/request-context.ts';
import { startTestServer, type TestServer } from '../testing/api-server-fixture.ts';
import { selfSigned } from '../testing/self-signed.ts';
import { certificateAuthenticator } from './authenticator.ts';

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const clientAuth = '1.3.6.1.5.5.7.3.2';
const serverAuth = '1.3.6.1.5.5.7.3.1';
const anyUsage = '2.5.29.37.0';
const usages = (...oids: string[]): Extension => new ExtendedKeyUsageExtension(oids);
const keyUsage = (flags: KeyUsageFlags): Extension => new KeyUsagesExtension(flags);
const isAuthority = [new BasicConstraintsExtension(true), keyUsage(KeyUsageFlags.keyCertSign)];

interface Issued {
  readonly certificate: X509Certificate;
  readonly keys: CryptoKeyPair;
}
type CryptoKeyPair = webcrypto.CryptoKeyPair;

interface Wanted {
  readonly subject: string;
  readonly extensions?: readonly Extension[];
  readonly notAfter?: string;
}

let authority: Issued;
let stranger: Issued;
let server: TestServer;
let serverCa: string;
let user: RequestContext['user'] | undefined;

beforeAll(async () => {
  authority = await issue({ subject: 'CN=authority', extensions: isAuthority });
  stranger = await issue({ subject: 'CN=stranger', extensions: isAuthority });
  const serving = await selfSigned('CN=127.0.0.1');
  serverCa = serving.cert;
  server = await startTestServer(openLmdbEngine, {
    tls: { cert: serving.cert, key: serving.key, clientCa: [serving.cert, authority.certificate.toString('pem')] },
    authentication: { authenticators: [certificateAuthenticator], anonymous: false },
    authorizer: {
      authorize: (asked: { readonly user: RequestContext['user'] }) => {
        user = asked.user;
        return { decision: 'allow', reason: '' };
      },
    } as never,
  });
});
afterAll(() => server.close());

/** Returns a certificate, which is self-signed if no issuer is given. */
async function issue({ subject, extensions = [], notAfter = '2100-01-01' }: Wanted, issuer?: Issued): Promise<Issued> {
  const keys = (await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])) as CryptoKeyPair;
  const certificate = await X509CertificateGenerator.create(
    {
      serialNumber: '0b',
      subject: new Name(subject),
      issuer: issuer?.certificate.subjectName ?? new Name(subject),
      notBefore: new Date('2020-01-01'),
      notAfter: new Date(notAfter),
      publicKey: keys.publicKey,
      signingKey: (issuer ?? { keys }).keys.privateKey,
      signingAlgorithm: algorithm,
      extensions: [...extensions],
    },
    webcrypto as never,
  );
  return { certificate, keys };
}

/** Returns status and user of a request with these certificates, the client's own first. */
async function ask(own: Issued, ...others: readonly Issued[]): Promise<{ readonly status: number | undefined }> {
  user = undefined;
  const key = PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', own.keys.privateKey), 'PRIVATE KEY');
  const cert = [own, ...others].map(({ certificate }) => certificate.toString('pem')).join('\n');
  const options = { ca: serverCa, agent: false as const, key, cert };
  return new Promise((resolve, reject) => {
    const request = httpsGet(`${server.url}/version`, options, (response) => {
      response.resume().on('end', () => resolve({ status: response.statusCode }));
    });
    request.on('error', reject);
  });
}

const named = (subject: string, ...extensions: Extension[]): Promise<Issued> =>
  issue({ subject, extensions }, authority);

describe('the user of a client certificate', () => {
  it('is the last of several common names; the groups are all organizations, in their order', async () => {
    expect(await ask(await named('CN=first,O=b,O=a,CN=last,O=c', usages(clientAuth)))).toEqual({ status: 200 });
    expect(user).toMatchObject({ name: 'last', groups: ['b', 'a', 'c', 'system:authenticated'] });
  });

  it('is reported with the fingerprint of the certificate', async () => {
    const own = await named('CN=alice', usages(clientAuth));
    await ask(own);
    const fingerprint = Buffer.from(await own.certificate.getThumbprint('SHA-256')).toString('hex');
    expect(user?.extra).toEqual({ 'authentication.kubernetes.io/credential-id': [`X509SHA256=${fingerprint}`] });
  });

  it('has the UID that the subject gives, and none counts when there are two', async () => {
    await ask(await named('CN=alice,1.3.6.1.4.1.57683.2=u-1', usages(clientAuth)));
    expect(user?.uid).toBe('u-1');
    const two = await named('CN=alice,1.3.6.1.4.1.57683.2=u-1,1.3.6.1.4.1.57683.2=u-2', usages(clientAuth));
    expect(await ask(two)).toEqual({ status: 401 });
  });
});

describe('a client certificate is taken', () => {
  it.each<[string, Extension[]]>([
    ['for any use', [usages(anyUsage)]],
    ['for a use of its own and any', [usages(serverAuth, anyUsage)]],
    ['without a named use', []],
    ['of an authority', isAuthority],
    ['that may encipher keys alone', [keyUsage(KeyUsageFlags.keyEncipherment), usages(clientAuth)]],
  ])('%s', async (_what, extensions) => {
    expect(await ask(await named('CN=alice', ...extensions))).toEqual({ status: 200 });
  });

  it('that is the authority itself', async () => {
    expect(await ask(authority)).toEqual({ status: 200 });
  });

  it('for any use, signed by an authority between that was sent', async () => {
    const between = await named('CN=between', ...isAuthority);
    const own = await issue({ subject: 'CN=alice', extensions: [usages(anyUsage)] }, between);
    expect(await ask(own, between)).toEqual({ status: 200 });
  });
});

describe('a client certificate is refused', () => {
  it('for servers alone', async () => {
    expect(await ask(await named('CN=alice', usages(serverAuth)))).toEqual({ status: 401 });
  });

  it('for any use, with a critical extension that nobody knows', async () => {
    const unknown = (isCritical: boolean): Extension => new Extension('1.2.3.4', isCritical, new Uint8Array([5, 0]));
    expect(await ask(await named('CN=alice', usages(anyUsage), unknown(false)))).toEqual({ status: 200 });
    expect(await ask(await named('CN=alice', usages(anyUsage), unknown(true)))).toEqual({ status: 401 });
  });

  it('for any use, of a stranger', async () => {
    const own = await issue({ subject: 'CN=alice,O=system:masters', extensions: [usages(anyUsage)] }, stranger);
    expect([await ask(own), await ask(own, stranger)]).toEqual([{ status: 401 }, { status: 401 }]);
  });

  it('for any use, of somebody who only calls himself the authority', async () => {
    const imposter = await issue({ subject: 'CN=authority', extensions: isAuthority });
    const own = await issue({ subject: 'CN=alice', extensions: [usages(anyUsage)] }, imposter);
    expect([await ask(own), await ask(own, imposter)]).toEqual([{ status: 401 }, { status: 401 }]);
  });

  it('for any use, when its time is over', async () => {
    const own = await issue({ subject: 'CN=a', extensions: [usages(anyUsage)], notAfter: '2021-01-01' }, authority);
    expect(await ask(own)).toEqual({ status: 401 });
  });

  it('for any use, when its signer is not an authority, or is an authority for servers', async () => {
    for (const extensions of [[usages(clientAuth)], [...isAuthority, usages(serverAuth)]]) {
      const between = await named('CN=between', ...extensions);
      const own = await issue({ subject: 'CN=alice', extensions: [usages(anyUsage)] }, between);
      expect(await ask(own, between)).toEqual({ status: 401 });
    }
  });
});
