// The wire format of protocol buffers: tags, varints, lengths. Knows no messages; protobuf-encoder.ts and
// protobuf-decoder.ts do. Source: protobuf.dev encoding, proto2 as gogo/protobuf writes it (repeated scalars unpacked).

export type WireType = 0 | 1 | 2 | 5;

const textEncoder = new TextEncoder();

/** Grows as it is written to. */
export class ProtobufWriter {
  #bytes = Buffer.allocUnsafe(512);
  #size = 0;

  finish(): Uint8Array {
    return Uint8Array.prototype.slice.call(this.#bytes, 0, this.#size);
  }

  tag(field: number, type: WireType): void {
    this.varint(field * 8 + type);
  }

  /** A whole number; negative ones as 64 bits in two's complement. */
  varint(value: number | bigint): void {
    if (typeof value === 'bigint' || value < 0 || value > Number.MAX_SAFE_INTEGER) {
      this.#bigVarint(BigInt.asUintN(64, BigInt(value)));
      return;
    }
    this.#reserve(10);
    let rest = value;
    while (rest >= 128) {
      this.#bytes[this.#size++] = (rest % 128) + 128;
      rest = Math.floor(rest / 128);
    }
    this.#bytes[this.#size++] = rest;
  }

  double(field: number, value: number): void {
    this.tag(field, 1);
    this.#reserve(8);
    this.#bytes.writeDoubleLE(value, this.#size);
    this.#size += 8;
  }

  text(field: number, text: string): void {
    this.bytes(field, textEncoder.encode(text));
  }

  bytes(field: number, bytes: Uint8Array): void {
    this.tag(field, 2);
    this.varint(bytes.length);
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#size);
    this.#size += bytes.length;
  }

  /** A message within: its length is written when it is known. */
  message(field: number, write: () => void): void {
    this.tag(field, 2);
    const start = this.#size;
    write();
    const length = this.#size - start;
    const prefix = varintSize(length);
    this.#reserve(prefix);
    this.#bytes.copyWithin(start + prefix, start, this.#size);
    this.#size = start;
    this.varint(length);
    this.#size = start + prefix + length;
  }

  #bigVarint(value: bigint): void {
    this.#reserve(10);
    let rest = value;
    while (rest >= 128n) {
      this.#bytes[this.#size++] = Number(rest & 127n) + 128;
      rest >>= 7n;
    }
    this.#bytes[this.#size++] = Number(rest);
  }

  #reserve(more: number): void {
    if (this.#size + more <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#size + more));
    this.#bytes.copy(larger, 0, 0, this.#size);
    this.#bytes = larger;
  }
}

export function varintSize(value: number): number {
  let size = 1;
  for (let rest = value; rest >= 128; rest = Math.floor(rest / 128)) size++;
  return size;
}

export interface WireField {
  readonly field: number;
  readonly type: WireType;
  /** Of types 0 (as 64 bits, unsigned), 1 and 5. */
  readonly value: bigint;
  /** Of type 2. A part of the bytes read. */
  readonly bytes: Uint8Array;
}

const noBytes = new Uint8Array();

/** The fields of a message, one after the other. Throws Error for bytes that are none. */
export function* readFields(bytes: Uint8Array): Generator<WireField, void> {
  const reader = new WireReader(bytes);
  while (!reader.isAtEnd) {
    const tag = Number(reader.varint());
    const field = Math.floor(tag / 8);
    const type = tag % 8;
    if (field === 0) throw new Error('proto: illegal tag 0');
    switch (type) {
      case 0:
        yield { field, type, value: reader.varint(), bytes: noBytes };
        break;
      case 1:
        yield { field, type, value: reader.fixed(8), bytes: noBytes };
        break;
      case 2:
        yield { field, type, value: 0n, bytes: reader.take(Number(reader.varint())) };
        break;
      case 5:
        yield { field, type, value: reader.fixed(4), bytes: noBytes };
        break;
      default:
        throw new Error(`proto: illegal wireType ${type}`);
    }
  }
}

/** Reads varints that stand one after the other: a packed field. */
export function readPacked(bytes: Uint8Array): readonly bigint[] {
  const reader = new WireReader(bytes);
  const values: bigint[] = [];
  while (!reader.isAtEnd) values.push(reader.varint());
  return values;
}

class WireReader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  varint(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.#bytes[this.#at++];
      if (byte === undefined) throw new Error('unexpected EOF');
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return BigInt.asUintN(64, value);
    }
    throw new Error('proto: integer overflow');
  }

  fixed(size: number): bigint {
    let value = 0n;
    for (const [index, byte] of this.take(size).entries()) value |= BigInt(byte) << BigInt(8 * index);
    return value;
  }

  take(size: number): Uint8Array {
    const end = this.#at + size;
    if (end > this.#bytes.length) throw new Error('unexpected EOF');
    const part = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return part;
  }
}
