// JSON as bytes, put together and cut without being parsed: the wire form of an object from its stored one, one member of it.

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
 * The same object with `metadata.resourceVersion` set, without the final newline. Undefined when the bytes are not
 * compact JSON with a metadata object, or mention a resourceVersion already: then the caller has to encode.
 */
export function spliceResourceVersion(stored: Uint8Array, resourceVersion: string): Uint8Array | undefined {
  const bytes = Buffer.from(stored.buffer, stored.byteOffset, stored.byteLength);
  // The second test errs on the safe side: a field of that name elsewhere costs an encoding, not correctness.
  if (bytes.includes('"resourceVersion":') || bytes.includes('"selfLink":')) return undefined;
  const at = metadataBody(bytes);
  if (at === undefined) return undefined;
  const end = bytes[bytes.length - 1] === newline ? bytes.length - 1 : bytes.length;
  const isEmpty = bytes[at] === braceClose;
  const insert = `"resourceVersion":"${resourceVersion}"${isEmpty ? '' : ','}`;
  // One byte more, behind what is returned: an answer is the JSON with a newline, which {@link jsonLine} finds here.
  const line = Buffer.allocUnsafeSlow(end + insert.length + 1);
  bytes.copy(line, 0, 0, at);
  line.write(insert, at, 'latin1');
  bytes.copy(line, at + insert.length, at, end);
  line[line.length - 1] = newline;
  return line.subarray(0, -1);
}

/** The JSON with a newline at its end: of what {@link spliceResourceVersion} made the same bytes, of others a copy. */
export function jsonLine(json: Uint8Array): Uint8Array {
  const { buffer, byteOffset, length } = json;
  if (byteOffset === 0 && buffer.byteLength === length + 1) {
    const line = new Uint8Array(buffer);
    // Invariant: nobody else writes to a buffer that is as long as this alone.
    if (line[length] === newline) return line;
  }
  const line = new Uint8Array(length + 1);
  line.set(json);
  line[length] = newline;
  return line;
}

/**
 * The bytes of a top-level member's value, shared with the whole. Undefined when there is none of that name or the bytes are not
 * a compact JSON object up to it. `name` is plain ASCII.
 */
export function jsonMember(json: Uint8Array, name: string): Uint8Array | undefined {
  const bytes = Buffer.from(json.buffer, json.byteOffset, json.byteLength);
  const start = valueStart(bytes, name);
  return start === undefined ? undefined : bytes.subarray(start, skipValue(bytes, start));
}

/** Index after the brace that opens the top-level "metadata". */
function metadataBody(bytes: Buffer): number | undefined {
  const start = valueStart(bytes, 'metadata');
  return start !== undefined && bytes[start] === braceOpen ? start + 1 : undefined;
}

/** Index of the value of the top-level member of that name. */
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

/** Index after the string that starts at `at`. */
function skipString(bytes: Buffer, at: number): number {
  let i = at + 1;
  while (i < bytes.length && bytes[i] !== quote) i += bytes[i] === backslash ? 2 : 1;
  return i + 1;
}

/** Index after the value that starts at `at`: the comma or brace that follows it at the same depth. */
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
