// Reads the extended key usage of a certificate from its DER. Node shows it as the member keyUsage of X509Certificate, but Deno shows
// another extension under that name. client-verification.ts uses it.

interface Element {
  readonly tag: number;
  readonly content: Uint8Array;
}

const tags = { extensions: 0xa3, bytes: 0x04 };
/** 2.5.29.37, as DER has it. */
const extendedKeyUsage = '551d25';

const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

/** Returns the elements that follow each other in DER. Tags of certificates have one byte. */
function elementsIn(der: Uint8Array): readonly Element[] {
  const found: Element[] = [];
  let at = 0;
  while (at < der.length) {
    const [tag = 0, first = 0] = der.subarray(at, at + 2);
    const lengthBytes = first < 0x80 ? 0 : first - 0x80;
    const begin = at + 2 + lengthBytes;
    const length = der.subarray(at + 2, begin).reduce((sum, byte) => sum * 256 + byte, first < 0x80 ? first : 0);
    found.push({ tag, content: der.subarray(begin, begin + length) });
    at = begin + length;
  }
  return found;
}

/** Returns the elements of the only element in DER. */
const partsOf = (der: Uint8Array | undefined): readonly Element[] =>
  elementsIn(elementsIn(der ?? new Uint8Array())[0]?.content ?? new Uint8Array());

/** Returns the object identifiers as DER has them, in hexadecimal; undefined when the certificate does not limit its usage. */
export function extendedKeyUsages(certificate: Uint8Array): readonly string[] | undefined {
  const [signed] = partsOf(certificate);
  const all = elementsIn(signed?.content ?? new Uint8Array()).find(({ tag }) => tag === tags.extensions);
  for (const { content } of partsOf(all?.content)) {
    const [id, ...rest] = elementsIn(content);
    if (id === undefined || hexOf(id.content) !== extendedKeyUsage) continue;
    const value = rest.find(({ tag }) => tag === tags.bytes);
    return partsOf(value?.content).map((usage) => hexOf(usage.content));
  }
  return undefined;
}
