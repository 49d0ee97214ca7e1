// MessageBuffer writes protobuf from its end to its start, as gogo/protobuf does: a message's length is then known when
// its prefix is written, and nothing is moved. protobuf-encoder.ts fills it.

/** Texts up to this length are copied here; for longer ones a call into the engine is faster, as measured. */
const shortText = 40;
const keptBytes = 1 << 20;

export class MessageBuffer {
  #bytes: Buffer = Buffer.allocUnsafeSlow(1 << 14);
  #at = this.#bytes.length;

  /** Bytes written so far. */
  get size(): number {
    return this.#bytes.length - this.#at;
  }

  /** Returns a copy of the written bytes and empties the buffer. */
  take(): Uint8Array {
    const bytes = Uint8Array.prototype.slice.call(this.#bytes, this.#at);
    this.clear();
    return bytes;
  }

  clear(): void {
    if (this.#bytes.length > keptBytes) this.#bytes = Buffer.allocUnsafeSlow(1 << 14);
    this.#at = this.#bytes.length;
  }

  raw(bytes: Uint8Array): void {
    const { length } = bytes;
    this.#reserve(length);
    this.#at -= length;
    if (length > shortText) this.#bytes.set(bytes, this.#at);
    else for (let i = 0; i < length; i++) this.#bytes[this.#at + i] = bytes[i] as number;
  }

  /** Writes UTF-8 without its length. */
  text(text: string): void {
    if (text.length <= shortText && this.#ascii(text)) return;
    const size = Buffer.byteLength(text);
    this.#reserve(size);
    this.#at -= size;
    this.#bytes.write(text, this.#at, 'utf8');
  }

  /** Writes an integer; negative ones as 64 bits in two's complement. */
  varint(value: number | bigint): void {
    if (typeof value === 'bigint' || value < 0 || value > Number.MAX_SAFE_INTEGER) {
      this.#bigVarint(BigInt.asUintN(64, BigInt(value)));
      return;
    }
    this.#reserve(10);
    if (value < 128) {
      this.#bytes[--this.#at] = value;
      return;
    }
    let size = 1;
    for (let rest = value; rest >= 128; rest = Math.floor(rest / 128)) size++;
    this.#at -= size;
    let at = this.#at;
    let rest = value;
    for (; rest >= 128; rest = Math.floor(rest / 128)) this.#bytes[at++] = (rest % 128) + 128;
    this.#bytes[at] = rest;
  }

  double(value: number): void {
    this.#reserve(8);
    this.#at -= 8;
    this.#bytes.writeDoubleLE(value, this.#at);
  }

  /** Writes the text if it is ASCII. Otherwise writes nothing and returns false. */
  #ascii(text: string): boolean {
    const { length } = text;
    this.#reserve(length);
    const bytes = this.#bytes;
    const start = this.#at - length;
    for (let i = 0; i < length; i++) {
      const code = text.charCodeAt(i);
      if (code > 127) return false;
      bytes[start + i] = code;
    }
    this.#at = start;
    return true;
  }

  #bigVarint(value: bigint): void {
    const digits: number[] = [];
    let rest = value;
    for (; rest >= 128n; rest >>= 7n) digits.push(Number(rest & 127n) + 128);
    this.raw(Uint8Array.from([...digits, Number(rest)]));
  }

  #reserve(more: number): void {
    if (more <= this.#at) return;
    const { size } = this;
    const larger = Buffer.allocUnsafeSlow(Math.max(this.#bytes.length * 2, size + more));
    this.#bytes.copy(larger, larger.length - size, this.#at);
    this.#bytes = larger;
    this.#at = larger.length - size;
  }
}
