// FnvHash is the 64-bit FNV-1 hash of texts that are added one after the other. Used by consistency-checker.ts.

/** Holds the hash in two halves of 32 bits. A BigInt would cost a hundred times as much per byte. */
export class FnvHash {
  #high = 0xcbf29ce4;
  #low = 0x84222325;

  /** Adds the UTF-8 bytes of a text. */
  put(text: string): void {
    for (const byte of Buffer.from(text, 'utf8')) {
      // The prime is 2^40 + 0x1b3. All products stay below 2^53.
      const product = this.#low * 0x1b3;
      const high = this.#high * 0x1b3 + Math.floor(product / 0x1_0000_0000) + ((this.#low << 8) >>> 0);
      this.#high = high % 0x1_0000_0000;
      this.#low = ((product >>> 0) ^ byte) >>> 0;
    }
  }

  /** The hash as Go's strconv.FormatUint(…, 16) prints it. */
  get hex(): string {
    return ((BigInt(this.#high) << 32n) | BigInt(this.#low)).toString(16);
  }
}
