// Reads extensions of a certificate from its DER. Node shows the extended key usage as the member keyUsage of X509Certificate, but Deno shows
// another extension under that name, and neither shows which extensions are critical. client-verification.ts uses it.

interface Element {
  readonly tag: number;
  readonly content: Uint8Array;
}

interface Extension {
  /** Object identifier as DER has it, in hexadecimal. */
  readonly id: string;
  readonly isCritical: boolean;
  readonly value: Uint8Array;
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

const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

/**
 * Returns the object identifiers as DER has them, in hexadecimal; undefined when the certificate does not limit its usage. None for a
 * certificate that cannot be read: it serves no use.
 */
export function extendedKeyUsages(certificate: Uint8Array): readonly string[] | undefined {
  try {
    const limit = extensionsOf(certificate).find(({ id }) => id === extendedKeyUsage);
    return limit && partsOf(limit.value).map((usage) => hexOf(usage.content));
  } catch (error) {
    if (error instanceof RangeError) return [];
    throw error;
  }
}

/** Returns whether the certificate has a critical extension that nobody here judges; true also when it cannot be read. */
export function hasUnhandledCriticalExtension(certificate: Uint8Array): boolean {
  try {
    return extensionsOf(certificate).some((extension) => extension.isCritical && !isHandled(extension));
  } catch (error) {
    if (error instanceof RangeError) return true;
    throw error;
  }
}

function isHandled({ id, value }: Extension): boolean {
  if (id === subjectAlternativeName) return partsOf(value).some(({ tag }) => readNames.has(tag));
  return handled.has(id);
}

function extensionsOf(certificate: Uint8Array): readonly Extension[] {
  const [signed] = partsOf(certificate);
  if (signed === undefined) throw notDer();
  const all = elementsIn(signed.content).find(({ tag }) => tag === tags.extensions);
  return all === undefined ? [] : partsOf(all.content).map(extensionOf);
}

function extensionOf({ content }: Element): Extension {
  const [id, ...rest] = elementsIn(content);
  const value = rest.find(({ tag }) => tag === tags.bytes);
  if (id === undefined || value === undefined) throw notDer();
  const critical = rest.find(({ tag }) => tag === tags.boolean);
  return {
    id: hexOf(id.content),
    isCritical: critical?.content.some((byte) => byte !== 0) ?? false,
    value: value.content,
  };
}

/** Returns the elements of the first element in DER. */
function partsOf(der: Uint8Array): readonly Element[] {
  const [whole] = elementsIn(der);
  if (whole === undefined) throw notDer();
  return elementsIn(whole.content);
}

/** Returns the elements that follow each other in DER. Tags of certificates have one byte. */
function elementsIn(der: Uint8Array): readonly Element[] {
  const found: Element[] = [];
  for (let at = 0; at < der.length; ) {
    const [tag = 0, first] = der.subarray(at, at + 2);
    if (first === undefined || first === 0x80 || first > 0x84) throw notDer();
    const lengthBytes = first < 0x80 ? 0 : first - 0x80;
    const begin = at + 2 + lengthBytes;
    const length = der.subarray(at + 2, begin).reduce((sum, byte) => sum * 256 + byte, first < 0x80 ? first : 0);
    if (begin + length > der.length) throw notDer();
    found.push({ tag, content: der.subarray(begin, begin + length) });
    at = begin + length;
  }
  return found;
}

const notDer = (): RangeError => new RangeError('a certificate that is not DER');
