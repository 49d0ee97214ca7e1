// Reads extensions of a certificate from its DER. Node shows the extended key usage as the member keyUsage of X509Certificate, but Deno shows
// another extension under that name, and neither shows which extensions are critical. client-verification.ts uses it.
import { type DerValue, readDerValues } from './der-values.ts';

interface Extension {
  /** Object identifier as DER has it, in hexadecimal. */
  readonly id: string;
  readonly isCritical: boolean;
  readonly value: Buffer;
}

const tags = { extensions: 0xa3, boolean: 0x01, bytes: 0x04 };
const extendedKeyUsage = '551d25';
const subjectAlternativeName = '551d11';
/** Tags of the names that Go reads there: email, DNS, URI and IP. */
const readNames: ReadonlySet<number> = new Set([0x81, 0x82, 0x86, 0x87]);
/**
 * Key usage, basic constraints, name constraints, CRL distribution points, certificate policies, policy mappings, policy constraints, extended
 * key usage, inhibitAnyPolicy. Source: Go crypto/x509 parser.go (processExtensions).
 */
const handled: ReadonlySet<string> = new Set(
  ['0f', '13', '1e', '1f', '20', '21', '24', '25', '36'].map((last) => `551d${last}`),
);

const hexOf = (bytes: Buffer): string => bytes.toString('hex');

/**
 * Returns the object identifiers as DER has them, in hexadecimal; undefined when the certificate does not limit its usage. None for a
 * certificate that cannot be read: it serves no use.
 */
export function extendedKeyUsages(certificate: Buffer): readonly string[] | undefined {
  try {
    const limit = extensionsOf(certificate).find(({ id }) => id === extendedKeyUsage);
    return limit && partsOf(limit.value).map((usage) => hexOf(usage.content));
  } catch (error) {
    if (error instanceof TypeError) return [];
    throw error;
  }
}

/** Returns whether the certificate has a critical extension that nobody here judges; true also when it cannot be read. */
export function hasUnhandledCriticalExtension(certificate: Buffer): boolean {
  try {
    return extensionsOf(certificate).some((extension) => extension.isCritical && !isHandled(extension));
  } catch (error) {
    if (error instanceof TypeError) return true;
    throw error;
  }
}

function isHandled({ id, value }: Extension): boolean {
  if (id === subjectAlternativeName) return partsOf(value).some(({ tag }) => readNames.has(tag));
  return handled.has(id);
}

function extensionsOf(certificate: Buffer): readonly Extension[] {
  const [signed] = partsOf(certificate);
  if (signed === undefined) throw notDer();
  const all = readDerValues(signed.content).find(({ tag }) => tag === tags.extensions);
  return all === undefined ? [] : partsOf(all.content).map(extensionOf);
}

function extensionOf({ content }: DerValue): Extension {
  const [id, ...rest] = readDerValues(content);
  const value = rest.find(({ tag }) => tag === tags.bytes);
  if (id === undefined || value === undefined) throw notDer();
  const critical = rest.find(({ tag }) => tag === tags.boolean);
  return {
    id: hexOf(id.content),
    isCritical: critical?.content.some((byte) => byte !== 0) ?? false,
    value: value.content,
  };
}

/** Returns the values in the first value. */
function partsOf(der: Buffer): readonly DerValue[] {
  const [whole] = readDerValues(der);
  if (whole === undefined) throw notDer();
  return readDerValues(whole.content);
}

const notDer = (): TypeError => new TypeError('a certificate that is not DER');
