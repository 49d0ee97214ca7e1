// Numbers that are handed out once: the addresses of a network, the ports of a range.

/** A range of numbers and which are taken. Plain synchronous state. */
export class NumberPool {
  readonly #first: number;
  readonly #size: number;
  readonly #taken = new Set<number>();
  #next: number;

  /** `reserved` numbers at the start are handed out only when asked for or when all others are taken. */
  constructor(range: { readonly first: number; readonly size: number; readonly reserved: number }) {
    this.#first = range.first;
    this.#size = range.size;
    this.#next = Math.min(range.reserved, range.size - 1);
  }

  contains(value: number): boolean {
    return value >= this.#first && value < this.#first + this.#size;
  }

  /** False when it is taken already. Atomic: looked at and taken in one turn. */
  take(value: number): boolean {
    if (this.#taken.has(value)) return false;
    this.#taken.add(value);
    return true;
  }

  /** A free number; undefined when there is none. Atomic. */
  takeAny(): number | undefined {
    for (let tried = 0; tried < this.#size; tried++) {
      const value = this.#first + this.#next;
      this.#next = (this.#next + 1) % this.#size;
      if (this.take(value)) return value;
    }
    return undefined;
  }

  release(value: number): void {
    this.#taken.delete(value);
  }
}
