// Issues X.509 certificates: asn1js encodes them, node:crypto makes the keys and signs. It is always imported lazily, because few programs
// need it.
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPair,
  type KeyObject,
  randomBytes,
  sign,
} from 'node:crypto';
import { promisify } from 'node:util';
import { type AsnType, BitString, Integer, Sequence } from 'asn1js';
import {
  authorityExtensions,
  bitString,
  encoded,
  integer,
  leafExtensions,
  sequence,
  signatureAlgorithm,
  subjectName,
  tagged,
  time,
} from './certificate-fields.ts';
import { clockSkewMs, type KeyPair } from './key-pair.ts';

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

const curve = 'prime256v1';

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
  const { pair, name, key } = existing === undefined ? await createAuthority(options) : importAuthority(existing);
  const authorityKeyId = keyIdentifier(createPublicKey(key));
  return {
    authority: pair,
    issue: async ({ nowMs, lifetimeMs, usage, hosts = [], ...subject }) => {
      const keys = await generateKeys();
      const keyId = keyIdentifier(keys.publicKey);
      const cert = certificate({
        nowMs,
        lifetimeMs,
        issuer: name,
        subject: subjectName(subject),
        publicKey: keys.publicKey,
        signingKey: key,
        extensions: leafExtensions({ usage, hosts, keyId, authorityKeyId }),
      });
      return { cert, key: keyText(keys.privateKey) };
    },
  };
}

interface Authority {
  readonly pair: KeyPair;
  readonly name: AsnType;
  readonly key: KeyObject;
}

async function createAuthority(options: AuthorityOptions): Promise<Authority> {
  const { nowMs, lifetimeMs, commonName = 'kapstan-ca' } = options;
  const { publicKey, privateKey: key } = await generateKeys();
  const name = subjectName({ commonName });
  const extensions = authorityExtensions(keyIdentifier(publicKey));
  const fields = { nowMs, lifetimeMs, issuer: name, subject: name, publicKey, signingKey: key, extensions };
  return { pair: { cert: certificate(fields), key: keyText(key) }, name, key };
}

/** Throws for text that is not a certificate, and for keys other than P-256. */
function importAuthority(pair: KeyPair): Authority {
  const key = createPrivateKey(pair.key);
  if (key.asymmetricKeyDetails?.namedCurve !== curve)
    throw new TypeError('the key of the authority is not a P-256 key');
  return { pair, name: subjectOf(pair.cert), key };
}

/** Returns the subject as it is encoded, because the issuer of a certificate must equal it byte by byte. */
function subjectOf(cert: string): AsnType {
  const [, base64 = ''] = /-----BEGIN CERTIFICATE-----([^-]*)-----END/.exec(cert) ?? [];
  const [fields] = members(encoded(Buffer.from(base64, 'base64')));
  // The version comes first, and is absent in version 1: [version], serial number, algorithm, issuer, validity, subject.
  const parts = members(fields);
  const subject = parts[parts[0] instanceof Integer ? 4 : 5];
  if (subject === undefined) throw new TypeError('the certificate of the authority has no subject');
  return subject;
}

function members(value: AsnType | undefined): readonly AsnType[] {
  if (!(value instanceof Sequence)) throw new TypeError('the certificate of the authority is not a certificate');
  return value.valueBlock.value;
}

interface CertificateFields {
  readonly nowMs: number;
  readonly lifetimeMs: number;
  readonly issuer: AsnType;
  readonly subject: AsnType;
  readonly publicKey: KeyObject;
  readonly signingKey: KeyObject;
  readonly extensions: readonly AsnType[];
}

/** Returns a signed certificate of version 3, PEM. */
function certificate(fields: CertificateFields): string {
  const { nowMs, lifetimeMs, issuer, subject, publicKey, signingKey, extensions } = fields;
  const toBeSigned = sequence(
    tagged(0, new Integer({ value: 2 })),
    integer(serialNumber()),
    signatureAlgorithm(),
    issuer,
    sequence(time(nowMs - clockSkewMs), time(nowMs + lifetimeMs)),
    subject,
    encoded(spki(publicKey)),
    tagged(3, sequence(...extensions)),
  );
  const signature = sign('sha256', Buffer.from(toBeSigned.toBER()), signingKey);
  return pem(sequence(toBeSigned, signatureAlgorithm(), bitString(signature)).toBER());
}

function generateKeys(): Promise<{ readonly publicKey: KeyObject; readonly privateKey: KeyObject }> {
  return promisify(generateKeyPair)('ec', { namedCurve: curve });
}

const spki = (key: KeyObject): Buffer => key.export({ type: 'spki', format: 'der' });

/** Returns the SHA-1 of the bits of the key: RFC 5280 section 4.2.1.2, method 1. */
function keyIdentifier(publicKey: KeyObject): Uint8Array {
  const bits = members(encoded(spki(publicKey)))[1];
  if (!(bits instanceof BitString)) throw new TypeError('the public key has no bits');
  return createHash('sha1').update(bits.valueBlock.valueHexView).digest();
}

const keyText = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }).toString();

function pem(der: ArrayBuffer): string {
  const lines =
    Buffer.from(der)
      .toString('base64')
      .match(/.{1,64}/g) ?? [];
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
}

/** Returns 16 random bytes that are a positive number without leading zeros in DER. */
function serialNumber(): Uint8Array {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x01;
  return bytes;
}
