// Joins and cuts JSON as bytes without parsing it: makes the wire form of an object from its stored form, and finds one
// member.

const quote = 0x22;
const backslash = 0x5c;
const braceOpen = 0x7b;
const braceClose = 0x7d;
const bracketOpen = 0x5b;
const bracketClose = 0x5d;
const comma = 0x2c;
const colon = 0x3a;
const newline = 0x0a;

/**
 * Returns the same object with `metadata.resourceVersion` set, without the final newline. Returns undefined, so that the caller
 * encodes, for bytes that are not compact JSON, lack metadata, or mention a resourceVersion already.
 */
export function spliceResourceVersion(stored: Uint8Array, resourceVersion: string): Uint8Array | undefined {
  const bytes = Buffer.from(stored.buffer, stored.byteOffset, stored.byteLength);
  // The test errs on the safe side: a field of that name elsewhere costs an encoding, not correctness.
  if (bytes.includes('"resourceVersion":') || bytes.includes('"selfLink":')) return undefined;
  const at = metadataBody(bytes);
  if (at === undefined) return undefined;
  const end = bytes[bytes.length - 1] === newline ? bytes.length - 1 : bytes.length;
  const isEmpty = bytes[at] === braceClose;
  const insert = `"resourceVersion":"${resourceVersion}"${isEmpty ? '' : ','}`;
  // The buffer has one more byte after the returned part, because an answer ends in a newline, and {@link jsonLine}
  // finds it here.
  const line = Buffer.allocUnsafeSlow(end + insert.length + 1);
  bytes.copy(line, 0, 0, at);
  line.write(insert, at, 'latin1');
  bytes.copy(line, at + insert.length, at, end);
  line[line.length - 1] = newline;
  return line.subarray(0, -1);
}

/**
 * Returns the JSON with a newline at its end. Results of `spliceResourceVersion` have room for it; others are
 * copied.
 */
export function jsonLine(json: Uint8Array): Uint8Array {
  const { buffer, byteOffset, length } = json;
  if (byteOffset === 0 && buffer.byteLength === length + 1) {
    const line = new Uint8Array(buffer);
    // Invariant: no other code writes to a buffer that is exactly one byte longer than the JSON.
    if (line[length] === newline) return line;
  }
  const line = new Uint8Array(length + 1);
  line.set(json);
  line[length] = newline;
  return line;
}

/**
 * Returns the bytes of a top-level member's value, sharing the buffer. Returns undefined when there is no such member,
 * or when the bytes before it are not a compact JSON object. `name` is plain ASCII.
 */
export function jsonMember(json: Uint8Array, name: string): Uint8Array | undefined {
  const bytes = Buffer.from(json.buffer, json.byteOffset, json.byteLength);
  const start = valueStart(bytes, name);
  return start === undefined ? undefined : bytes.subarray(start, skipValue(bytes, start));
}

/** Returns the index after the brace that opens the top-level "metadata". */
function metadataBody(bytes: Buffer): number | undefined {
  const start = valueStart(bytes, 'metadata');
  return start !== undefined && bytes[start] === braceOpen ? start + 1 : undefined;
}

/** Returns the index of the value of the top-level member of that name. */
function valueStart(bytes: Buffer, name: string): number | undefined {
  if (bytes[0] !== braceOpen) return undefined;
  let at = 1;
  while (bytes[at] === quote) {
    const keyEnd = skipString(bytes, at);
    if (bytes[keyEnd] !== colon) return undefined;
    const hasLength = keyEnd - at === name.length + 2;
    if (hasLength && bytes.toString('latin1', at + 1, keyEnd - 1) === name) return keyEnd + 1;
    at = skipValue(bytes, keyEnd + 1);
    if (bytes[at] !== comma) return undefined;
    at++;
  }
  return undefined;
}

/** Returns the index after the string that starts at `at`. */
function skipString(bytes: Buffer, at: number): number {
  let i = at + 1;
  while (i < bytes.length && bytes[i] !== quote) i += bytes[i] === backslash ? 2 : 1;
  return i + 1;
}

/**
 * Returns the index after the value that starts at `at`, which is the index of the comma or brace that follows at the
 * same depth.
 */
function skipValue(bytes: Buffer, at: number): number {
  let depth = 0;
  let i = at;
  while (i < bytes.length) {
    const byte = bytes[i];
    if (byte === quote) {
      i = skipString(bytes, i);
      continue;
    }
    if (depth === 0 && (byte === comma || byte === braceClose)) return i;
    if (byte === braceOpen || byte === bracketOpen) depth++;
    else if (byte === braceClose || byte === bracketClose) depth--;
    i++;
  }
  return i;
}
