// Reads the values of DER as far as certificates and requests for them need it. Used by certificate-extensions.ts, and by the
// certificate requests of @kapstan/kubernetes. Source: encoding/asn1 of Go.

export interface DerValue {
  readonly tag: number;
  readonly content: Buffer;
  /** The bytes with tag and length. */
  readonly whole: Buffer;
}

export const sequence = 0x30;
export const objectId = 0x06;

/** Returns the content of a value that must be there and have that tag. Throws TypeError. */
export function contentOf(value: DerValue | undefined, tag: number): Buffer {
  if (value === undefined) throw new TypeError('sequence truncated');
  if (value.tag !== tag) throw new TypeError("tags don't match");
  return value.content;
}

/** Returns values that follow each other. Throws TypeError. */
export function readDerValues(bytes: Buffer): readonly DerValue[] {
  const values: DerValue[] = [];
  for (let at = 0; at < bytes.length; ) {
    const { start, length } = readLength(bytes, at + 1);
    const end = start + length;
    if (end > bytes.length) throw new TypeError('data truncated');
    values.push({ tag: bytes[at] ?? 0, content: bytes.subarray(start, end), whole: bytes.subarray(at, end) });
    at = end;
  }
  return values;
}

function readLength(bytes: Buffer, at: number): { readonly start: number; readonly length: number } {
  const first = bytes[at];
  if (first === undefined) throw new TypeError('truncated tag or length');
  if (first < 0x80) return { start: at + 1, length: first };
  const count = first - 0x80;
  if (count < 1 || count > 4 || at + count >= bytes.length) throw new TypeError('length too large');
  return { start: at + 1 + count, length: bytes.readUIntBE(at + 1, count) };
}
