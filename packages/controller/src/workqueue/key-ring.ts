// KeyRing: distinct keys in the order in which they came. Used by queue-order.ts for the keys of a queue that wait. A Map or Set of
// a million keys spends most of its time on memory that is far away, twice a key, and on moving what it holds as it grows.
import { randomBytes } from 'node:crypto';

const leastSlots = 64;
/** Of all slots, how many may be taken before the table is made anew. */
const fullness = 3 / 4;
/** Numbers of keys are kept in 32 bits. */
const greatestNumber = 2 ** 30;
/** Of a slot that nothing was ever put into, in place of a number. */
const empty = -1;

// Users name the objects that become keys: nobody may know beforehand which of them share a slot.
const secret = new Int32Array(Uint8Array.from(randomBytes(8)).buffer);
const seed = secret[0] as number;
const multiplier = (secret[1] as number) | 1;

const float = new Float64Array(1);
const halves = new Int32Array(float.buffer);

/**
 * Keys are strings or numbers, compared with ===. Memory: the keys in it, at times four times as much; little once it is empty.
 *
 * Each key gets the next number; `#head` is that of the first key that is still here. A key's number, in the table, finds its place
 * in the ring. A number below `#head` in the table is of a key that left: to take a key out, the table is not touched.
 */
export class KeyRing<K> {
  /** The hash of a key and its number, in turn. A slot is found by its hash, or is the first free one after that. */
  #slots: Int32Array = emptySlots(leastSlots);
  #slotMask: number = leastSlots - 1;
  /** Slots that are not empty, those of keys that left too. */
  #taken = 0;
  /** By the last bits of its number. */
  #keys: (K | undefined)[] = new Array(leastSlots);
  #keyMask: number = leastSlots - 1;
  #head: number;
  #tail: number;

  /** `firstNumber`: that of the first key. Default 0. */
  constructor(firstNumber = 0) {
    this.#head = firstNumber;
    this.#tail = firstNumber;
  }

  get size(): number {
    return this.#tail - this.#head;
  }

  /** The key that came first; undefined when it is empty. */
  get first(): K | undefined {
    return this.#keys[this.#head & this.#keyMask];
  }

  /** Adds a key as the last one; false when it is there. Atomic: table and ring change together. */
  add(key: K): boolean {
    const slots = this.#slots;
    const mask = this.#slotMask;
    const hash = hashOf(key);
    let free = empty;
    let slot = hash & mask;
    for (let number = slots[2 * slot + 1] as number; number !== empty; number = slots[2 * slot + 1] as number) {
      if (number < this.#head) {
        if (free === empty) free = slot;
      } else if (slots[2 * slot] === hash && this.#keys[number & this.#keyMask] === key) return false;
      slot = (slot + 1) & mask;
    }
    if (free === empty) {
      free = slot;
      this.#taken++;
    }
    slots[2 * free] = hash;
    slots[2 * free + 1] = this.#tail;
    this.#append(key);
    if (this.#taken > fullness * mask || this.#tail > greatestNumber) this.#makeAnew();
    return true;
  }

  /** Takes the first key out; undefined when it is empty. */
  take(): K | undefined {
    if (this.#head === this.#tail) return undefined;
    const index = this.#head & this.#keyMask;
    const key = this.#keys[index];
    this.#keys[index] = undefined;
    this.#head++;
    if (this.#head === this.#tail && this.#slotMask >= leastSlots) this.#makeAnew();
    return key;
  }

  #append(key: K): void {
    if (this.size > this.#keyMask) this.#moveKeys(2 * this.size);
    this.#keys[this.#tail & this.#keyMask] = key;
    this.#tail++;
  }

  /** The table without the keys that left, as large as the others need; and the ring too. */
  #makeAnew(): void {
    const old = this.#slots;
    const count = powerOfTwo(2 * this.size);
    const slots = this.size === 0 && count === old.length / 2 ? old.fill(empty) : emptySlots(count);
    const mask = count - 1;
    const head = this.#head;
    // Numbers begin anew, at one that leads to the same places.
    const base = head & ~this.#keyMask;
    for (let index = 0; slots !== old && index < old.length; index += 2) {
      const number = old[index + 1] as number;
      if (number < head) continue;
      let slot = (old[index] as number) & mask;
      while (slots[2 * slot + 1] !== empty) slot = (slot + 1) & mask;
      slots[2 * slot] = old[index] as number;
      slots[2 * slot + 1] = number - base;
    }
    this.#head -= base;
    this.#tail -= base;
    this.#slots = slots;
    this.#slotMask = mask;
    this.#taken = this.size;
    if (this.#keyMask >= 4 * count) this.#moveKeys(count);
  }

  #moveKeys(atLeast: number): void {
    const count = powerOfTwo(atLeast);
    const keys: (K | undefined)[] = new Array(count);
    for (let number = this.#head; number < this.#tail; number++)
      keys[number & (count - 1)] = this.#keys[number & this.#keyMask];
    this.#keys = keys;
    this.#keyMask = count - 1;
  }
}

function emptySlots(count: number): Int32Array {
  return new Int32Array(2 * count).fill(empty);
}

function powerOfTwo(atLeast: number): number {
  let count = leastSlots;
  while (count < atLeast) count *= 2;
  return count;
}

function hashOf(key: unknown): number {
  let hash = seed;
  if (typeof key === 'string') {
    for (let index = 0; index < key.length; index++) hash = mixed(hash, key.charCodeAt(index));
  } else {
    // -0 and 0 are one key.
    float[0] = (key as number) + 0;
    hash = mixed(mixed(hash, halves[0] as number), halves[1] as number);
  }
  hash = Math.imul(hash ^ (hash >>> 13), multiplier);
  return hash ^ (hash >>> 16);
}

function mixed(hash: number, part: number): number {
  const product = Math.imul(hash ^ part, multiplier);
  return product ^ (product >>> 15);
}
