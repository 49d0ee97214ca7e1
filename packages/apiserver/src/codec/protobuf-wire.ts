// Writes the wire format of protocol buffers forward: tags, varints, lengths. It knows no messages; wire-cursor.ts
// reads the format, message-buffer.ts writes whole objects. Source: protobuf.dev, proto2 as gogo/protobuf writes it
// (repeated scalars unpacked).

export type WireType = 0 | 1 | 2 | 5;

const textEncoder = new TextEncoder();

/** A buffer that grows when written to. */
export class ProtobufWriter {
  #bytes = Buffer.allocUnsafe(512);
  #size = 0;

  finish(): Uint8Array {
    return Uint8Array.prototype.slice.call(this.#bytes, 0, this.#size);
  }

  tag(field: number, type: WireType): void {
    this.varint(field * 8 + type);
  }

  /** Writes an integer; negative ones as 64 bits in two's complement. */
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

  /** Writes a nested message; its length is filled in afterwards. */
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
