// WireCursor reads the wire format of protocol buffers in place, from start to end of one buffer. protobuf-decoder.ts
// knows the meaning of the fields.

const maxVarintBytes = 10;

export class WireCursor {
  readonly bytes: Buffer;
  at = 0;
  /** Number of values read so far: fields, and values that were not sent but are in the JSON. */
  fields = 0;

  constructor(bytes: Uint8Array) {
    this.bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /**
   * Reads a number of up to 53 bits; beyond that, the nearest double. Throws Error with Go's texts for malformed bytes.
   */
  varint(): number {
    const { bytes } = this;
    let byte = bytes[this.at++];
    if (byte !== undefined && byte < 128) return byte;
    let value = 0;
    let scale = 1;
    for (let i = 0; i < maxVarintBytes; i++) {
      if (byte === undefined) throw new Error('unexpected EOF');
      value += (byte & 127) * scale;
      if (byte < 128) return value;
      scale *= 128;
      byte = bytes[this.at++];
    }
    throw new Error('proto: integer overflow');
  }

  /** Reads the tag of a field, and counts the field. */
  tag(): number {
    this.fields++;
    return this.varint();
  }

  /** Reads all 64 bits of a number in two's complement. */
  int64(): number | bigint {
    const start = this.at;
    const value = this.varint();
    if (value <= Number.MAX_SAFE_INTEGER) return value;
    let bits = 0n;
    for (let i = start; i < this.at; i++) bits |= BigInt((this.bytes[i] ?? 0) & 127) << BigInt(7 * (i - start));
    const signed = BigInt.asIntN(64, bits);
    const number = Number(signed);
    return Number.isSafeInteger(number) ? number : signed;
  }

  double(): number {
    const start = this.#advance(8);
    return this.bytes.readDoubleLE(start);
  }

  /** Returns the end of the length-delimited value (wire type 2) that starts here. */
  end(): number {
    const length = this.varint();
    const end = this.at + length;
    if (end > this.bytes.length) throw new Error('unexpected EOF');
    return end;
  }

  /** Reads UTF-8 up to `end`. Throws TypeError for other bytes. */
  text(end: number): string {
    const text = this.bytes.toString(undefined, this.at, end);
    // The replacement character may be part of the text or stand for bytes that are not UTF-8. The strict decoder,
    // which is slower, decides.
    if (text.includes('\ufffd')) strictTexts.decode(this.bytes.subarray(this.at, end));
    this.at = end;
    return text;
  }

  /** Skips the value of an unknown field. */
  skip(wireType: number): void {
    switch (wireType) {
      case 0:
        this.varint();
        return;
      case 1:
        this.#advance(8);
        return;
      case 2:
        this.at = this.end();
        return;
      case 5:
        this.#advance(4);
        return;
      default:
        throw new Error(`proto: illegal wireType ${wireType}`);
    }
  }

  #advance(size: number): number {
    const start = this.at;
    if (start + size > this.bytes.length) throw new Error('unexpected EOF');
    this.at = start + size;
    return start;
  }
}

const strictTexts = new TextDecoder('utf-8', { fatal: true });
