// The part of protobuf's wire format that encrypted-object.ts needs: varints and bytes.

const wire = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const;

export class ProtobufWriter {
  readonly #parts: Uint8Array[] = [];

  /** Writes a whole number below 2^31. */
  varint(number: number, value: number): void {
    this.#parts.push(varint(number * 8 + wire.varint), varint(value));
  }

  bytes(number: number, value: Uint8Array): void {
    this.#parts.push(varint(number * 8 + wire.bytes), varint(value.length), value);
  }

  finish(): Uint8Array {
    return Buffer.concat(this.#parts);
  }
}

function varint(value: number): Uint8Array {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  bytes.push(rest);
  return Uint8Array.from(bytes);
}

export interface ProtobufField {
  readonly number: number;
  readonly value: number | Uint8Array;
}

/** Reads one message. Skips fields of fixed width, because no message here has any. */
export class ProtobufReader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** Yields the fields. Throws TypeError when the bytes end too early or are not a message. */
  *fields(): Generator<ProtobufField, void> {
    while (this.#at < this.#bytes.length) {
      const tag = this.#varint();
      const number = Math.floor(tag / 8);
      if (number === 0) throw new TypeError('proto: illegal tag 0');
      const type = tag % 8;
      if (type === wire.varint) yield { number, value: this.#varint() };
      else if (type === wire.bytes) yield { number, value: this.#take(this.#varint()) };
      else if (type === wire.fixed64) this.#take(8);
      else if (type === wire.fixed32) this.#take(4);
      else throw new TypeError('proto: cannot parse invalid wire-format data');
    }
  }

  #varint(): number {
    let value = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = this.#bytes[this.#at++];
      if (byte === undefined) throw new TypeError('unexpected EOF');
      value += (byte % 128) * 2 ** shift;
      if (byte < 128) return value;
    }
    throw new TypeError('proto: integer overflow');
  }

  #take(length: number): Uint8Array {
    const end = this.#at + length;
    if (end > this.#bytes.length) throw new TypeError('unexpected EOF');
    const part = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return part;
  }
}
