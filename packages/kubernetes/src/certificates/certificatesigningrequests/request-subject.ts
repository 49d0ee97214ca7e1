// Reads the subject of a PKCS#10 request: organizations become a user's groups, the common name becomes its name. Used by admission. Source: crypto/x509
// ParseCertificateRequest, crypto/x509/pkix FillFromRDNSequence of Go.
import { contentOf, type DerValue, objectId, readDerValues, sequence } from '@kapstan/apiserver/internal';
import { pemBlocks } from './pem-blocks.ts';

const set = 0x31;
/** Object identifier 2.5.4.10. */
const organization = '55040a';
/** Object identifier 2.5.4.3. */
const commonName = '550403';
const bmpString = 0x1e;
/** Tags of UTF8String, NumericString, PrintableString, T61String, IA5String. */
const otherStrings: ReadonlySet<number> = new Set([0x0c, 0x12, 0x13, 0x14, 0x16]);

/** Reads a `spec.request`, which is base64 of PEM. Throws TypeError when it is malformed. */
export function requestedOrganizations(request: string): readonly string[] {
  return subjectTexts(request, organization);
}

/** Returns the last common name; "" when there is none. Throws TypeError when the request is malformed. */
export function requestedCommonName(request: string): string {
  return subjectTexts(request, commonName).at(-1) ?? '';
}

function subjectTexts(request: string, wanted: string): readonly string[] {
  const [first] = pemBlocks(Buffer.from(request, 'base64').toString('latin1'));
  if (first?.type !== 'CERTIFICATE REQUEST') throw new TypeError('PEM block type must be CERTIFICATE REQUEST');
  const [outer] = readDerValues(first.der);
  const [signed] = readDerValues(contentOf(outer, sequence));
  const [, subject] = readDerValues(contentOf(signed, sequence));
  const attributes = readDerValues(contentOf(subject, sequence)).flatMap((names) =>
    readDerValues(contentOf(names, set)),
  );
  return attributes.flatMap((attribute) => {
    const [id, value] = readDerValues(contentOf(attribute, sequence));
    return contentOf(id, objectId).toString('hex') === wanted ? textOf(value) : [];
  });
}

/** Returns nothing for a value that is not text. */
function textOf(value: DerValue | undefined): string[] {
  if (value === undefined) return [];
  if (otherStrings.has(value.tag)) return [value.content.toString('utf8')];
  if (value.tag !== bmpString) return [];
  // Each letter has two bytes, the higher first; a final zero is not a letter.
  const letters = Buffer.from(value.content.subarray(0, value.content.length & ~1)).swap16();
  return [letters.toString('utf16le').replace(/\0$/, '')];
}
