// NumberPool hands out numbers of a range once each: node ports. Its text form is the bitmap that servers on one store
// share. Used by node-ports.ts. Source: pkg/registry/core/service/allocator/bitmap.go.

/** A range of numbers with the taken ones marked. It is plain synchronous state. */
export class NumberPool {
  readonly #range: NumberRange;
  readonly #taken: Set<number>;

  constructor(range: NumberRange, taken: Iterable<number> = []) {
    this.#range = range;
    this.#taken = new Set(taken);
  }

  /** The bytes are one number, the most significant byte first; its bit n stands for the n-th number of the range. */
  static parse(range: NumberRange, base64: string): NumberPool {
    const bytes = Buffer.from(base64, 'base64').reverse();
    const taken = [...bytes].flatMap((byte, index) =>
      bits.filter((bit) => (byte >> bit) % 2 === 1).map((bit) => range.first + 8 * index + bit),
    );
    return new NumberPool(range, taken);
  }

  format(): string {
    const { first } = this.#range;
    const inRange = [...this.#taken].filter((value) => this.contains(value)).map((value) => value - first);
    const bytes = Buffer.alloc(Math.floor(Math.max(-1, ...inRange) / 8) + 1);
    for (const index of inRange) bytes.writeUInt8(bytes.readUInt8(index >> 3) | (1 << (index & 7)), index >> 3);
    return bytes.reverse().toString('base64');
  }

  contains(value: number): boolean {
    return value >= this.#range.first && value < this.#range.first + this.#range.size;
  }

  has(value: number): boolean {
    return this.#taken.has(value);
  }

  /** Returns all taken numbers. */
  values(): readonly number[] {
    return [...this.#taken];
  }

  /** Returns false when the number is already taken. Atomic, because it checks and takes in one turn. */
  take(value: number): boolean {
    if (this.#taken.has(value)) return false;
    this.#taken.add(value);
    return true;
  }

  /**
   * Takes a free number, from the start of the range only when no other is free. Returns undefined when there is none.
   * Atomic.
   */
  takeAny(random: () => number): number | undefined {
    const { first, size, reserved } = this.#range;
    return (
      this.#takeWithin({ first: first + reserved, size: size - reserved }, random) ??
      this.#takeWithin({ first, size: reserved }, random)
    );
  }

  release(value: number): void {
    this.#taken.delete(value);
  }

  #takeWithin(band: Pick<NumberRange, 'first' | 'size'>, random: () => number): number | undefined {
    const start = Math.floor(random() * band.size);
    for (let tried = 0; tried < band.size; tried++) {
      const value = band.first + ((start + tried) % band.size);
      if (this.take(value)) return value;
    }
    return undefined;
  }
}

export interface NumberRange {
  readonly first: number;
  readonly size: number;
  /** Numbers at the start of the range that are given out only on request, or when all others are taken. */
  readonly reserved: number;
}

const bits = [0, 1, 2, 3, 4, 5, 6, 7];
