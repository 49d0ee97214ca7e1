// The fields of an X.509 certificate (RFC 5280) as values of asn1js, which encodes them. Used by certificate-issuer.ts.
import { toDate } from '@kapstan/api/internal';
import {
  Set as AsnSet,
  type AsnType,
  BitString,
  Boolean as Bool,
  Constructed,
  fromBER,
  GeneralizedTime,
  Integer,
  ObjectIdentifier,
  OctetString,
  Primitive,
  Sequence,
  UTCTime,
  Utf8String,
} from 'asn1js';
import { isAddress } from './key-pair.ts';

/** Object identifiers, RFC 5280 and RFC 5758. */
const ids = {
  commonName: '2.5.4.3',
  organization: '2.5.4.10',
  subjectKeyIdentifier: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  authorityKeyIdentifier: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
  server: '1.3.6.1.5.5.7.3.1',
  client: '1.3.6.1.5.5.7.3.2',
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
} as const;

/** Digital signature. */
const leafUsage = { bits: 0x80, unusedBits: 7 };
/** Digital signature, signing certificates, signing revocation lists. */
const authorityUsage = { bits: 0x86, unusedBits: 1 };
/** From this year on, times have four digits for the year, RFC 5280 section 4.1.2.5. */
const firstLongYear = 2050;

export const sequence = (...value: AsnType[]): Sequence => new Sequence({ value });

/** Returns a value that is encoded already. Throws TypeError when it is not DER. */
export function encoded(der: Uint8Array): AsnType {
  const { offset, result } = fromBER(der);
  if (offset !== der.length) throw new TypeError(`not one DER value: ${result.error}`);
  return result;
}

export const bitString = (bytes: Uint8Array, unusedBits = 0): BitString =>
  new BitString({ valueHex: bytes, unusedBits });

/** The most significant bit of the number must be clear, because it is the sign. */
export const integer = (bytes: Uint8Array): Integer => new Integer({ valueHex: bytes });

export const signatureAlgorithm = (): Sequence => sequence(new ObjectIdentifier({ value: ids.ecdsaWithSha256 }));

export function subjectName({ organization, commonName }: { organization?: string; commonName: string }): Sequence {
  const part = (id: string, value: string): AsnSet =>
    new AsnSet({ value: [sequence(new ObjectIdentifier({ value: id }), new Utf8String({ value }))] });
  const organizations = organization ? [part(ids.organization, organization)] : [];
  return sequence(...organizations, part(ids.commonName, commonName));
}

/** Cuts the time, in milliseconds since 1970, to whole seconds. */
export function time(ms: number): AsnType {
  const valueDate = toDate(Math.floor(ms / 1000) * 1000);
  return valueDate.getUTCFullYear() < firstLongYear ? new UTCTime({ valueDate }) : new GeneralizedTime({ valueDate });
}

/** An explicitly tagged field of a certificate: 0 is the version, 3 the extensions. */
export const tagged = (tagNumber: number, value: AsnType): Constructed =>
  new Constructed({ idBlock: { tagClass: 3, tagNumber }, value: [value] });

/** Returns the extensions of an authority: the right to sign certificates, and the identifier of its key. */
export function authorityExtensions(keyId: Uint8Array): readonly Sequence[] {
  return [
    extension(ids.basicConstraints, sequence(new Bool({ value: true })), true),
    keyUsage(authorityUsage),
    extension(ids.subjectKeyIdentifier, new OctetString({ valueHex: keyId })),
  ];
}

export interface LeafFields {
  readonly usage: 'server' | 'client';
  readonly hosts: readonly string[];
  readonly keyId: Uint8Array;
  readonly authorityKeyId: Uint8Array;
}

/** Returns the extensions of a certificate that an authority issues: its usage, its hosts, and the identifiers of both keys. */
export function leafExtensions({ usage, hosts, keyId, authorityKeyId }: LeafFields): readonly Sequence[] {
  const names = hosts.map((host) =>
    isAddress(host) ? implicit(7, addressBytes(host)) : implicit(2, Buffer.from(host)),
  );
  return [
    extension(ids.basicConstraints, sequence(), true),
    keyUsage(leafUsage),
    extension(ids.extendedKeyUsage, sequence(new ObjectIdentifier({ value: ids[usage] }))),
    extension(ids.subjectKeyIdentifier, new OctetString({ valueHex: keyId })),
    extension(ids.authorityKeyIdentifier, sequence(implicit(0, authorityKeyId))),
    ...(names.length === 0 ? [] : [extension(ids.subjectAltName, sequence(...names))]),
  ];
}

const keyUsage = ({ bits, unusedBits }: typeof leafUsage): Sequence =>
  extension(ids.keyUsage, bitString(Uint8Array.of(bits), unusedBits), true);

function extension(id: string, value: AsnType, isCritical = false): Sequence {
  return sequence(
    new ObjectIdentifier({ value: id }),
    ...(isCritical ? [new Bool({ value: true })] : []),
    new OctetString({ valueHex: value.toBER() }),
  );
}

function implicit(tagNumber: number, bytes: Uint8Array): Primitive {
  return new Primitive({ idBlock: { tagClass: 3, tagNumber }, valueHex: bytes });
}

/** Returns 4 or 16 bytes. Throws TypeError for text that is not an address. */
function addressBytes(host: string): Uint8Array {
  if (!host.includes(':')) return Uint8Array.from(host.split('.'), Number);
  // URL writes each group in hexadecimal, even if the address ends like an IPv4 address.
  const [head = '', tail] = new URL(`https://[${host}]`).hostname.slice(1, -1).split('::');
  const groups = (text: string): string[] => (text === '' ? [] : text.split(':'));
  const last = groups(tail ?? '');
  const zeros = Array.from({ length: 8 - groups(head).length - last.length }, () => '0');
  const hex = [...groups(head), ...zeros, ...last].map((group) => group.padStart(4, '0')).join('');
  return Buffer.from(hex, 'hex');
}
